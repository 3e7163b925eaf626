// Package plan reads plans: tasks and their dependencies.
//
// A plan is written in gaffer's own YAML format or in one of several other formats: an
// orchestrator's markdown, a workflow's YAML, phase plans, a file of beads, a folder of prompts, a
// list of prompts, or one prompt. [Load] detects the format and converts the plan to a [Plan], or
// returns all [Problems] of the plan. Only Load, Parse, LoadOutline and Outline.Table access files;
// all other functions have no side effects.
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
	Source     string          `json:"Source"`     // kind of input that the plan was made from; one of the Source constants
	SourceFile string          `json:"SourceFile"` // path of the plan, as the user has written it; empty if the plan is a prompt's text or a list
	Parallel   int             `json:"Parallel"`   // how many tasks may run at the same time; 0 means the runner's default
	OnFailure  OnFailure       `json:"OnFailure"`  // what happens to the other tasks when a task fails
	Budget     Budget          `json:"Budget"`
	Workflow   *Workflow       `json:"Workflow"`        // settings of a plan from a workflow file; nil for other formats
	Build      json.RawMessage `json:"Build,omitempty"` // set for an autonomous build; package build decodes it
	Team       json.RawMessage `json:"Team,omitempty"`  // set for a team: the JSON of a teamstate.Start
	Tasks      []Task          `json:"Tasks"`           // tasks in the order of the plan's file
	Warnings   Problems        `json:"Warnings"`        // problems that do not prevent the plan from running
}

// The values of Plan.Source. The session protocol defines them.
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

	Wave  int      `json:"Wave,omitzero"`  // number of the wave, which waits for all lower waves; 0 means that the task is in no wave
	After []string `json:"After,omitzero"` // ids of the tasks that this task waits for

	Agent string   `json:"Agent,omitzero"` // name of the agent; empty means the runner's default
	Model string   `json:"Model,omitzero"` // name of the model; empty means the agent's default
	Argv  []string `json:"Argv,omitzero"`  // program and its arguments, if Agent is CommandAgent

	Limits
	Verify []string `json:"Verify,omitzero"` // shell commands that must succeed for the task to be complete
	Isolation

	Env      map[string]secret.Value `json:"Env,omitzero"`
	Labels   []string                `json:"Labels,omitzero"`   // only workers that have all these labels may run the task
	Priority int                     `json:"Priority,omitzero"` // tasks with a higher priority start first
	Files    []string                `json:"Files,omitzero"`    // files, folders and globs of files that the task changes
	QuestionRules

	Permissions Permissions `json:"Permissions,omitzero"`
	Sandbox     Sandbox     `json:"Sandbox,omitzero"`
	// Fallback holds agents that continue the task while the task's own agent is rate limited, each
	// as AGENT or AGENT:MODEL. The first one has precedence.
	Fallback []string   `json:"Fallback,omitzero"`
	Item     SourceItem `json:"Item,omitzero"`
	Fork     *Fork      `json:"Fork,omitzero"` // set for a task that continues a copy of another task's conversation and files

	CandidateKeys
	Candidate string `json:"Candidate,omitzero"` // id of the task that picks one of the candidates; set for a candidate and for a judge
	Pick      *Pick  `json:"Pick,omitzero"`      // set for a task that picks a candidate, and for a task that judges candidates

	Dispatch    *Dispatch       `json:"Dispatch,omitzero"` // set for a task that does a bead, which is a work item of a ledger
	Step        json.RawMessage `json:"Step,omitzero"`     // set for a task of a team or of the coordinator protocol; only the package that has set it decodes it
	KeepMessage bool            `json:"Keep,omitzero"`     // store the agent's whole last message, because later tasks need it; if false, only the beginning is stored

	FileEntry
}

// Limits says how long a task may take, how often it is tried, and what it may cost.
type Limits struct {
	Timeout      time.Duration `json:"Timeout,omitzero"`      // longest working time of one attempt; 0 means no limit
	StallTimeout time.Duration `json:"StallTimeout,omitzero"` // longest time in which the agent shows no activity, such as output; 0 means no limit
	Retries      int           `json:"Retries,omitzero"`      // maximum number of further attempts after the first attempt has failed
	Budget       Budget        `json:"Budget,omitzero"`
}

