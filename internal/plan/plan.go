// Package plan reads what is to be done and says what must happen before what.
//
// A plan is gaffer's own YAML or one of the formats that people already have:
// an orchestrator's markdown, a workflow's YAML, phase plans, a file of beads, a
// folder of prompts, a list of them, one prompt. [Load] tells them apart and gives the
// same [Plan] for each, or every [Problem] at once. Only Load touches files;
// all else is computed from values.
package plan

import (
	"encoding/json"
	"time"

	"gaffer/internal/plan/secret"
)

// Plan is a checked set of tasks. One that [Load] returned has valid, unique
// ids, no reference to a task that is not there, and no cycle.
type Plan struct {
	Name       string
	Format     Format
	Source     string    // the session protocol's word: orchestrate, execute-phase or run-prompt
	SourceFile string    // as the person named it; empty for a prompt's text or a list
	Parallel   int       // how many tasks run at once; 0 leaves it to who runs them
	OnFailure  OnFailure // what a failed task means for those that do not wait for it
	Budget     Budget
	Workflow   *Workflow       // of a workflow file, else nil
	Build      json.RawMessage `json:",omitempty"` // of an autonomous build, in the words of package build; else nil
	Team       json.RawMessage `json:",omitempty"` // of a team, in the words of package teamwork; else nil
	Tasks      []Task          // in the order of the source
	Warnings   Problems        // what a person should look at although the plan can run
}

// The sources that the session protocol knows.
const (
	SourceOrchestrate  = "orchestrate"
	SourceExecutePhase = "execute-phase"
	SourceRunPrompt    = "run-prompt"
)

// Budget is a ceiling. Zero is none.
type Budget struct {
	USD    float64
	Tokens int64
}

// Task is one piece of work for one agent.
type Task struct {
	ID   string `json:",omitzero"`
	Name string `json:",omitzero"`

	// Prompt is the whole text. PromptFile is the file that it was read from,
	// or empty. A task of agent command may have neither.
	Prompt, PromptFile string `json:",omitzero"`

	Wave  int      `json:",omitzero"` // every task of wave n waits for all of the waves below n; 0 is no wave
	After []string `json:",omitzero"` // the tasks it waits for by name

	Agent string   `json:",omitzero"` // an adapter's name; empty leaves the choice to whoever runs the plan
	Model string   `json:",omitzero"` // empty is the agent's own choice
	Argv  []string `json:",omitzero"` // of agent command only

	Timeout      time.Duration `json:",omitzero"` // of one attempt; 0 is none
	StallTimeout time.Duration `json:",omitzero"` // without a sign of life; 0 is none
	Retries      int           `json:",omitzero"` // attempts after the first
	Verify       []string      `json:",omitzero"` // shell commands that must succeed before the task counts as done

	Worktree bool   `json:",omitzero"` // works in a git worktree of its own
	Branch   string `json:",omitzero"` // of that worktree; empty lets the runner choose
	Tree     string `json:",omitzero"` // the worktree that it shares with others of its run, on Branch; empty for none
	Base     string `json:",omitzero"` // the branch that Branch starts from; HEAD for what the project has checked out then; empty for where the run starts

	Env      map[string]secret.Value `json:",omitzero"`
	Labels   []string                `json:",omitzero"` // a worker must have them all
	Priority int                     `json:",omitzero"` // among tasks that could start, the highest goes first
	Files    []string                `json:",omitzero"` // paths, folders and globs that it changes
	Budget   Budget                  `json:",omitzero"`

	Questions     QuestionPolicy `json:",omitzero"`
	AnswerTimeout time.Duration  `json:",omitzero"` // how long a question waits for a person; 0 is for ever
	AnswerDefault string         `json:",omitzero"` // the answer after that

	Dispatch *Dispatch       `json:",omitzero"` // of a bead, else nil
	Step     json.RawMessage `json:",omitzero"` // of a team or of the service, in their words; else nil
	Keep     bool            `json:",omitzero"` // all that the agent says last is kept, not only the beginning of it

	Done bool   `json:",omitzero"` // ticked, or has a summary: left out with [Options.PendingOnly]
	Box  string `json:",omitzero"` // the file, on the machine that made the plan, in which its box is ticked when it is complete
	Line int    `json:",omitzero"` // where it stands in its file; 0 if that is the file as a whole
}

// Dispatch is what a task has as a bead of a ledger. A bead has one task at a
// time that is not over, whatever run that is in.
type Dispatch struct {
	Bead     string            `json:",omitzero"`
	Ledger   string            `json:",omitzero"` // the folder of its records: a bead of another one is another bead
	Repo     string            `json:",omitzero"` // the folder that it is worked on in
	Template string            `json:",omitzero"` // that its prompt is made from; empty for none
	Vars     map[string]string `json:",omitzero"` // for the template
	Session  string            `json:",omitzero"` // the tmux session that shows its agent; empty for none
	Earlier  int               `json:",omitzero"` // attempts before this task's first, of earlier tasks or in the records alone
}

// The limits of a bead that has none of its own.
const (
	BeadTimeout = time.Hour
	BeadRetries = 2
)

// OnFailure is what a failed task means for tasks that do not wait for it.
// Those that wait for it never start.
type OnFailure string

// The ways to go on.
const (
	Continue OnFailure = "continue" // they run
	Stop     OnFailure = "stop"     // none is started any more; what runs goes on
	StopNow  OnFailure = "stop-now" // and what runs is ended
)

// QuestionPolicy is what becomes of an agent's question or request.
type QuestionPolicy string

// The policies.
const (
	Ask   QuestionPolicy = "ask"   // a person answers
	Deny  QuestionPolicy = "deny"  // it is refused at once
	Allow QuestionPolicy = "allow" // it is granted at once
)

// Workflow is what a workflow file says beside its prompts. A prompt that
// shares its wave with others has a worktree and a branch of its own, to be
// merged into Branch after the wave; one that is alone works on Branch itself.
type Workflow struct {
	ID         string
	Base       string // the branch that Branch is made from
	Branch     string
	OnComplete OnComplete
}

// OnComplete is what follows when a workflow's last prompt is done. CreatePR
// and MergeTo exclude each other.
type OnComplete struct {
	CreatePR       bool
	MergeTo        string
	DeleteWorktree bool
}

// Fill names the agent and the model where the task names none. A command has
// neither.
func (t *Task) Fill(agent, model string) {
	if t.Agent == "" && len(t.Argv) == 0 {
		t.Agent = agent
	}
	if t.Model == "" && t.Agent != CommandAgent && len(t.Argv) == 0 {
		t.Model = model
	}
}

// Agents are the adapters that a plan may name.
func Agents() []string {
	return []string{"claude", "codex", "gemini", "opencode", FakeAgent, CommandAgent}
}

// FakeAgent is gaffer's own agent, which has no model and does what its prompt
// says.
const FakeAgent = "fake"

// CommandAgent is the agent that runs a task's Argv.
const CommandAgent = "command"

// Waves are the tasks in layers: those of a layer wait for tasks of earlier
// layers only, and at least for one of the layer just before.
func (p Plan) Waves() [][]string { return p.Graph().Waves() }

// Needs are the tasks that the task waits for directly, those included that its
// wave implies: all of the next lower wave, which in turn wait for those below.
// To ask for many tasks, keep the [Graph].
func (p Plan) Needs(id string) []string { return p.Graph().Needs(id) }
