package fleet

// RunForm holds what a user can choose for a run without writing a plan: prompts, and settings that
// apply to all prompts. The settings mean the same as the flags of 'gaffer run'. An empty field
// means the default.
type RunForm struct {
	Prompts    []string `json:"prompts"`
	Agent      string   `json:"agent,omitempty"`
	Model      string   `json:"model,omitempty"`
	BestOf     int      `json:"best_of,omitempty"`    // number of agents that work on each prompt, at least 2; 0 means that one agent does
	Candidates []string `json:"candidates,omitempty"` // the agents that work on each prompt, as AGENT or AGENT:MODEL; used only if BestOf is set; empty means that all of them use Agent
	Pick       string   `json:"pick,omitempty"`       // who picks one of the agents' results; used only if BestOf is set
	Verify     []string `json:"verify,omitempty"`
	Worktree   bool     `json:"worktree,omitempty"`
	Land       string   `json:"land,omitempty"`
	Into       string   `json:"into,omitempty"`
	Budget     float64  `json:"budget,omitempty"` // in USD
	Parallel   int      `json:"parallel,omitempty"`
	Retries    int      `json:"retries,omitempty"`
	Timeout    string   `json:"timeout,omitempty"` // time limit of an attempt, such as 45m
	OnFailure  string   `json:"on_failure,omitempty"`
	Questions  string   `json:"questions,omitempty"` // what gaffer does with the agents' questions; empty means that the user is asked
}

// RunDraft is a run that a user is about to start: a form, or the text of a plan.
type RunDraft struct {
	Project string `json:"project"`           // path of a project on the server's machine; if Workers is set, the name of a project
	Workers bool   `json:"workers,omitempty"` // the server's workers execute the run; if false, the server's machine does
	On      string `json:"on,omitempty"`      // name of the only worker that may take the tasks, if Workers is set; empty means any worker

	Form *RunForm `json:"form,omitempty"` // nil if Text is set
	Text string   `json:"text,omitempty"`
	File string   `json:"file,omitempty"` // the file from which Text was loaded: its path in the project, or only its name if it is outside; empty for a new text

	Key string `json:"key,omitempty"` // idempotency key: starting the same key again returns the same run
}

// The severities of a PlanFinding.
const (
	FindingProblem = "problem" // the plan is not valid
	FindingWarning = "warning" // the plan can run, but may not do what its author wants
	FindingMissing = "missing" // the machine lacks something that the plan needs
)

// PlanFinding is a problem of a plan, or of the machine that would execute it, and its position.
// Line and Column start at 1 and are 0 if they are unknown.
type PlanFinding struct {
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"` // file that Line and Column refer to; empty means the plan's own file
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Text     string `json:"text"`
	Next     string `json:"next,omitempty"` // what the user can do about it
}

// PlanTask is a task of a plan that does not run yet.
type PlanTask struct {
	ID    string   `json:"id"`
	Name  string   `json:"name,omitempty"`
	Agent string   `json:"agent"`
	Model string   `json:"model,omitempty"`
	After []string `json:"after,omitempty"`
	Wave  int      `json:"wave,omitempty"`
	Line  int      `json:"line,omitempty"` // line in the plan's text at which the task starts
}

// PlanCheck is the result of checking a RunDraft.
type PlanCheck struct {
	Valid    bool          `json:"valid"` // the plan has no problems
	Ready    bool          `json:"ready"` // the plan is valid, and the machine lacks nothing for it
	Name     string        `json:"name,omitempty"`
	Findings []PlanFinding `json:"findings"`
	Tasks    []PlanTask    `json:"tasks"`
	Text     string        `json:"text,omitempty"`     // the form as the text of a plan file; set only if the draft is a form
	Command  string        `json:"command,omitempty"`  // the command line that starts the same run; set only if the draft is a form
	Form     *RunForm      `json:"form,omitempty"`     // the plan as a form; nil if the plan is not valid or a form cannot express it
	FormWhy  string        `json:"form_why,omitempty"` // why a form cannot express the plan
}

// PlanText is the text of a plan from which a user starts a new run. It comes from a plan file, or
// from the plan of an earlier run.
type PlanText struct {
	Text  string   `json:"text"`
	File  string   `json:"file,omitempty"`
	Notes []string `json:"notes,omitempty"` // what was left out of the text, as sentences

	Project string `json:"project,omitempty"` // project of the plan file or of the earlier run, as in RunDraft
	Workers bool   `json:"workers,omitempty"`
	On      string `json:"on,omitempty"`
}

// PlanFiles lists the plan files of a project.
type PlanFiles struct {
	Paths []string `json:"paths"`
	More  bool     `json:"more,omitempty"` // the project has more plan files than Paths lists
}

// AgentProgram says whether a machine can run an agent.
type AgentProgram struct {
	Name      string `json:"name"`
	Installed bool   `json:"installed"`
	Version   string `json:"version,omitempty"`
	Problem   string `json:"problem,omitempty"` // why the agent cannot be used, and what to do; empty if it can
}

// RunPlaces says where a server can execute a new run.
type RunPlaces struct {
	Machine string           `json:"machine"`           // name of the server's machine
	Folders []ProjectFolder  `json:"folders"`           // projects on the server's machine
	Workers []ProjectWorkers `json:"workers"`           // projects of the server's workers
	Refused string           `json:"refused,omitempty"` // why the server's machine cannot execute new runs; empty if it can
}

// ProjectFolder is a project on the server's machine.
type ProjectFolder struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	Active bool   `json:"active,omitempty"` // the project that is used if the user chooses none
}

// ProjectWorkers lists the online workers of a project.
type ProjectWorkers struct {
	Project string          `json:"project"`
	Workers []ProjectWorker `json:"workers"`
}

// ProjectWorker is a worker that may take the tasks of a new run.
type ProjectWorker struct {
	Name     string         `json:"name"`
	Slots    int            `json:"slots,omitempty"`
	Allowed  []string       `json:"agents,omitempty"`   // names of the agents whose tasks the worker takes; empty means all
	Programs []AgentProgram `json:"programs,omitempty"` // the agents that the worker's machine has; empty if the worker has not reported them
}
