package store

import (
	"context"
	"errors"
	"fmt"

	"gaffer/statefile/group"
)

// Writer is the writing half of a store: it puts requests that wait at the same
// time into one session, so that they share one commit.
type Writer struct {
	// Open begins a session and waits until no other process has one.
	Open func(ctx context.Context) (Session, error)
	// Committed is told the number of the last event after a commit.
	Committed func(lastSeq int64)

	group group.Group[*request]
}

type request struct {
	need   Need
	change func(tx *Tx) error
	err    error
}

// Write implements [Store].
func (w *Writer) Write(ctx context.Context, need Need, change func(tx *Tx) error) error {
	return w.group.Do(ctx, &request{need: need, change: change}, &leader{writer: w})
}

// CommitError is a commit that failed. Whether it was made is not known: the
// database may have lost only its answer. A request with an idempotency key may
// be made again; one without must not be made again unasked.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return "commit: " + e.Err.Error() }

func (e *CommitError) Unwrap() error { return e.Err }

// leader makes the changes of all who wait. It is a [group.Leader].
type leader struct {
	writer  *Writer
	session Session // nil when none is open
}

// Prepare opens the session.
func (l *leader) Prepare(ctx context.Context, _ *request) (func(), error) {
	var err error
	l.session, err = l.writer.Open(ctx)
	return l.release, err
}

// release ends a session that a panic has left open.
func (l *leader) release() {
	if l.session != nil {
		_ = l.session.Rollback() // the panic says more
	}
}

// Work makes the changes and commits them together. If the database refuses
// them, each is made again in a session of its own, so that one cannot spoil
// another.
func (l *leader) Work(batch []*request) []error {
	err := l.commit(batch)
	var unknown *CommitError
	switch {
	case err == nil:
	case len(batch) > 1 && !errors.As(err, &unknown):
		l.each(batch)
	default:
		for _, r := range batch {
			if r.err == nil {
				r.err = err
			}
		}
	}
	errs := make([]error, len(batch))
	for i, r := range batch {
		errs[i] = r.err
	}
	return errs
}

func (l *leader) each(batch []*request) {
	for _, r := range batch {
		r.err = nil
		session, err := l.writer.Open(context.Background())
		if err == nil {
			l.session = session
			err = l.commit([]*request{r})
		}
		if err != nil {
			r.err = err
		}
	}
}

// commit runs the requests one after the other. Its error is one that no single
// request is known to have caused.
func (l *leader) commit(batch []*request) error {
	if err := l.session.Prefetch(needOf(batch)); err != nil {
		return l.giveUp(err)
	}
	last, err := l.session.LastSeq()
	if err != nil {
		return l.giveUp(err)
	}
	var all rows
	changed := false
	for _, r := range batch {
		tx := &Tx{session: l.session, rows: &all, lastSeq: &last}
		if r.err = r.change(tx); r.err != nil {
			continue
		}
		if r.err = tx.mine.check(); r.err != nil {
			continue
		}
		last += int64(len(tx.mine.events))
		all.takeIn(&tx.mine)
		changed = true
	}
	session := l.session
	l.session = nil
	if !changed {
		return session.Rollback()
	}
	if err := session.Commit(all.changes()); err != nil {
		return err
	}
	if l.writer.Committed != nil {
		l.writer.Committed(last)
	}
	return nil
}

func (l *leader) giveUp(err error) error {
	session := l.session
	l.session = nil
	if rollback := session.Rollback(); rollback != nil {
		return fmt.Errorf("%w (and rollback: %w)", err, rollback)
	}
	return err
}

func needOf(batch []*request) (all Need) {
	for _, r := range batch {
		all.Promises = append(all.Promises, r.need.Promises...)
		all.Attempts = append(all.Attempts, r.need.Attempts...)
		all.Runs = append(all.Runs, r.need.Runs...)
		all.Claims += r.need.Claims
	}
	return all
}
