package postgres

import "gaffer/internal/engine/store"

var _ store.Summaries = (*reader)(nil)

// LatestRuns implements [store.Summaries].
func (r *reader) LatestRuns(running bool, from, limit int) ([]store.Run, error) {
	if running {
		return many[store.Run](r, "SELECT data FROM run WHERE status = 'running' ORDER BY created DESC, id DESC LIMIT $1 OFFSET $2", limit, from)
	}
	return many[store.Run](r, "SELECT data FROM run ORDER BY created DESC, id DESC LIMIT $1 OFFSET $2", limit, from)
}

// TaskCounts implements [store.Summaries].
func (r *reader) TaskCounts(run string) (map[store.Status]int, error) {
	return r.counts("SELECT status, count(*)::text FROM task WHERE run = $1 GROUP BY status", run)
}
