package fleet

import "time"

// MorningQuery selects what a morning report is about.
type MorningQuery struct {
	Project string    // path or name of the project to report on; empty means all projects
	Since   time.Time // leaves out what happened before this time
}

// MorningStart returns when a morning report starts if the user names no time: at 18:00 on the day
// before now, in the time zone of now.
func MorningStart(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d-1, 18, 0, 0, 0, now.Location())
}

// MorningReport says what has happened to tasks since a given time, for a user who was away. A task
// is in at most one of the lists of tasks. A task that ended before that time is left out, unless its
// change was merged or discarded later. Tasks that merge branches are left out too, and so are
// candidates and their judges: the report has only the task that picks one of the candidates.
type MorningReport struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when the report was made

	Merged  []MorningTask `json:"merged"`  // the change was merged
	Review  []MorningTask `json:"review"`  // the task is complete, and its change waits for the user
	Done    []MorningTask `json:"done"`    // the task is complete, and there is no change to merge; MorningTask.Why is the agent's last message
	Failed  []MorningTask `json:"failed"`  // the task failed; MorningTask.Why is the reason
	Waiting []MorningTask `json:"waiting"` // the agent waits for the user; MorningTask.Why is its question
	Running []MorningTask `json:"running"` // the task is running or queued; MorningTask.Why says what it does or waits for
	Skipped []MorningTask `json:"skipped"` // the task was cancelled, never started, or its change was discarded; MorningTask.Why is the reason

	Cost      CostRow           `json:"cost"` // cost of all attempts that started at the time Since or later
	Runs      []MorningRun      `json:"runs"` // the runs of the tasks and attempts above, and runs that were created since the time Since; latest first
	Questions []MorningQuestion `json:"questions"`
	Accounts  []MorningAccount  `json:"accounts"` // the accounts that these attempts used, and those that are paused now; sorted by name
	// NotStarted are planned times of schedules at which no run started, earliest first.
	NotStarted []MorningFire `json:"not_started"`
}

// MorningFire is a planned time of a schedule at which no run started.
type MorningFire struct {
	Schedule string     `json:"schedule"` // name of the schedule
	Planned  time.Time  `json:"planned"`
	Count    int        `json:"count,omitempty"` // how many planned times without a run this entry stands for; 0 means one
	Status   FireStatus `json:"status"`          // FireFailed or FireSkipped
	Why      string     `json:"why,omitempty"`   // why no run started, on one line
}

// MorningTask is a task in a morning report.
type MorningTask struct {
	Run     string      `json:"run"`
	Task    string      `json:"task"`
	Name    string      `json:"name,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Status  Status      `json:"status"`
	Class   string      `json:"class,omitempty"`  // failure class of a task that failed
	Why     string      `json:"why,omitempty"`    // reason, question, message or activity, on one line; the lists of MorningReport say which
	Into    string      `json:"into,omitempty"`   // branch that the change was merged into, or will be
	Review  ReviewState `json:"review,omitempty"` // state of the review, if there is one
	Changed int         `json:"changed,omitempty"`
	Added   int         `json:"added,omitempty"` // number of added lines
	Removed int         `json:"removed,omitempty"`
	Tries   int         `json:"tries"`
	Spent   Cost        `json:"spent,omitzero"` // cost of all ended attempts of the task, even of those before MorningReport.Since
	Item    *SourceItem `json:"item,omitempty"`
	At      time.Time   `json:"at,omitzero"` // when the task ended or was merged; zero if it has not ended
}

// SourceItem is the item from which a task was made, such as an issue of an issue tracker.
type SourceItem struct {
	Source string `json:"source"`
	ID     string `json:"id"`
	URL    string `json:"url,omitempty"`
	Title  string `json:"title,omitempty"`
}

// MorningRun is a run in a morning report.
type MorningRun struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Project   string    `json:"project,omitempty"`
	Status    Status    `json:"status"`
	StartedBy string    `json:"started_by,omitempty"` // "schedule NAME" or "source NAME"; empty if a user started the run
	Stopping  string    `json:"stopping,omitempty"`   // why no further task of the run starts; empty if tasks may start
	Counts    Counts    `json:"counts"`
	Cost      CostRow   `json:"cost"` // cost of the attempts that started at the time MorningReport.Since or later
	Created   time.Time `json:"created"`
	Ended     time.Time `json:"ended,omitzero"`
}

// MorningQuestion is a group of questions of agents that were answered in the same way.
type MorningQuestion struct {
	By      string `json:"by"`             // who answered, as in Answered.By; empty if the questions are open or were withdrawn
	Tool    string `json:"tool,omitempty"` // the tool that the agents asked permission for; empty if they asked something else
	Denied  bool   `json:"denied,omitempty"`
	Open    bool   `json:"open,omitempty"` // the questions wait for an answer
	Count   int    `json:"count"`
	Example string `json:"example"` // text of the question that was asked last, on one line
	Answer  string `json:"answer,omitempty"`
	Run     string `json:"run"` // run and task of the question in Example
	Task    string `json:"task"`
}

// MorningAccount says what the attempts of one account did. The attempts of an agent without
// accounts are listed under the agent's name.
type MorningAccount struct {
	Name     string    `json:"name"`
	Attempts int       `json:"attempts"`
	USD      *float64  `json:"usd"`               // null if no attempt has reported a cost
	Limited  int       `json:"limited,omitempty"` // number of attempts that ended because the account was at its rate limit
	Until    time.Time `json:"until,omitzero"`    // end of the pause of the account, if it is paused now
}
