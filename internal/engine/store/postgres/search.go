package postgres

import "gaffer/internal/engine/store"

var _ store.TaskSearcher = (*reader)(nil)

// TaskIDsLike implements [store.TaskSearcher].
func (r *reader) TaskIDsLike(run string, patterns []string, limit int) (ids []string, err error) {
	rows, err := r.rowsNow("SELECT task FROM task WHERE run = $1 AND task ILIKE ALL ($2::text[]) ORDER BY task LIMIT $3", run, patterns, limit)
	for _, row := range rows {
		ids = append(ids, string(row[0]))
	}
	return ids, err
}

// TasksLike implements [store.TaskSearcher].
func (r *reader) TasksLike(run string, patterns []string) ([]store.Task, error) {
	return decodeTasks(r.rowsNow(`SELECT data, spec FROM task t WHERE run = $1
		AND (SELECT bool_and(t.data::text ILIKE p OR t.spec::text ILIKE p
			OR EXISTS (SELECT 1 FROM attempt a WHERE a.run = t.run AND a.task = t.task AND a.data::text ILIKE p))
			FROM unnest($2::text[]) AS p)
		ORDER BY seq`, run, patterns))
}
