package postgres

import (
	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
)

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
	rows, err := r.db.Query(r.ctx, "SELECT status, count(*)::int FROM task WHERE run = $1 GROUP BY status", run)
	if err != nil {
		return nil, r.store.fail(err)
	}
	counts := map[store.Status]int{}
	var status string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&status, &n}, func() error {
		counts[store.Status(status)] = n
		return nil
	})
	return counts, r.store.fail(err)
}
