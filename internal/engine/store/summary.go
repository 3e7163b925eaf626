package store

// Summaries is an optional interface of a [Reader]. Databases implement it to answer these
// queries faster than by listing all rows.
type Summaries interface {
	// LatestRuns returns at most limit runs without their plans, latest first, skipping
	// the first from runs. If running is set, it returns only those whose Status is
	// Running.
	LatestRuns(running bool, from, limit int) ([]Run, error)
	// TaskCounts counts the tasks of a run by their status.
	TaskCounts(run string) (map[Status]int, error)
}
