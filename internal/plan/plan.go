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
type Plan struct {
	Name       string
	Format     Format
	Source     string    // in the session protocol's terms: orchestrate, execute-phase or run-prompt
	SourceFile string    // as the user named it; empty for a prompt's text or a list
	Parallel   int       // maximum number of concurrent tasks; 0 leaves it to the runner
	OnFailure  OnFailure // effect of a failed task on tasks that do not depend on it
	Budget     Budget
	Workflow   *Workflow       // set for a workflow file
	Build      json.RawMessage `json:",omitempty"` // set for an autonomous build; decoded by package build
	Team       json.RawMessage `json:",omitempty"` // set for a team: a teamstate.Start
	Tasks      []Task          // in the order of the source
	Warnings   Problems        // warnings for the user; the plan can run nevertheless
}

// The sources that the session protocol knows.
const (
	SourceOrchestrate  = "orchestrate"
	SourceExecutePhase = "execute-phase"
	SourceRunPrompt    = "run-prompt"
)

// Budget is a limit. Zero means none.
type Budget struct {
	USD    float64
	Tokens int64
}

// Task is one piece of work for one agent.
type Task struct {
	ID   string `json:",omitzero"`
	Name string `json:",omitzero"`

	// Prompt is the whole text. PromptFile is the file that it was read from, or
	// empty. A task of agent command may have neither.
	Prompt, PromptFile string `json:",omitzero"`

	Wave  int      `json:",omitzero"` // a task of wave n waits for all tasks of lower waves; 0 means no wave
	After []string `json:",omitzero"` // ids of the tasks that it waits for

	Agent string   `json:",omitzero"` // name of an agent adapter; empty leaves the choice to the runner
	Model string   `json:",omitzero"` // empty leaves the choice to the agent
	Argv  []string `json:",omitzero"` // only for agent command

	Timeout      time.Duration `json:",omitzero"` // of one attempt; 0 means none
	StallTimeout time.Duration `json:",omitzero"` // maximum time without a sign of life; 0 means none
	Retries      int           `json:",omitzero"` // attempts after the first
	Verify       []string      `json:",omitzero"` // shell commands that must succeed before the task counts as done

	Worktree bool   `json:",omitzero"` // works in its own git worktree
	Branch   string `json:",omitzero"` // of that worktree; empty lets the runner choose
	Tree     string `json:",omitzero"` // worktree that it shares with other tasks of its run, on Branch; empty for none
	Base     string `json:",omitzero"` // branch that Branch starts from; HEAD means what the project has checked out at that time; empty means where the run starts

	Env      map[string]secret.Value `json:",omitzero"`
	Labels   []string                `json:",omitzero"` // a worker must have all of them
	Priority int                     `json:",omitzero"` // of the tasks that could start, the highest goes first
	Files    []string                `json:",omitzero"` // paths, folders and globs that it changes
	Budget   Budget                  `json:",omitzero"`

	Questions     QuestionPolicy `json:",omitzero"`
	AnswerTimeout time.Duration  `json:",omitzero"` // how long a question waits for the user; 0 means forever
	AnswerDefault string         `json:",omitzero"` // the answer after that

	Dispatch *Dispatch       `json:",omitzero"` // set for a bead
	Step     json.RawMessage `json:",omitzero"` // set for a task of a team or of the coordinator protocol, in the JSON format of that package
	Keep     bool            `json:",omitzero"` // keep the agent's whole last message, not only its beginning

	Done bool   `json:",omitzero"` // ticked, or has a summary; left out with [Options.PendingOnly]
	Box  string `json:",omitzero"` // file, on the machine that read the plan, whose checkbox is ticked when the task is complete
	Line int    `json:",omitzero"` // line in its file; 0 if the task is the whole file
}

// Dispatch holds the properties of a task that is a bead of a ledger. A bead has at
// most one unfinished task at a time, across all runs.
type Dispatch struct {
	Bead     string            `json:",omitzero"`
	Ledger   string            `json:",omitzero"` // folder of its records; the same bead in another ledger is a different bead
	Repo     string            `json:",omitzero"` // working folder
	Template string            `json:",omitzero"` // template of its prompt; empty for none
	Vars     map[string]string `json:",omitzero"` // variables of the template
	Session  string            `json:",omitzero"` // tmux session that shows its agent; empty for none
	Earlier  int               `json:",omitzero"` // number of attempts before this task's first, in earlier tasks or in the records only
}

// The default limits of a bead.
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

// Workflow holds the properties of a workflow file besides its prompts. A prompt that
// shares its wave with others has its own worktree and branch, which is merged into
// Branch after the wave. A prompt that is alone in its wave works on Branch itself.
type Workflow struct {
	ID         string
	Base       string // branch that Branch is created from
	Branch     string
	OnComplete OnComplete
}

// OnComplete says what happens after a workflow's last prompt. CreatePR and MergeTo
// exclude each other.
type OnComplete struct {
	CreatePR       bool
	MergeTo        string
	DeleteWorktree bool
}

// Fill sets the agent and the model if the task names none. It leaves commands
// unchanged.
func (t *Task) Fill(agent, model string) {
	if t.Agent == "" && len(t.Argv) == 0 {
		t.Agent = agent
	}
	if t.Model == "" && t.Agent != CommandAgent && len(t.Argv) == 0 {
		t.Model = model
	}
}

// Agents returns the names of the adapters that a plan may name.
func Agents() []string {
	return []string{"claude", "codex", "gemini", "opencode", FakeAgent, CommandAgent}
}

// FakeAgent is gaffer's own agent. It has no model and does what its prompt says.
const FakeAgent = "fake"

// CommandAgent is the agent that runs a task's Argv.
const CommandAgent = "command"

// Waves returns the tasks in layers. The tasks of a layer wait only for tasks of
// earlier layers, and for at least one task of the layer directly before.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs returns the tasks that the task waits for directly. They include those that
// its wave implies: all of the next lower wave, which in turn wait for those below.
// To query many tasks, keep the [Graph].
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
