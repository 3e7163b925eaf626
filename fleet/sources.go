package fleet

import "time"

// WatchedSource is a source of work, such as the issues of a repository, that a server looks at again
// and again.
type WatchedSource struct {
	Name    string `json:"name"`
	From    string `json:"from"`              // the source, such as "gh:ada/shop label:agent"
	Plan    string `json:"plan,omitempty"`    // plan file with default settings for the tasks that are made from items
	Project string `json:"project,omitempty"` // folder in which the runs work
	Every   string `json:"every"`             // how often the server looks, such as "10m0s"

	LastLook time.Time `json:"last_look,omitzero"` // when a server last looked for new items; zero if none has looked yet
	NextLook time.Time `json:"next_look,omitzero"`
	Taken    int       `json:"taken"`              // how many items were turned into tasks so far
	LastRun  string    `json:"last_run,omitempty"` // id of the run that was started last
	Failures int       `json:"failures,omitempty"` // how many looks have failed since the last one that succeeded
	Error    string    `json:"error,omitempty"`    // why the last look failed; empty if it succeeded
}

// Sources holds the watched sources, and the reports that were not sent to their sources yet.
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
	Tries  int       `json:"tries"`           // how often a process has tried to send the report
	Next   time.Time `json:"next,omitzero"`   // when the next try may begin; zero if no try has failed
	Error  string    `json:"error,omitempty"` // why the last try failed
}
