package fleet

// RunForm describes a run that a user starts without writing a plan. It has prompts, and settings
// that apply to all prompts. The settings mean the same as the flags of 'gaffer run'. An empty
// field means the default.
type RunForm struct {
	Prompts []string `json:"prompts"`
	Agent   string   `json:"agent,omitempty"`
	Model   string   `json:"model,omitempty"`
	BestOf  int      `json:"best_of,omitempty"` // number of agents that work on each prompt; 0 means one
	// Candidates are the agents that work on each prompt, as AGENT or AGENT:MODEL. Empty means that
	// all of them are the agent named by Agent. Candidates is used only if BestOf is set.
	Candidates []string `json:"candidates,omitempty"`
	// Pick says who picks one result if several agents work on the same prompt: the user ("user"),
	// gaffer by checks of the results ("checks"), or another agent ("judge"). Pick is used only if
	// BestOf is set.
	Pick      string   `json:"pick,omitempty"`
	Verify    []string `json:"verify,omitempty"`
	Worktree  bool     `json:"worktree,omitempty"`
	Land      string   `json:"land,omitempty"`
	Into      string   `json:"into,omitempty"`
	Budget    float64  `json:"budget,omitempty"` // in USD
	Parallel  int      `json:"parallel,omitempty"`
	Retries   int      `json:"retries,omitempty"`
	Timeout   string   `json:"timeout,omitempty"` // time limit of an attempt, such as 45m
	OnFailure string   `json:"on_failure,omitempty"`
	Questions string   `json:"questions,omitempty"` // policy for agents' questions: ask (default), rules, allow or deny
}

// RunDraft is a run that a user is about to start: a form with prompts and settings, or the text of
// a plan.
type RunDraft struct {
	// Project is the path of a project on the server's machine or, if Workers is set, the name of a
	// project.
	Project string `json:"project"`
	Workers bool   `json:"workers,omitempty"` // workers execute the run; if false, the server's machine does
	// On is the name of the only worker that may take the tasks. Empty means any worker. On is used
	// only if Workers is set.
	On string `json:"on,omitempty"`

	Form *RunForm `json:"form,omitempty"` // nil if Text is set
	Text string   `json:"text,omitempty"`
	// File is the plan file from which Text was loaded: its path in the project or, if it is
	// outside of the project, only its name. File is empty if Text was not loaded from a file.
	File string `json:"file,omitempty"`

	Key string `json:"key,omitempty"` // idempotency key: requests with the same key return the same run
}

// The values of PlanFinding.Severity.
const (
	FindingProblem = "problem" // the plan is not valid
	FindingWarning = "warning" // the plan can run, but may not do what its author wants
	FindingMissing = "missing" // the machine or the workers lack something that the plan needs
)

// PlanFinding is a problem of a plan, or of the machine or the workers that would execute the plan.
// File, Line and Column are the position of the problem in the plan. Line and Column start at 1,
// and are 0 if they are unknown.
type PlanFinding struct {
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"` // file that Line and Column refer to; empty means the plan's own file
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Text     string `json:"text"`
	Next     string `json:"next,omitempty"` // what the user can do about the problem
}

// PlanTask is a task of a plan that was checked but not submitted yet.
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
	Valid    bool          `json:"valid"` // no finding has the severity FindingProblem
	Ready    bool          `json:"ready"` // the plan is valid and can be executed now
	Name     string        `json:"name,omitempty"`
	Findings []PlanFinding `json:"findings"`
	Tasks    []PlanTask    `json:"tasks"`
	Text     string        `json:"text,omitempty"`     // plan text that means the same as RunDraft.Form; empty if RunDraft.Form is nil
	Command  string        `json:"command,omitempty"`  // 'gaffer run' command that does the same as RunDraft.Form; empty without such a form
	Form     *RunForm      `json:"form,omitempty"`     // form that does the same as the plan in RunDraft.Text; nil if there is none
	FormWhy  string        `json:"form_why,omitempty"` // why no form can do the same as the valid plan in RunDraft.Text; otherwise empty
}

// PlanText is the text of a plan that a user can edit to start a new run. It comes from a plan
// file, or from the plan of an earlier run.
type PlanText struct {
	Text  string   `json:"text"`
	File  string   `json:"file,omitempty"`
	Notes []string `json:"notes,omitempty"` // sentences for users about what was left out of the text

	Project string `json:"project,omitempty"` // project of the plan file or of the earlier run, in the same form as RunDraft.Project
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
	Problem   string `json:"problem,omitempty"` // why the agent cannot be used, and what to do; empty if it can be used
}

// RunPlaces says where a server can execute a new run.
type RunPlaces struct {
	Machine string           `json:"machine"`           // name of the server's machine
	Folders []ProjectFolder  `json:"folders"`           // projects on the server's machine
	Workers []ProjectWorkers `json:"workers"`           // the server's online workers, by project
	Refused string           `json:"refused,omitempty"` // why the server's machine cannot execute new runs; empty if it can
}

// ProjectFolder is a project on the server's machine.
type ProjectFolder struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	Active bool   `json:"active,omitempty"` // this project is used if the user chooses none
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
	Programs []AgentProgram `json:"programs,omitempty"` // agent programs on the worker's machine; empty if unknown
}
