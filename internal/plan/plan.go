// Package plan reads plans: tasks and their dependencies.
//
// A plan is written in gaffer's own YAML format or in one of the other formats that [Formats]
// returns. [Load] detects the format and converts the plan to a [Plan], or returns all [Problems]
// of the plan. Only Load, Parse, LoadOutline and Outline.Table read files.
package plan

import (
	"encoding/json"
	"time"

	"gaffer/internal/plan/secret"
)

// Plan is a set of tasks. A plan that [Load] returns is valid: its ids are unique, all tasks to
// which it refers exist, and there are no cycles.
//
// The JSON names of a plan and of its parts must never change: stored runs, older workers and
// servers, and programs in other languages use them. [Encode] writes the JSON.
type Plan struct {
	Name       string          `json:"Name"`
	Format     Format          `json:"Format"`
	Source     string          `json:"Source"`     // kind of plan in the session protocol: one of the Source constants
	SourceFile string          `json:"SourceFile"` // path of the plan's file or folder, as the user has written it; empty if none
	Parallel   int             `json:"Parallel"`   // maximum number of concurrent tasks; 0 means: as many as the workers allow
	OnFailure  OnFailure       `json:"OnFailure"`  // what happens to the other tasks when a task fails
	Budget     Budget          `json:"Budget"`
	Workflow   *Workflow       `json:"Workflow"`        // settings of a plan from a workflow file; nil for other formats
	Build      json.RawMessage `json:"Build,omitempty"` // JSON of an autonomous build, which package build decodes; else empty
	Team       json.RawMessage `json:"Team,omitempty"`  // JSON of a teamstate.Start, if a team of agents does the plan; else empty
	Tasks      []Task          `json:"Tasks"`           // tasks in the order of the plan's file
	Warnings   Problems        `json:"Warnings"`        // problems that do not prevent the plan from running
}

// The values of Plan.Source. They are defined by the session protocol, see
// docs/protocols/session.md.
const (
	SourceOrchestrate  = "orchestrate"
	SourceExecutePhase = "execute-phase"
	SourceRunPrompt    = "run-prompt"
)

// Budget limits what a task or a plan may cost. Zero means no limit.
type Budget struct {
	USD    float64 `json:"USD"`
	Tokens int64   `json:"Tokens"`
}

// Task is one piece of work for one agent.
type Task struct {
	ID   string `json:"ID,omitzero"`
	Name string `json:"Name,omitzero"`

	// Prompt is the text of the prompt. PromptFile is the file from which Prompt was read, or
	// empty. If Agent is [CommandAgent], both may be empty.
	Prompt     string `json:"Prompt,omitzero"`
	PromptFile string `json:"PromptFile,omitzero"`

	Wave  int      `json:"Wave,omitzero"`  // number of the task's wave: the task waits for all tasks of lower waves; 0 means no wave
	After []string `json:"After,omitzero"` // ids of the tasks that this task waits for

	Agent string   `json:"Agent,omitzero"` // name of the agent; empty means the default agent
	Model string   `json:"Model,omitzero"` // name of the model; empty means the agent's default
	Argv  []string `json:"Argv,omitzero"`  // program and its arguments, if Agent is CommandAgent

	Limits
	Verify []string `json:"Verify,omitzero"` // shell commands that must succeed for the task to be complete
	Isolation

	Env      map[string]secret.Value `json:"Env,omitzero"`
	Labels   []string                `json:"Labels,omitzero"`   // only workers that have all these labels may run the task
	Priority int                     `json:"Priority,omitzero"` // tasks with a higher priority start first
	Files    []string                `json:"Files,omitzero"`    // paths or globs of the files and folders that the task changes
	QuestionRules

	Permissions Permissions `json:"Permissions,omitzero"`
	Sandbox     Sandbox     `json:"Sandbox,omitzero"`
	// Fallback holds agents that continue the task while the task's own agent is rate limited, each
	// as AGENT or AGENT:MODEL. The first one is preferred.
	Fallback []string   `json:"Fallback,omitzero"`
	Item     SourceItem `json:"Item,omitzero"`
	Fork     *Fork      `json:"Fork,omitzero"` // set if the task continues a copy of another task's conversation and files; else nil

	CandidateKeys
	// Candidate is the id of the task that picks one of the results of several candidates.
	// Candidates are tasks in which different agents do the same work. The field is set for each
	// candidate and for the task that judges them, and empty for all other tasks.
	Candidate string `json:"Candidate,omitzero"`
	// Pick is set if this task picks one of the results of several agents that did the same work,
	// or if it judges these results. Else it is nil.
	Pick *Pick `json:"Pick,omitzero"`

	Dispatch *Dispatch `json:"Dispatch,omitzero"` // set if the task works on a bead (a work item); else nil
	// Step is JSON that is set for a task of a team of agents or of the coordinator protocol. Only
	// the package that has set it can decode it.
	Step json.RawMessage `json:"Step,omitzero"`
	// KeepMessage says that the agent's whole last message is stored, because later tasks need it.
	// By default, only the beginning of the message is stored.
	KeepMessage bool `json:"Keep,omitzero"`

	FileEntry
}