// Isolation says whether a task works in a git worktree, and on which branch.
type Isolation struct {
	Worktree       bool   `json:"Worktree,omitzero"` // the task works in its own git worktree
	Branch         string `json:"Branch,omitzero"`   // branch of the worktree; if empty, the runner chooses a name
	SharedWorktree string `json:"Tree,omitzero"`     // name of a worktree on Branch that several tasks of the run share; empty if the task does not share one
	// Base is the branch that Branch starts from. HEAD means the commit that is checked out in the
	// project when the task starts. Empty means the commit that the run starts from.
	Base string `json:"Base,omitzero"`
	Land Land   `json:"Land,omitzero"` // what happens to the change when the task is complete; empty means LandReview
	Into string `json:"Into,omitzero"` // branch that the change is merged into; empty means the branch that is checked out when the run starts
}

// Land says what happens to a task's change when the task is complete.
type Land string

// The values of Land.
const (
	LandReview Land = "review" // the change waits until the user merges it
	LandMerge  Land = "merge"  // the change is merged when all tasks of the run are complete
	LandPR     Land = "pr"     // a pull request is opened when all tasks of the run are complete
	LandKeep   Land = "keep"   // the change stays on its branch
)

// QuestionRules says how the questions of a task's agent are answered.
type QuestionRules struct {
	Questions     QuestionPolicy `json:"Questions,omitzero"`
	AnswerTimeout time.Duration  `json:"AnswerTimeout,omitzero"` // how long a question waits for the user; 0 means forever
	AnswerDefault string         `json:"AnswerDefault,omitzero"` // the answer if the user gives none within AnswerTimeout; empty means that the question is denied
}

// Permissions are rules that answer an agent's requests for permission. A rule is the name of a tool,
// or a tool with a pattern: "Bash(go test:*)". If several rules match, Deny overrides Ask, and Ask
// overrides Allow. If no rule matches, the task's [QuestionPolicy] decides.
type Permissions struct {
	Allow []string `json:"Allow,omitzero"`
	Deny  []string `json:"Deny,omitzero"`
	Ask   []string `json:"Ask,omitzero"` // the user is asked
}

// Sandbox says what a task's agent can reach.
type Sandbox struct {
	Mode    SandboxMode `json:"Mode,omitzero"`    // empty means that the user's settings decide
	Network Network     `json:"Network,omitzero"` // empty means NetworkOn
	Hosts   []string    `json:"Hosts,omitzero"`   // the only hosts that the agent can reach, if Network is NetworkList
	Write   []string    `json:"Write,omitzero"`   // further folders that the agent may write to
	Read    []string    `json:"Read,omitzero"`    // further folders that the agent may read, although they are hidden by default
	Image   string      `json:"Image,omitzero"`   // the container's image, if Mode is SandboxContainer
}

// SandboxMode is a kind of sandbox.
type SandboxMode string

// The values of SandboxMode.
const (
	SandboxNone       SandboxMode = "none"       // the agent can do what the user can do
	SandboxProgram    SandboxMode = "program"    // the agent program's own sandbox
	SandboxBubblewrap SandboxMode = "bubblewrap" // Linux namespaces that the program bwrap creates
	SandboxContainer  SandboxMode = "container"  // a container of podman or docker
)

// Network says which network a sandbox has.
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
	Source string     `json:"Source,omitzero"` // name of the source, such as "gh:ada/shop", without the filter that chooses the items, such as "label:agent"
	ID     string     `json:"ID,omitzero"`     // the item's id in the source
	URL    string     `json:"URL,omitzero"`
	Title  string     `json:"Title,omitzero"`
	Take   ItemTake   `json:"Take,omitzero"`
	Report ItemReport `json:"Report,omitzero"`
}

// ItemTake says whether a new task may be made from an item that already had a task. An item never
// has two unfinished tasks.
type ItemTake string

// The values of ItemTake. If it is empty, a task may be made from an item that never had a task,
// and from an item whose last task has failed or was cancelled.
const (
	TakeNew   ItemTake = "new"   // only an item that never had a task
	TakeAgain ItemTake = "again" // also an item whose last task is complete, has failed or was cancelled
)

// ItemReport says what is reported to a source when the task of an item has ended.
type ItemReport struct {
	Comment bool   `json:"Comment,omitzero"` // a comment says how the task has ended
	Label   string `json:"Label,omitzero"`   // the item gets this label when the task is complete; empty means none
	PR      bool   `json:"PR,omitzero"`      // the comment names the pull request of the task
}

// IsZero reports whether nothing is reported to the source.
func (r ItemReport) IsZero() bool { return r == ItemReport{} }

