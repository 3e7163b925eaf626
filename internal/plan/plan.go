// Package plan reads plans: tasks and their dependencies.
//
// A plan is written in gaffer's own YAML format or in one of several other formats: an
// orchestrator's markdown, a workflow's YAML, phase plans, a file of beads, a folder of
// prompts, a list of prompts, or one prompt. [Load] detects the format and converts each
// of them to a [Plan], or returns all [Problems] of the plan. Only Load and Parse access
// files; everything else is pure.
package plan

import (
	"encoding/json"
	"time"

	"gaffer/internal/plan/secret"
)

// Plan is a checked set of tasks. A plan from [Load] has valid, unique ids, no
// references to missing tasks, and no cycles.
//
// The JSON names of a plan and of its parts never change: stored runs, older workers and
// servers, and programs in other languages use them. [Encode] writes the JSON.
type Plan struct {
	Name       string          `json:"Name"`
	Format     Format          `json:"Format"`
	Source     string          `json:"Source"`     // one of the Source constants
	SourceFile string          `json:"SourceFile"` // as the user named it; empty for a prompt's text or a list
	Parallel   int             `json:"Parallel"`   // maximum number of tasks at the same time; 0 means the runner's default
	OnFailure  OnFailure       `json:"OnFailure"`  // what happens to the other tasks when a task fails
	Budget     Budget          `json:"Budget"`
	Workflow   *Workflow       `json:"Workflow"`        // set for a workflow file
	Build      json.RawMessage `json:"Build,omitempty"` // set for an autonomous build; decoded by package build
	Team       json.RawMessage `json:"Team,omitempty"`  // set for a team; the JSON of a teamstate.Start
	Tasks      []Task          `json:"Tasks"`           // in the order of the plan's file
	Warnings   Problems        `json:"Warnings"`        // problems that do not prevent the plan from running
}

// The values of Plan.Source, which the session protocol defines.
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

	// Prompt is the text of the prompt. PromptFile is the file that it was read from, or
	// empty. If Agent is [CommandAgent], both may be empty.
	Prompt     string `json:"Prompt,omitzero"`
	PromptFile string `json:"PromptFile,omitzero"`

	Wave  int      `json:"Wave,omitzero"`  // a task of wave n waits for all tasks of lower waves; 0 means no wave
	After []string `json:"After,omitzero"` // ids of the tasks that this task waits for

	Agent string   `json:"Agent,omitzero"` // name of an agent adapter; empty means the runner's default
	Model string   `json:"Model,omitzero"` // empty means the agent's default
	Argv  []string `json:"Argv,omitzero"`  // program and arguments, if Agent is CommandAgent

	Limits
	Verify []string `json:"Verify,omitzero"` // shell commands that must succeed before the task counts as done
	Isolation

	Env      map[string]secret.Value `json:"Env,omitzero"`
	Labels   []string                `json:"Labels,omitzero"`   // only a worker with all of these labels may run the task
	Priority int                     `json:"Priority,omitzero"` // tasks with a higher priority start first
	Files    []string                `json:"Files,omitzero"`    // paths, folders and globs of the files that the task changes
	QuestionRules

	CandidateKeys
	Candidate string `json:"Candidate,omitzero"` // set for a candidate and for a judge: id of the task that picks one of the candidates
	Pick      *Pick  `json:"Pick,omitzero"`      // set for a task that picks a candidate, and for a judge

	Dispatch    *Dispatch       `json:"Dispatch,omitzero"` // set for a bead
	Step        json.RawMessage `json:"Step,omitzero"`     // set for a task of a team or of the coordinator protocol; only the package that sets it decodes it
	KeepMessage bool            `json:"Keep,omitzero"`     // store the agent's whole last message, because later tasks need it; otherwise only its beginning is stored

	FileEntry
}

// Limits limits how long a task may take, how often it is tried, and what it may cost.
type Limits struct {
	Timeout      time.Duration `json:"Timeout,omitzero"`      // maximum working time of one attempt; 0 means no limit
	StallTimeout time.Duration `json:"StallTimeout,omitzero"` // maximum time without output or other activity of the agent; 0 means no limit
	Retries      int           `json:"Retries,omitzero"`      // number of further attempts after a failed one
	Budget       Budget        `json:"Budget,omitzero"`
}

// Isolation says whether a task works in a git worktree, and on which branch.
type Isolation struct {
	Worktree       bool   `json:"Worktree,omitzero"` // the task has its own git worktree
	Branch         string `json:"Branch,omitzero"`   // branch of the worktree; if empty, the runner chooses a name
	SharedWorktree string `json:"Tree,omitzero"`     // name of a worktree on Branch that several tasks of the run share; empty if the task shares none
	Base           string `json:"Base,omitzero"`     // branch that Branch starts from; HEAD means the commit that is checked out in the project when the task starts; empty means the commit that the run starts from
	Land           Land   `json:"Land,omitzero"`     // what happens to the change when the task is complete; empty means LandReview
	Into           string `json:"Into,omitzero"`     // branch that the change is merged into; empty means the branch that is checked out when the run starts
}