// Limits says how long a task may run, how often it may be retried, and what it may cost.
type Limits struct {
	Timeout      time.Duration `json:"Timeout,omitzero"`      // longest working time of one attempt; 0 means no limit
	StallTimeout time.Duration `json:"StallTimeout,omitzero"` // longest time without activity of the agent; 0 means no limit
	Retries      int           `json:"Retries,omitzero"`      // maximum number of further attempts after the first attempt has failed
	Budget       Budget        `json:"Budget,omitzero"`
}

// Isolation says whether a task works in a git worktree, and on which branch.
type Isolation struct {
	Worktree bool   `json:"Worktree,omitzero"` // the task works in its own git worktree
	Branch   string `json:"Branch,omitzero"`   // branch of the worktree; if empty, gaffer chooses a name
	// SharedWorktree is the name of a worktree on Branch that several tasks of the run share. It is
	// empty if the task shares no worktree.
	SharedWorktree string `json:"Tree,omitzero"`
	// Base is the branch from which Branch is created. HEAD means the commit that is checked out in
	// the task's repository when the worktree is created. Empty means the commit from which the run
	// starts or, for a bead, the commit that is checked out in the bead's repository.
	Base string `json:"Base,omitzero"`
	Land Land   `json:"Land,omitzero"` // what happens to the change of the completed task; empty means LandReview
	// Into is the branch into which the change is merged. Empty means the branch that is checked
	// out when the run starts.
	Into string `json:"Into,omitzero"`
}

// Land says what happens to the change of a completed task.
type Land string

// The values of Land.
const (
	LandReview Land = "review" // the user reviews the change and decides whether to merge it
	LandMerge  Land = "merge"  // the change is merged when all tasks of the run are complete
	LandPR     Land = "pr"     // a pull request is opened when all tasks of the run are complete
	LandKeep   Land = "keep"   // the change stays on its branch
)

// QuestionRules says how the questions of a task's agent are answered.
type QuestionRules struct {
	Questions     QuestionPolicy `json:"Questions,omitzero"`
	AnswerTimeout time.Duration  `json:"AnswerTimeout,omitzero"` // how long a question waits for the user; 0 means forever
	AnswerDefault string         `json:"AnswerDefault,omitzero"` // answer after AnswerTimeout has passed; empty means that the question is denied
}

// Permissions are rules that answer an agent's requests for permission. A rule is the name of a
// tool, or a tool with a pattern: "Bash(go test:*)". If several rules match, a rule in Deny wins
// over a rule in Ask, and a rule in Ask wins over a rule in Allow. If no rule matches, the task's
// [QuestionPolicy] decides. If that policy is "deny", all requests are denied, and the rules have
// no effect.
type Permissions struct {
	Allow []string `json:"Allow,omitzero"`
	Deny  []string `json:"Deny,omitzero"`
	Ask   []string `json:"Ask,omitzero"` // the user decides on requests that match these rules
}

// Sandbox says which files and hosts a task's agent can reach.
type Sandbox struct {
	Mode    SandboxMode `json:"Mode,omitzero"`    // empty: the user's setting; if empty or auto, then auto if no user answers questions, else none
	Network Network     `json:"Network,omitzero"` // empty means NetworkOn
	Hosts   []string    `json:"Hosts,omitzero"`   // the only hosts that the agent can reach, if Network is NetworkList
	Write   []string    `json:"Write,omitzero"`   // folders that the agent may write to, besides its working folder
	Read    []string    `json:"Read,omitzero"`    // further folders that the agent may read; credentials in these folders stay hidden
	Image   string      `json:"Image,omitzero"`   // the container's image, if the sandbox is a container
}

// SandboxMode is a kind of sandbox.
type SandboxMode string

