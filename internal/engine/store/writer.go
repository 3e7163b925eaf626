package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gaffer/statefile/group"
)

// Writer is the writing half of a store: it puts requests that wait at the same
// time into one session, so that they share one commit.
type Writer struct {
	// Open begins a session and waits until no other process has one.
	Open func(ctx context.Context) (Session, error)
	// Committed is told the number of the last event after a commit.
	Committed func(lastSeq int64)
	// AtOnce is how many sessions may be under way at once, of a database whose
	// sessions are a [Sender]. They share the requests evenly.
	AtOnce int

	group   group.Group[*request]
	tickets atomic.Int64
	flying  atomic.Int64 // requests whose session is sent and not answered
}

type request struct {
	ticket int64 // the lower one is older
	need   Need
	change func(tx *Tx) error
	err    error // that of change
	alone  bool  // it gets a session of its own
	sent   sent
}

// sent is a commit that is on its way.
type sent struct {
	answer func() error // waits for it, and is the same for all who share it
	shared bool
}

// Write implements [Store].
func (w *Writer) Write(ctx context.Context, need Need, change func(tx *Tx) error) error {
	r := &request{ticket: w.tickets.Add(1), need: need, change: change, alone: need.Alone}
	for {
		r.sent = sent{}
		if err := w.group.Do(ctx, r, &leader{writer: w}); err != nil {
			return err
		}
		if r.sent.answer == nil {
			continue // it is one of those that were left for the next session
		}
		if again, err := r.answered(); !again {
			return err
		}
	}
}

// answered waits until it is known what became of the session that r was in. If
// the database refused it, each request is made again in a session of its own,
// so that one cannot spoil another, unless that would help nobody.
func (r *request) answered() (again bool, err error) {
	err = r.sent.answer()
	var unknown *CommitError
	var busy interface{ Busy() bool }
	switch {
	case err == nil:
		return false, r.err
	case errors.Is(err, ErrStale):
		return true, nil
	case r.sent.shared && !errors.As(err, &unknown) && !errors.As(err, &busy):
		r.alone = true
		return true, nil
	}
	return false, err
}

// ErrStale is a session that has shown rows which were not so any more. Nothing
// of it was written, and what it has answered does not count.
var ErrStale = errors.New("others have written meanwhile")

// Sender is a [Session] whose commit can be waited for while the next session
// is under way. That one sees what this one has sent; should it not be stored in
// the end, the other is stale, by itself.
type Sender interface {
	// Send is Commit up to the answer, which must be waited for. The session
	// has ended for everybody but who does that.
	Send(Changes) (answer func() error)
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

// Work makes the changes of all. What became of them is for each request to
// wait for; only a session that another of this leader follows is waited for
// here, since those in it cannot do so yet.
func (l *leader) Work(batch []*request) []error {
	all := parts(l.writer.share(batch))
	for i, part := range all {
		s := sent{answer: l.commit(part), shared: len(part) > 1}
		for _, r := range part {
			r.sent = s
		}
		if i < len(all)-1 {
			_ = s.answer()
		}
	}
	return make([]error, len(batch))
}

// minShare is how many requests are worth a session of their own while another
// one is under way.
const minShare = 4

// share returns the oldest requests of a batch, as many as make this session and
// those on their way equal. If one had nearly all of them, the server would have
// little to do while the next is made.
func (w *Writer) share(batch []*request) []*request {
	if w.AtOnce < 2 || slices.ContainsFunc(batch, func(r *request) bool { return r.alone }) {
		return batch
	}
	share := (len(batch) + int(w.flying.Load()) + w.AtOnce - 1) / w.AtOnce
	if share = max(share, minShare); share >= len(batch) {
		return batch
	}
	slices.SortFunc(batch, func(a, b *request) int { return cmp.Compare(a.ticket, b.ticket) })
	return batch[:share]
}

// parts puts those that need not be alone together.
func parts(batch []*request) (parts [][]*request) {
	var together []*request
	for _, r := range batch {
		if r.alone {
			parts = append(parts, []*request{r})
		} else {
			together = append(together, r)
		}
	}
	if len(together) > 0 {
		parts = append(parts, together)
	}
	return parts
}

// commit runs the requests one after the other. The answer's error is one that
// no single request is known to have caused.
func (l *leader) commit(batch []*request) (answer func() error) {
	last, err := l.begin(batch)
	if err != nil {
		return func() error { return err }
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
		if !r.alone && !tx.mine.gone.Empty() {
			r.err = errShared
			continue
		}
		last += int64(len(tx.mine.events))
		all.takeIn(&tx.mine, len(batch))
		changed = true
	}
	session := l.session
	l.session = nil
	if !changed {
		err := session.Rollback()
		return func() error { return err }
	}
	return l.writer.send(session, all.changes(), last, len(batch))
}

// begin opens a session, unless there is one, and returns the number of the last
// event.
func (l *leader) begin(batch []*request) (last int64, err error) {
	if l.session == nil {
		if l.session, err = l.writer.Open(context.Background()); err != nil {
			return 0, err
		}
	}
	if err := l.session.Prefetch(needOf(batch)); err != nil {
		return 0, l.giveUp(err)
	}
	if last, err = l.session.LastSeq(); err != nil {
		return 0, l.giveUp(err)
	}
	return last, nil
}

// send commits a session and tells of it when it is known to be durable.
func (w *Writer) send(session Session, c Changes, last int64, requests int) (answer func() error) {
	wait := w.depart(session, c, int64(requests))
	return sync.OnceValue(func() error {
		err := wait()
		if err == nil && w.Committed != nil {
			w.Committed(last)
		}
		return err
	})
}

// depart commits a session, at least up to the answer.
func (w *Writer) depart(session Session, c Changes, requests int64) (wait func() error) {
	sender, ok := session.(Sender)
	if !ok {
		err := session.Commit(c)
		return func() error { return err }
	}
	w.flying.Add(requests)
	answer := sender.Send(c)
	return func() error {
		defer w.flying.Add(-requests)
		return answer()
	}
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
		all.Workers = append(all.Workers, r.need.Workers...)
		all.Items = append(all.Items, r.need.Items...)
		all.Claims += r.need.Claims
	}
	return all
}