// Fork says from which task a task was forked, and at which moment.
type Fork struct {
	Run     string `json:"Run"`
	Task    string `json:"Task"`
	Attempt int    `json:"Attempt,omitzero"` // the files are those at the end of this attempt; 0 means the commit that the task started from
	Turn    int    `json:"Turn,omitzero"`    // the conversation is kept up to the end of this turn, counted from 1

	// Thread is the id of the conversation that is copied. It is empty if the conversation cannot be
	// copied, for example because another agent continues: then the task starts a new conversation.
	// Point is the agent program's id of the last turn or line that is kept; if it is empty, the
	// whole conversation is kept. Prompt is the next message of the user in the copied conversation.
	// Task.Prompt contains the same message, for an agent that does not know the conversation.
	Thread  string `json:"Thread,omitzero"`
	Account string `json:"Account,omitzero"` // name of the account that had the conversation
	Point   string `json:"Point,omitzero"`
	Prompt  string `json:"Prompt,omitzero"`
	// Input, Output and Cached are the tokens that the copied conversation has used. Some programs
	// include them in the usage of the copy; gaffer then subtracts them.
	Input  int64 `json:"Input,omitzero"`
	Output int64 `json:"Output,omitzero"`
	Cached int64 `json:"Cached,omitzero"`
}

// FileEntry says where a task is in the plan's file, and whether it is done.
type FileEntry struct {
	Done bool `json:"Done,omitzero"` // the task was already done when the plan was read: its checkbox is ticked, or its phase plan has a summary file; [Options.PendingOnly] leaves it out
	// CheckboxFile is the absolute path of an orchestrator's file. The task's checkbox in this file
	// is ticked when the task is complete. CheckboxFile is empty for other formats.
	CheckboxFile string `json:"Box,omitzero"`
	Line         int    `json:"Line,omitzero"` // number of the task's line in the plan's file; 0 if the task is the whole file
}

// Dispatch holds the properties of a task that does a bead, which is a work item of a ledger. Over
// all runs, a bead has at most one unfinished task at a time.
type Dispatch struct {
	Bead     string            `json:"Bead,omitzero"`
	Ledger   string            `json:"Ledger,omitzero"`   // folder with the records of the bead; beads with the same id in different ledgers are different beads
	Repo     string            `json:"Repo,omitzero"`     // folder in which the agent works
	Template string            `json:"Template,omitzero"` // name of the template for the prompt; empty if the prompt has no template
	Vars     map[string]string `json:"Vars,omitzero"`     // values of the template's variables, by name
	Session  string            `json:"Session,omitzero"`  // name of the tmux session in which the agent runs; empty if it does not run in tmux
	Earlier  int               `json:"Earlier,omitzero"`  // number of earlier attempts at this bead, in other runs and in records of other tools
}

// The default limits for the task of a bead.
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
	StopNow  OnFailure = "stop-now" // no more tasks start; running tasks are ended
)

// QuestionPolicy says how questions and permission requests of an agent are answered.
type QuestionPolicy string

// The values of QuestionPolicy.
const (
	Ask   QuestionPolicy = "ask"   // the user answers what no rule decides
	Rules QuestionPolicy = "rules" // what no rule decides is denied at once; the user answers only what an ask rule names
	Deny  QuestionPolicy = "deny"  // everything is denied at once, whatever the rules say
	Allow QuestionPolicy = "allow" // what no rule decides is allowed at once
)

// Workflow holds the settings of a workflow. If a wave has only one prompt, that prompt works
// directly on Branch. If a wave has several prompts, each of them works in its own worktree on its
// own branch. After the wave, these branches are merged into Branch.
type Workflow struct {
	ID         string     `json:"ID"`
	Base       string     `json:"Base"` // branch from which Branch is created
	Branch     string     `json:"Branch"`
	OnComplete OnComplete `json:"OnComplete"`
}

// OnComplete says what happens after the last prompt of a workflow. Only one of CreatePR and
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
// and follows commands in its prompt.
const FakeAgent = "fake"

// CommandAgent is the name of the agent that runs the command line in Task.Argv.
const CommandAgent = "command"

// Waves returns the ids of the tasks in layers. A task in the first layer waits for no task. Each
// other task waits for at least one task of the layer before its own, and for no task in its own
// layer or a later one.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs returns the ids of the tasks for which a task waits directly. They include all tasks of the
// next lower wave. To look up many tasks, call [Graph.Needs] of one graph, which is faster.
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
