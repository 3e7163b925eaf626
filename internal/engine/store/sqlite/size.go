package sqlite

import (
	"context"
	"errors"
)

// Size returns the size of the database file, and how much of it is unused, in bytes. SQLite reuses
// the space of deleted rows, but does not make the file smaller.
func (s *Store) Size(ctx context.Context) (total, free int64, err error) {
	c, err := s.reads.take(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer s.reads.giveBack(c)
	total, free, err = c.size()
	return total, free, err
}

func (c *conn) size() (total, free int64, err error) {
	var page, pages, unused int64
	err = errors.Join(
		c.get("PRAGMA page_size", []any{&page}),
		c.get("PRAGMA page_count", []any{&pages}),
		c.get("PRAGMA freelist_count", []any{&unused}),
	)
	return page * pages, page * unused, err
}