// The kinds of sandboxes. [SandboxAuto] lets gaffer choose one of them.
const (
	SandboxNone       SandboxMode = "none"       // no sandbox: the agent can do everything that the user can do
	SandboxProgram    SandboxMode = "program"    // a sandbox that the agent program itself creates
	SandboxBubblewrap SandboxMode = "bubblewrap" // Linux namespaces that the program bwrap creates
	SandboxContainer  SandboxMode = "container"  // a container of podman or docker
)

// Network says which hosts an agent in a sandbox can reach.
type Network string

// The values of Network.
const (
	NetworkOn   Network = "on"
	NetworkOff  Network = "off"
	NetworkList Network = "list" // only the hosts in [Sandbox.Hosts]
)

// SourceItem is the item, such as an issue of an issue tracker, from which a task was made. It is
// zero for a task that was not made from an item.
type SourceItem struct {
	Source string     `json:"Source,omitzero"` // name of the source without its filter, for example "gh:ada/shop"
	ID     string     `json:"ID,omitzero"`     // id of the item in its source
	URL    string     `json:"URL,omitzero"`
	Title  string     `json:"Title,omitzero"`
	Take   ItemTake   `json:"Take,omitzero"`
	Report ItemReport `json:"Report,omitzero"`
}

// ItemTake says whether a new task may be made from an item that already had a task. An item is,
// for example, an issue of an issue tracker. An item never has two unfinished tasks.
type ItemTake string

// The values of ItemTake. The zero value means: a task may be made from an item that never had a
// task, and from an item whose last task has failed or was cancelled.
const (
	TakeNew   ItemTake = "new"   // tasks are made only from items that never had a task
	TakeAgain ItemTake = "again" // tasks are made from all items without an unfinished task
)

// ItemReport says what is reported to a source, such as an issue tracker, when a task has ended
// that was made from one of its items.
type ItemReport struct {
	Comment bool   `json:"Comment,omitzero"` // write a comment on the item that says how the task has ended
	Label   string `json:"Label,omitzero"`   // label that the item gets when the task is complete; empty means none
	PR      bool   `json:"PR,omitzero"`      // the comment that gaffer writes on the item (such as an issue) links to the task's pull request
}

// IsZero reports whether nothing is reported to the source.
func (r ItemReport) IsZero() bool { return r == ItemReport{} }

// Fork says which task was copied (forked) to make a new task, and after which turn of its
// conversation. A turn is a message of the user and the agent's answer. If possible, the new task
// continues a copy of that conversation.
type Fork struct {
	Run  string `json:"Run"`
	Task string `json:"Task"`
	// Attempt is the number of an attempt of the forked task. The worktree of the new task starts
	// with the files as they were when this attempt ended. If Attempt is 0, the worktree starts at
	// the commit from which the forked task started.
	Attempt int `json:"Attempt,omitzero"`
	// Turn is the number of the last turn that is copied. The first turn is 1.
	Turn int `json:"Turn,omitzero"`

	// Thread is the id of the conversation that is copied. It is empty if the conversation cannot
	// be copied, for example because the new task uses another agent program. Then the new task
	// starts a new conversation.
	Thread string `json:"Thread,omitzero"`
	// Account is the name of the account that the agent used in the copied conversation. Empty
	// means the agent program's own account.
	Account string `json:"Account,omitzero"`
	// Point is the id that the agent program has given to the last turn or line that is copied. If
	// Point is empty, the whole conversation is copied.
	Point string `json:"Point,omitzero"`
	// Prompt is the user's next message, which follows the copied part of the conversation.
	// Task.Prompt contains the same message after a summary of the conversation, for an agent that
	// cannot copy the conversation.
	Prompt string `json:"Prompt,omitzero"`
	// Input, Output and Cached are the numbers of tokens that the forked task's conversation has
	// used. Some agent programs count them again in the usage of the copy; gaffer then subtracts
	// them.
	Input  int64 `json:"Input,omitzero"`
	Output int64 `json:"Output,omitzero"`
	Cached int64 `json:"Cached,omitzero"`
}

// FileEntry says where a task is in the plan's file, and whether it is already done.
type FileEntry struct {
	// Done says that the task was already done when the plan was read. For example, the task's
	// checkbox in a Markdown plan is ticked, or there is a summary file for the task.
	Done bool `json:"Done,omitzero"`
	// CheckboxFile is the absolute path of the Markdown file in which gaffer ticks the task's
	// checkbox when the task is complete. It is empty if the plan has a format without checkboxes.
	CheckboxFile string `json:"Box,omitzero"`
	Line         int    `json:"Line,omitzero"` // line number of the task in the plan's file; 0 if unknown
}

