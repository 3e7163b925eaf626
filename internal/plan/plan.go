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
	Parallel   int             `json:"Parallel"`   // maximum number of concurrent tasks; 0 leaves it to the runner
	OnFailure  OnFailure       `json:"OnFailure"`  // effect of a failed task on tasks that do not depend on it
	Budget     Budget          `json:"Budget"`
	Workflow   *Workflow       `json:"Workflow"`        // set for a workflow file
	Build      json.RawMessage `json:"Build,omitempty"` // set for an autonomous build; decoded by package build
	Team       json.RawMessage `json:"Team,omitempty"`  // set for a team: a teamstate.Start
	Tasks      []Task          `json:"Tasks"`           // in the order of the source
	Warnings   Problems        `json:"Warnings"`        // warnings for the user; the plan can run nevertheless
}

// The sources that the session protocol knows.
const (
	SourceOrchestrate  = "orchestrate"
	SourceExecutePhase = "execute-phase"
	SourceRunPrompt    = "run-prompt"
)

// Budget is a limit. Zero means none.
type Budget struct {
	USD    float64 `json:"USD"`
	Tokens int64   `json:"Tokens"`
}

// Task is one piece of work for one agent.
type Task struct {
	ID   string `json:"ID,omitzero"`
	Name string `json:"Name,omitzero"`

	// Prompt is the whole text. PromptFile is the file that it was read from, or
	// empty. A task of agent command may have neither.
	Prompt     string `json:"Prompt,omitzero"`
	PromptFile string `json:"PromptFile,omitzero"`

	Wave  int      `json:"Wave,omitzero"`  // a task of wave n waits for all tasks of lower waves; 0 means no wave
	After []string `json:"After,omitzero"` // ids of the tasks that it waits for

	Agent string   `json:"Agent,omitzero"` // name of an agent adapter; empty leaves the choice to the runner
	Model string   `json:"Model,omitzero"` // empty leaves the choice to the agent
	Argv  []string `json:"Argv,omitzero"`  // only for agent command

	Limits
	Verify []string `json:"Verify,omitzero"` // shell commands that must succeed before the task counts as done
	Isolation

	Env      map[string]secret.Value `json:"Env,omitzero"`
	Labels   []string                `json:"Labels,omitzero"`   // a worker must have all of them
	Priority int                     `json:"Priority,omitzero"` // of the tasks that could start, the highest goes first
	Files    []string                `json:"Files,omitzero"`    // paths, folders and globs that it changes
	QuestionRules

	Contest
	Candidate string `json:"Candidate,omitzero"` // id of the task that picks one of several candidates, if this is one of them or their judge
	Pick      *Pick  `json:"Pick,omitzero"`

	Dispatch *Dispatch       `json:"Dispatch,omitzero"` // set for a bead
	Step     json.RawMessage `json:"Step,omitzero"`     // set for a task of a team or of the coordinator protocol, in the JSON format of that package
	Keep     bool            `json:"Keep,omitzero"`     // keep the agent's whole last message, not only its beginning

	FileEntry
}

// Limits is how long a task may take, how often it is tried, and what it may cost.
type Limits struct {
	Timeout      time.Duration `json:"Timeout,omitzero"`      // of one attempt; 0 means none
	StallTimeout time.Duration `json:"StallTimeout,omitzero"` // maximum time without a sign of life; 0 means none
	Retries      int           `json:"Retries,omitzero"`      // attempts after the first
	Budget       Budget        `json:"Budget,omitzero"`
}

// Isolation says whether a task works in a git worktree, and on which branch.
type Isolation struct {
	Worktree bool   `json:"Worktree,omitzero"` // works in its own git worktree
	Branch   string `json:"Branch,omitzero"`   // of that worktree; empty lets the runner choose
	Tree     string `json:"Tree,omitzero"`     // worktree that it shares with other tasks of its run, on Branch; empty for none
	Base     string `json:"Base,omitzero"`     // branch that Branch starts from; HEAD means what the project has checked out at that time; empty means where the run starts
	Land     Land   `json:"Land,omitzero"`     // what becomes of its change when it is complete; empty means LandReview
	Into     string `json:"Into,omitzero"`     // branch that its change is for; empty means the one that is checked out when the run starts
}

// Land says what becomes of a task's change.
type Land string

// The ways to land a change.
const (
	LandReview Land = "review" // it waits for a user, who merges it
	LandMerge  Land = "merge"  // it is merged when the run's tasks are complete
	LandPR     Land = "pr"     // a pull request is opened when the run's tasks are complete
	LandKeep   Land = "keep"   // it stays on its branch
)

// QuestionRules says how the questions of a task's agent are answered.
type QuestionRules struct {
	Questions     QuestionPolicy `json:"Questions,omitzero"`
	AnswerTimeout time.Duration  `json:"AnswerTimeout,omitzero"` // how long a question waits for the user; 0 means forever
	AnswerDefault string         `json:"AnswerDefault,omitzero"` // the answer after that
}

// FileEntry is the entry of a task in the file that it was read from.
type FileEntry struct {
	Done bool   `json:"Done,omitzero"` // ticked, or has a summary; left out with [Options.PendingOnly]
	Box  string `json:"Box,omitzero"`  // file, on the machine that read the plan, whose checkbox is ticked when the task is complete
	Line int    `json:"Line,omitzero"` // line in its file; 0 if the task is the whole file
}

// Dispatch holds the properties of a task that is a bead of a ledger. A bead has at
// most one unfinished task at a time, across all runs.
type Dispatch struct {
	Bead     string            `json:"Bead,omitzero"`
	Ledger   string            `json:"Ledger,omitzero"`   // folder of its records; the same bead in another ledger is a different bead
	Repo     string            `json:"Repo,omitzero"`     // working folder
	Template string            `json:"Template,omitzero"` // template of its prompt; empty for none
	Vars     map[string]string `json:"Vars,omitzero"`     // variables of the template
	Session  string            `json:"Session,omitzero"`  // tmux session that shows its agent; empty for none
	Earlier  int               `json:"Earlier,omitzero"`  // number of attempts before this task's first, in earlier tasks or in the records only
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
