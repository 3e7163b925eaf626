package session

import (
	"time"

	"gaffer/statefile/jsontree"
)

// Settle is settle, for a fuzz test without files.
func Settle(doc *jsontree.Doc, now time.Time) { settle(doc.Root(), now) }

// Build checks a draft and builds its document.
func Build(d Draft, id string, now time.Time) ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return d.build(id, "status", now)
}