// Dispatch holds the properties of a task that works on a bead, which is a work item. Records of
// all attempts at a bead are kept in a folder, the ledger. Over all runs, a bead has at most one
// unfinished task at a time.
type Dispatch struct {
	Bead string `json:"Bead,omitzero"`
	// Ledger is the folder with the records of the attempts at the bead. Beads with the same id in
	// different ledgers are different beads.
	Ledger   string            `json:"Ledger,omitzero"`
	Repo     string            `json:"Repo,omitzero"`     // folder in which the agent works, or the repository of its worktree
	Template string            `json:"Template,omitzero"` // name of the template from which the prompt was made; empty if there is none
	Vars     map[string]string `json:"Vars,omitzero"`     // values of the template's variables, by name
	Session  string            `json:"Session,omitzero"`  // name of the tmux session in which the agent runs; empty if it does not run in tmux
	Earlier  int               `json:"Earlier,omitzero"`  // number of earlier attempts at this bead, in other runs or by other tools
}

// The default values of Limits.Timeout and Limits.Retries for a task that works on a bead.
const (
	BeadTimeout = time.Hour
	BeadRetries = 2
)

// OnFailure says what happens to the other tasks when a task fails. Tasks that depend on
// the failed task never start.
type OnFailure string

// The values of OnFailure.
const (
	Continue OnFailure = "continue" // the other tasks continue, and more tasks start
	Stop     OnFailure = "stop"     // no more tasks start; running tasks continue
	StopNow  OnFailure = "stop-now" // no more tasks start; running tasks are stopped
)

// QuestionPolicy says how questions and permission requests of an agent are answered.
type QuestionPolicy string

// The values of QuestionPolicy.
const (
	Ask   QuestionPolicy = "ask"   // the user answers each request or question that no permission rule decides
	Rules QuestionPolicy = "rules" // each request or question that no permission rule decides is denied at once
	Deny  QuestionPolicy = "deny"  // all permission requests are denied at once, whatever the permission rules say
	Allow QuestionPolicy = "allow" // a permission request that no rule decides is allowed at once
)

// Workflow holds the settings of a workflow. Its tasks are prompts in waves, and the waves run one
// after the other. If a wave has only one prompt, the agent of that prompt works directly on
// Branch. If a wave has several prompts, each agent works in its own worktree on its own branch.
// After the wave, these branches are merged into Branch.
type Workflow struct {
	ID         string     `json:"ID"`
	Base       string     `json:"Base"` // branch from which Branch is created
	Branch     string     `json:"Branch"`
	OnComplete OnComplete `json:"OnComplete"`
}

// OnComplete says what happens after the last prompt of a workflow. At most one of CreatePR and
// MergeTo may be set.
type OnComplete struct {
	CreatePR       bool   `json:"CreatePR"`
	MergeTo        string `json:"MergeTo"`
	DeleteWorktree bool   `json:"DeleteWorktree"`
}

// SetDefaultAgent sets the agent of a task without an agent, and the model of a task without a
// model. It does not change a task that runs a command.
func (t *Task) SetDefaultAgent(agent, model string) {
	if t.Agent == "" && len(t.Argv) == 0 {
		t.Agent = agent
	}
	if t.Model == "" && t.Agent != CommandAgent && len(t.Argv) == 0 {
		t.Model = model
	}
}

// Agents returns the names of the agents that a plan may use without a definition in gaffer.yaml.
func Agents() []string {
	return []string{"claude", "codex", "gemini", "opencode", FakeAgent, CommandAgent}
}

// FakeAgent is the name of an agent for tests and demos. It is built into gaffer, uses no model,
// and executes commands that its prompt contains.
const FakeAgent = "fake"

// CommandAgent is the name of the agent that runs the command line in Task.Argv.
const CommandAgent = "command"

// Waves returns the ids of the tasks in layers. A task in the first layer waits for no task. Each
// other task waits for at least one task of the layer before its own, and for no task in its own
// layer or a later one.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs returns the ids of the tasks for which a task waits directly. If the task is in a wave, the
// result includes all tasks of the next lower wave. To look up many tasks, call [Plan.Graph] once
// and then [Graph.Needs], which is faster.
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
