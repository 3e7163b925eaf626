package sqlite

import "gaffer/internal/engine/store"

var _ store.Summaries = (*reader)(nil)

// LatestRuns implements [store.Summaries].
func (r *reader) LatestRuns(running bool, from, limit int) ([]store.Run, error) {
	if running {
		return many[store.Run](r.c, "SELECT data FROM run WHERE status = 'running' ORDER BY created DESC, id DESC LIMIT ?+0 OFFSET ?+0", limit, from)
	}
	return many[store.Run](r.c, "SELECT data FROM run ORDER BY created DESC, id DESC LIMIT ?+0 OFFSET ?+0", limit, from)
}

// TaskCounts implements [store.Summaries].
func (r *reader) TaskCounts(run string) (map[store.Status]int, error) {
	counts := map[store.Status]int{}
	err := r.c.each("SELECT status, count(*) FROM task WHERE run = ? GROUP BY status", func(scan func(...any) error) error {
		var status string
		var n int
		err := scan(&status, &n)
		counts[store.Status(status)] = n
		return err
	}, run)
	return counts, err
}
