package store

// Summaries is an optional interface of a [Reader]. A reader implements it if it can answer these
// queries faster than by listing all rows.
type Summaries interface {
	// LatestRuns returns at most limit runs, latest first and without their plans. The parameter
	// skip is the number of runs to leave out at the beginning. If running is set, it considers
	// only runs whose Status is Running.
	LatestRuns(running bool, skip, limit int) ([]Run, error)
	// TaskCounts returns how many tasks of a run have each status.
	TaskCounts(run string) (map[Status]int, error)
}
