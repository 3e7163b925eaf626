package fleet

import "time"

// WatchedSource is an external source of tasks, such as the issues of a repository. A server
// regularly looks for new items, such as new issues, and makes tasks from them.
type WatchedSource struct {
	Name string `json:"name"`
	From string `json:"from"` // where the items are, such as "gh:ada/shop label:agent" for issues on GitHub
	// Plan is a plan file with default settings for the tasks that are made from the source's
	// items.
	Plan    string `json:"plan,omitempty"`
	Project string `json:"project,omitempty"` // folder in which the runs work
	Every   string `json:"every"`             // time between two looks for new items, such as "10m0s"

	LastLook time.Time `json:"last_look,omitzero"` // when a server last looked for new items; zero means never
	NextLook time.Time `json:"next_look,omitzero"`
	Taken    int       `json:"taken"`              // number of tasks that were made from the source's items
	LastRun  string    `json:"last_run,omitempty"` // id of the last run whose tasks were made from the source's items
	Failures int       `json:"failures,omitempty"` // how many times in a row gaffer has failed to look for new items
	Error    string    `json:"error,omitempty"`    // why the last look for new items failed; empty if it succeeded
}

// Sources holds the sources of tasks that a server watches, such as issue trackers. It also holds
// the reports about ended tasks that gaffer has not sent to these sources yet.
type Sources struct {
	Sources []WatchedSource `json:"sources"`
	Reports []SourceReport  `json:"reports"`
}

// SourceReport reports that a task has ended. It is sent to the source of the item from which the
// task was made.
type SourceReport struct {
	Run    string    `json:"run"`
	Task   string    `json:"task"`
	Source string    `json:"source"`
	Item   string    `json:"item"`
	Status Status    `json:"status"`
	Ended  time.Time `json:"ended"`
	Tries  int       `json:"tries"`           // how many times gaffer has tried to send the report
	Next   time.Time `json:"next,omitzero"`   // earliest time of the next try; zero if no try has failed
	Error  string    `json:"error,omitempty"` // why the last try to send the report failed
}
