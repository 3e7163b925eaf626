package store

// Summaries is an optional interface of a [Reader]. A store implements it if it can answer these
// queries faster than by listing all rows.
type Summaries interface {
	// LatestRuns skips the first from runs, and returns at most limit of the runs after them,
	// latest first and without their plans. If running is set, runs that are not Running are left
	// out.
	LatestRuns(running bool, from, limit int) ([]Run, error)
	// TaskCounts returns how many tasks of a run have each status.
	TaskCounts(run string) (map[Status]int, error)
}
