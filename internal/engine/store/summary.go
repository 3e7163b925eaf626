package store

// Summaries is what a [Reader] may be as well, of a database that has the answers
// at less cost than the lists of rows.
type Summaries interface {
	// LatestRuns returns runs without their plans, the latest first, from one
	// of them on: all, or only those whose Status is Running.
	LatestRuns(running bool, from, limit int) ([]Run, error)
	// TaskCounts counts the tasks of a run by their status.
	TaskCounts(run string) (map[Status]int, error)
}
