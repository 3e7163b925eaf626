// Package plan reads plans: the tasks to be done and their dependencies.
//
// A plan is gaffer's own YAML or one of several existing formats: an orchestrator's
// markdown, a workflow's YAML, phase plans, a file of beads, a folder of prompts, a
// list of prompts, one prompt. [Load] detects the format and returns the same [Plan]
// for each, or all [Problem] values at once. Only Load and Parse access files;
// everything else is pure.
package plan

import (
	"encoding/json"
	"time"

	"gaffer/internal/plan/secret"
)

// Plan is a checked set of tasks. A plan from [Load] has valid, unique ids, no
// references to missing tasks, and no cycles.
//
// The JSON names of a plan and of its parts never change: stored runs, older workers
// and servers, and programs in other languages use them. See [Encode].
type Plan struct {
	Name       string          `json:"Name"`
	Format     Format          `json:"Format"`
	Source     string          `json:"Source"`     // in the session protocol's terms: orchestrate, execute-phase or run-prompt
	SourceFile string          `json:"SourceFile"` // as the user named it; empty for a prompt's text or a list
	Parallel   int             `json:"Parallel"`   // maximum number of tasks at the same time; 0 means the runner's default
	OnFailure  OnFailure       `json:"OnFailure"`  // effect of a failed task on tasks that do not depend on it
	Budget     Budget          `json:"Budget"`
	Workflow   *Workflow       `json:"Workflow"`        // set for a workflow file
	Build      json.RawMessage `json:"Build,omitempty"` // set for an autonomous build; decoded by package build
	Team       json.RawMessage `json:"Team,omitempty"`  // set for a team: a teamstate.Start
	Tasks      []Task          `json:"Tasks"`           // in the order of the source
	Warnings   Problems        `json:"Warnings"`        // for the user; they do not prevent the plan from running
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

	// Prompt is the whole text. PromptFile is the file that it was read from, or empty.
	// If Agent is [CommandAgent], both may be empty.
	Prompt     string `json:"Prompt,omitzero"`
	PromptFile string `json:"PromptFile,omitzero"`

	Wave  int      `json:"Wave,omitzero"`  // a task of wave n waits for all tasks of lower waves; 0 means no wave
	After []string `json:"After,omitzero"` // ids of the tasks that this task waits for

	Agent string   `json:"Agent,omitzero"` // name of an agent adapter; empty means the runner's default
	Model string   `json:"Model,omitzero"` // empty means the agent's default
	Argv  []string `json:"Argv,omitzero"`  // only for agent command

	Limits
	Verify []string `json:"Verify,omitzero"` // shell commands that must succeed before the task counts as done
	Isolation

	Env      map[string]secret.Value `json:"Env,omitzero"`
	Labels   []string                `json:"Labels,omitzero"`   // only a worker with all of these labels may run the task
	Priority int                     `json:"Priority,omitzero"` // of the tasks that can start, the one with the highest priority starts first
	Files    []string                `json:"Files,omitzero"`    // paths, folders and globs of the files that the task changes
	QuestionRules

	CandidateKeys
	Candidate string `json:"Candidate,omitzero"` // id of the task that picks one of several candidates, if this is one of them or their judge
	Pick      *Pick  `json:"Pick,omitzero"`

	Dispatch    *Dispatch       `json:"Dispatch,omitzero"` // set for a bead
	Step        json.RawMessage `json:"Step,omitzero"`     // set for a task of a team or of the coordinator protocol, in the JSON format of that package
	KeepMessage bool            `json:"Keep,omitzero"`     // store the agent's complete last message, not only its beginning, because later tasks need it

	FileEntry
}

// Limits limits how long a task may take, how often it is tried, and what it may cost.
type Limits struct {
	Timeout      time.Duration `json:"Timeout,omitzero"`      // of one attempt; 0 means none
	StallTimeout time.Duration `json:"StallTimeout,omitzero"` // maximum time without output or other activity of the agent; 0 means none
	Retries      int           `json:"Retries,omitzero"`      // attempts after the first
	Budget       Budget        `json:"Budget,omitzero"`
}

