package store

// Summaries is an optional interface of a [Reader]. A store implements it if it can answer these
// queries faster than by listing all rows.
type Summaries interface {
	// LatestRuns returns runs without their plans, latest first. It leaves out the first runs, as
	// many as skip says, and returns at most limit of the others. If running is set, it considers
	// only runs whose Status is Running.
	LatestRuns(running bool, skip, limit int) ([]Run, error)
	// TaskCounts returns how many tasks of a run have each status.
	TaskCounts(run string) (map[Status]int, error)
}
