package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyError is a key or a name that not every database can hold. Texts that are
// not looked up by may hold anything.
type KeyError struct{ Kind, Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s %q: neither zero bytes nor bytes that are not UTF-8 can be in it", e.Kind, e.Key)
}

// Invalid marks the error as one about what was given.
func (e *KeyError) Invalid() bool { return true }

// check looks at all keys of the rows.
func (r *rows) check() error {
	var bad error
	key := func(kind string, keys ...string) {
		for _, k := range keys {
			if bad == nil && (strings.IndexByte(k, 0) >= 0 || !utf8.ValidString(k)) {
				bad = &KeyError{kind, k}
			}
		}
	}
	for _, run := range r.runs.byKey {
		key("run", run.ID)
	}
	for _, t := range r.tasks.byKey {
		key("task", t.Run, t.Task, t.Labels, t.Lane)
		key("task "+t.Task+": need", t.Needs...)
	}
	for _, a := range r.attempts.byKey {
		key("attempt", a.ID, a.Run, a.Task)
	}
	for _, q := range r.questions.byKey {
		key("question", q.ID, q.Attempt)
	}
	key("worker", r.workers.order...)
	key("lane", r.lanes.order...)
	key("idempotency key", r.promises.order...)
	key("cursor", r.cursors.order...)
	for _, e := range r.events {
		key("event", e.Kind, e.Run, e.Task)
	}
	return bad
}