// Isolation says whether a task works in a git worktree, and on which branch.
type Isolation struct {
	Worktree       bool   `json:"Worktree,omitzero"` // the task has its own git worktree
	Branch         string `json:"Branch,omitzero"`   // branch of the worktree; empty lets the runner choose
	SharedWorktree string `json:"Tree,omitzero"`     // name of a worktree that several tasks of the run share, on Branch; empty for none
	Base           string `json:"Base,omitzero"`     // branch that Branch starts from; HEAD means the commit that the project has checked out when the task starts; empty means the commit that the run starts from
	Land           Land   `json:"Land,omitzero"`     // what happens to the task's change when the task is complete; empty means LandReview
	Into           string `json:"Into,omitzero"`     // branch that the change is to be merged into; empty means the one that is checked out when the run starts
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

// FileEntry holds where a task is listed in the plan's file, and its state there.
type FileEntry struct {
	Done         bool   `json:"Done,omitzero"` // its checkbox is ticked, or it has a summary file; left out with [Options.PendingOnly]
	CheckboxFile string `json:"Box,omitzero"`  // path of the file whose checkbox is ticked when the task is complete, on the machine that read the plan
	Line         int    `json:"Line,omitzero"` // line in the plan's file; 0 if the task is the whole file
}

// Dispatch holds the properties of a task that is a bead of a ledger. A bead has at
// most one unfinished task at a time, across all runs.
type Dispatch struct {
	Bead     string            `json:"Bead,omitzero"`
	Ledger   string            `json:"Ledger,omitzero"`   // folder of its records; the same bead in another ledger is a different bead
	Repo     string            `json:"Repo,omitzero"`     // working folder
	Template string            `json:"Template,omitzero"` // template of its prompt; empty for none
	Vars     map[string]string `json:"Vars,omitzero"`     // variables of the template
	Session  string            `json:"Session,omitzero"`  // tmux session in which its agent runs; empty for none
	Earlier  int               `json:"Earlier,omitzero"`  // number of attempts at this bead before this task, in other runs or known from records only
}

// The default limits of a task for a bead.
const (
	BeadTimeout = time.Hour
	BeadRetries = 2
)

// OnFailure is the effect of a failed task on tasks that do not depend on it. Tasks
// that depend on it never start.
type OnFailure string

// The effects of a failed task.
const (
	Continue OnFailure = "continue" // the other tasks run
	Stop     OnFailure = "stop"     // no more tasks start; running ones continue
	StopNow  OnFailure = "stop-now" // no more tasks start; running ones are stopped
)

// QuestionPolicy says how questions and permission requests of an agent are answered.
type QuestionPolicy string

// The policies.
const (
	Ask   QuestionPolicy = "ask"   // the user answers
	Deny  QuestionPolicy = "deny"  // refuse at once
	Allow QuestionPolicy = "allow" // grant at once
)

// Workflow holds the settings of a workflow file that are not prompts. If several
// prompts share a wave, each has its own worktree and branch, which is merged into
// Branch after the wave. A prompt that is alone in its wave works on Branch itself.
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

// SetDefaultAgent sets the agent and the model if the task names none. It does not change tasks of
// agent command.
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

// FakeAgent is an agent for tests and demos that is built into gaffer. It has no model
// and follows the instructions in its prompt literally.
const FakeAgent = "fake"

// CommandAgent is the agent that runs a task's Argv.
const CommandAgent = "command"

// Waves returns the tasks in layers. Each task waits for at least one task of the
// previous layer, and for no task of its own or a later layer.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs returns the tasks that the task waits for directly, including those that it
// waits for because of its wave: all tasks of the next lower wave, which in turn wait
// for those below. To query many tasks, keep the [Graph].
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
