package session

import (
	"time"

	"gaffer/statefile/jsontree"
)

// SetDerived exports setDerived for a fuzz test that uses no files.
func SetDerived(doc *jsontree.Doc, now time.Time) { setDerived(doc.Root(), now) }

// CachedDocuments returns the number of sessions whose document the store holds in memory.
func (s *Store) CachedDocuments() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}

// Build checks a draft and builds its document.
func Build(d Draft, id string, now time.Time) ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return d.build(id, "status", now)
}
