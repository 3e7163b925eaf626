package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyError reports a key that not every database can store, because it contains a zero byte or is
// not valid UTF-8. Some other values are checked in the same way: the labels and the account of a
// task, and the kind of an event. Other texts are not checked, because they are stored as JSON,
// which escapes zero bytes.
type KeyError struct{ Kind, Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s %q: neither zero bytes nor bytes that are not UTF-8 can be in it", e.Kind, e.Key)
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *KeyError) Invalid() bool { return true }

// check returns a [*KeyError] if a key in one of the changed rows contains a zero byte or is not
// valid UTF-8.
func (r *rows) check() error {
	var bad error
	key := func(kind string, keys ...string) {
		for _, k := range keys {
			if bad == nil && (strings.IndexByte(k, 0) >= 0 || !utf8.ValidString(k)) {
				bad = &KeyError{kind, k}
			}
		}
	}
	for _, run := range r.runs.rows {
		key("run", run.ID)
	}
	for i := range r.tasks.rows {
		t := &r.tasks.rows[i]
		key("task", t.Run, t.Task, t.Labels, t.Account)
		if len(t.Needs) > 0 {
			key("task "+t.Task+": need", t.Needs...)
		}
	}
	for i := range r.attempts.rows {
		a := &r.attempts.rows[i]
		key("attempt", a.ID, a.Run, a.Task)
	}
	for _, q := range r.questions.rows {
		key("question", q.ID, q.Attempt)
	}
	key("worker", r.workers.keys...)
	key("lane", r.accounts.keys...)
	key("idempotency key", r.idempotencyRecords.keys...)
	key("cursor", r.cursors.keys...)
	for i := range r.items.rows {
		item := &r.items.rows[i].item
		key("item", item.Kind, item.ID, item.Parent)
	}
	for _, e := range r.events {
		key("event", e.Kind, e.Run, e.Task)
	}
	return bad
}
