package sqlite

import (
	"strings"

	"gaffer/internal/engine/store"
)

var _ store.TaskSearcher = (*reader)(nil)

// TaskIDsLike implements [store.TaskSearcher]. The query reads only the index task_key, which is
// faster than reading the table.
func (r *reader) TaskIDsLike(run string, patterns []string, limit int) (ids []string, err error) {
	query := "SELECT task FROM task WHERE run = ?" + strings.Repeat(" AND task LIKE ?", len(patterns)) + " ORDER BY task LIMIT ?+0"
	args := []any{run}
	for _, p := range patterns {
		args = append(args, p)
	}
	err = r.c.each(query, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, append(args, limit)...)
	return ids, err
}

// TasksLike implements [store.TaskSearcher].
func (r *reader) TasksLike(run string, patterns []string) ([]store.Task, error) {
	const like = ` AND (t.data LIKE ? OR t.spec LIKE ?
		OR EXISTS (SELECT 1 FROM attempt a WHERE a.run = t.run AND a.task = t.task AND a.data LIKE ?))`
	args := []any{run}
	for _, p := range patterns {
		args = append(args, p, p, p)
	}
	return r.tasks("SELECT data, spec FROM task t WHERE run = ?"+strings.Repeat(like, len(patterns))+" ORDER BY seq", args...)
}