// Land says what happens to a task's change when the task is complete.
type Land string

// The values of Land.
const (
	LandReview Land = "review" // the change waits until a user merges it
	LandMerge  Land = "merge"  // the change is merged when the run's tasks are complete
	LandPR     Land = "pr"     // a pull request is opened when the run's tasks are complete
	LandKeep   Land = "keep"   // the change stays on its branch
)

// QuestionRules says how the questions of a task's agent are answered.
type QuestionRules struct {
	Questions     QuestionPolicy `json:"Questions,omitzero"`
	AnswerTimeout time.Duration  `json:"AnswerTimeout,omitzero"` // how long a question waits for the user; 0 means forever
	AnswerDefault string         `json:"AnswerDefault,omitzero"` // the answer after AnswerTimeout
}

// FileEntry describes a task's entry in the plan's file.
type FileEntry struct {
	Done         bool   `json:"Done,omitzero"` // the task's checkbox is ticked, or the task has a summary file; [Options.PendingOnly] leaves such tasks out
	CheckboxFile string `json:"Box,omitzero"`  // absolute path of the plan's file, if it has a checkbox to tick when the task is complete
	Line         int    `json:"Line,omitzero"` // line of the task in the plan's file; 0 if the task is the whole file
}

// Dispatch holds the properties of a task for a bead of a ledger. A bead has at most one
// unfinished task at a time, over all runs.
type Dispatch struct {
	Bead     string            `json:"Bead,omitzero"`
	Ledger   string            `json:"Ledger,omitzero"`   // folder of the bead's records; the same id in another ledger is a different bead
	Repo     string            `json:"Repo,omitzero"`     // folder that the agent works in
	Template string            `json:"Template,omitzero"` // name of the template for the prompt; empty if there is none
	Vars     map[string]string `json:"Vars,omitzero"`     // variables for the template
	Session  string            `json:"Session,omitzero"`  // tmux session in which the agent runs; empty if there is none
	Earlier  int               `json:"Earlier,omitzero"`  // number of attempts at this bead before this task, from other runs and from records
}

// The default limits of a task for a bead.
const (
	BeadTimeout = time.Hour
	BeadRetries = 2
)

// OnFailure says what happens to the other tasks when a task fails. Tasks that depend on
// the failed task never start.
type OnFailure string

// The values of OnFailure.
const (
	Continue OnFailure = "continue" // the other tasks run
	Stop     OnFailure = "stop"     // no more tasks start; running tasks continue
	StopNow  OnFailure = "stop-now" // no more tasks start; running tasks are stopped
)

// QuestionPolicy says how questions and permission requests of an agent are answered.
type QuestionPolicy string

// The values of QuestionPolicy.
const (
	Ask   QuestionPolicy = "ask"   // the user answers
	Deny  QuestionPolicy = "deny"  // requests are denied at once
	Allow QuestionPolicy = "allow" // requests are allowed at once
)

// Workflow holds the settings of a workflow. If a wave has several prompts, each of them
// has its own worktree and branch, which is merged into Branch after the wave. A prompt
// that is alone in its wave works on Branch itself.
type Workflow struct {
	ID         string     `json:"ID"`
	Base       string     `json:"Base"` // branch that Branch is created from
	Branch     string     `json:"Branch"`
	OnComplete OnComplete `json:"OnComplete"`
}

// OnComplete says what happens after a workflow's last prompt. CreatePR and MergeTo
// exclude each other.
type OnComplete struct {
	CreatePR       bool   `json:"CreatePR"`
	MergeTo        string `json:"MergeTo"`
	DeleteWorktree bool   `json:"DeleteWorktree"`
}

// SetDefaultAgent sets the agent and the model of a task that names none. It does not
// change a task that runs a command.
func (t *Task) SetDefaultAgent(agent, model string) {
	if t.Agent == "" && len(t.Argv) == 0 {
		t.Agent = agent
	}
	if t.Model == "" && t.Agent != CommandAgent && len(t.Argv) == 0 {
		t.Model = model
	}
}

// Agents returns the names of the agent adapters that a plan may use.
func Agents() []string {
	return []string{"claude", "codex", "gemini", "opencode", FakeAgent, CommandAgent}
}

// FakeAgent is an agent for tests and demos that is built into gaffer. It uses no model
// and follows commands in its prompt.
const FakeAgent = "fake"

// CommandAgent is the agent that runs a task's Argv.
const CommandAgent = "command"

// Waves returns the ids of the tasks in layers. Each task of a layer waits for a task of
// the previous layer, and for no task of its own or a later layer.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs returns the ids of the tasks that a task waits for directly, including all tasks
// of the next lower wave. To query many tasks, use [Graph.Needs], which is faster.
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
