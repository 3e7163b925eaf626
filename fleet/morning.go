package fleet

import "time"

// MorningQuery selects the project and the period of a morning report, which tells a user what
// happened while the user was away.
type MorningQuery struct {
	Project string    // path or name of the project to report on; empty means all projects
	Since   time.Time // start of the period
}

// MorningStart returns the default start of the period of a morning report: 18:00 on the day before
// now, in the time zone of now.
func MorningStart(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d-1, 18, 0, 0, 0, now.Location())
}

// MorningReport says what has happened to tasks since the time Since, for a user who was away. A
// task is in at most one of the lists Merged to Skipped. A task that ended before Since is left
// out, unless its change was merged or discarded after Since. Tasks that only merge branches are
// left out too. If several agents have worked on the same task in competition, the report has only
// one task for them.
type MorningReport struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // when the report was made

	Merged  []MorningTask `json:"merged"`  // tasks whose change was merged
	Review  []MorningTask `json:"review"`  // complete tasks whose change waits for the user
	Done    []MorningTask `json:"done"`    // complete tasks without a change to merge; MorningTask.Why is the agent's last message
	Failed  []MorningTask `json:"failed"`  // failed tasks; MorningTask.Why is the reason
	Waiting []MorningTask `json:"waiting"` // tasks whose agent waits for the user; MorningTask.Why is the question
	Running []MorningTask `json:"running"` // running and queued tasks; MorningTask.Why says what they do or wait for
	Skipped []MorningTask `json:"skipped"` // cancelled tasks, and tasks whose change was discarded; MorningTask.Why is the reason

	Cost CostRow `json:"cost"` // cost of all attempts that started at or after Since
	// Runs has the runs of all tasks and attempts in this report, and runs that were created at or
	// after Since. The latest run comes first.
	Runs      []MorningRun      `json:"runs"`
	Questions []MorningQuestion `json:"questions"`
	// Accounts lists the user's accounts at model providers: those used by attempts that started at
	// or after Since, and those that gaffer has paused now, for example because of a rate limit. It
	// is sorted by name.
	Accounts []MorningAccount `json:"accounts"`
	// NotStarted has the planned times at which a schedule started no run, earliest first.
	NotStarted []MorningFire `json:"not_started"`
}

// MorningFire is a planned time at which a schedule started no run. A schedule starts runs of a
// plan at regular times.
type MorningFire struct {
	Schedule string    `json:"schedule"` // name of the schedule
	Planned  time.Time `json:"planned"`
	// Count is the number of successive planned times without a run, of which Planned is the last.
	// 0 means one.
	Count  int        `json:"count,omitempty"`
	Status FireStatus `json:"status"`        // FireFailed or FireSkipped
	Why    string     `json:"why,omitempty"` // why no run started, on one line
}

// MorningTask is a task in a morning report.
type MorningTask struct {
	Run     string      `json:"run"`
	Task    string      `json:"task"`
	Name    string      `json:"name,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Status  Status      `json:"status"`
	Class   string      `json:"class,omitempty"`  // failure class of a failed task, such as timeout
	Why     string      `json:"why,omitempty"`    // one line of text; the lists of MorningReport say what it means
	Into    string      `json:"into,omitempty"`   // target branch of the change
	Review  ReviewState `json:"review,omitempty"` // state of the user's review of the change; empty if there is no review
	Changed int         `json:"changed,omitempty"`
	Added   int         `json:"added,omitempty"` // number of added lines
	Removed int         `json:"removed,omitempty"`
	Tries   int         `json:"tries"`
	Spent   Cost        `json:"spent,omitzero"` // cost of all ended attempts of the task, including those before MorningReport.Since
	Item    *SourceItem `json:"item,omitempty"`
	At      time.Time   `json:"at,omitzero"` // when the task ended, or its change was merged or discarded; zero if it has not ended
}

// SourceItem is the item of an external source from which a task was made, such as an issue of an
// issue tracker.
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
	StartedBy string    `json:"started_by,omitempty"` // "schedule NAME" or "source NAME" (such as an issue tracker); empty if started by a user
	Stopping  string    `json:"stopping,omitempty"`   // why no further task of the run starts; empty if tasks may start
	Counts    Counts    `json:"counts"`
	Cost      CostRow   `json:"cost"` // cost of the attempts that started at or after MorningReport.Since
	Created   time.Time `json:"created"`
	Ended     time.Time `json:"ended,omitzero"`
}

// MorningQuestion counts the questions of agents that have the same values of By, Tool, Denied and
// Open.
type MorningQuestion struct {
	By      string `json:"by"`             // who answered the questions, as in Answered.By; empty if nobody did
	Tool    string `json:"tool,omitempty"` // tool that the agents asked permission for; empty for other questions
	Denied  bool   `json:"denied,omitempty"`
	Open    bool   `json:"open,omitempty"` // the questions still wait for an answer
	Count   int    `json:"count"`
	Example string `json:"example"` // text of the question that was asked last, on one line
	Answer  string `json:"answer,omitempty"`
	Run     string `json:"run"` // run and task of the question in Example
	Task    string `json:"task"`
}

// MorningAccount counts the attempts that used one of the user's accounts at a model provider.
// Attempts with the account that the agent program is logged in to are counted under the agent's
// name.
type MorningAccount struct {
	Name     string    `json:"name"`
	Attempts int       `json:"attempts"`
	USD      *float64  `json:"usd"`               // cost of the attempts; null if none has reported a cost
	Limited  int       `json:"limited,omitempty"` // number of attempts that ended because of the account's rate limit
	Until    time.Time `json:"until,omitzero"`    // when the pause ends, if gaffer has paused the account now
}
