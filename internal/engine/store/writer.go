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

// Writer is the writing half of a store. It puts requests that wait at the same time
// into one session, so that they share one commit.
type Writer struct {
	// Open begins a session. It waits until no other process has one.
	Open func(ctx context.Context) (Session, error)
	// Committed is called with the number of the last event after each commit.
	Committed func(lastSeq int64)
	// AtOnce is the maximum number of concurrent sessions, for databases whose sessions
	// implement [Sender]. The sessions share the requests evenly.
	AtOnce int

	group   group.Group[*request]
	tickets atomic.Int64
	flying  atomic.Int64 // requests whose session was sent and not yet answered
}

type request struct {
	ticket int64 // arrival order; lower is older
	need   Need
	change func(tx *Tx) error
	err    error // the error that change returned
	alone  bool  // it needs a session of its own
	sent   sent
}

// sent is a commit in progress.
type sent struct {
	answer func() error // waits for the result; shared by all requests of the session
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
			continue // the request was left for the next session
		}
		if again, err := r.answered(); !again {
			return err
		}
	}
}

// answered waits for the result of r's session. If the database rejected the session,
// each request is repeated in a session of its own, so that one request cannot make
// another fail. It is not repeated if the result is unknown or the database is busy.
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

// ErrStale reports that a session has read rows which had already changed. Nothing of
// the session was written, and its requests must run again.
var ErrStale = errors.New("others have written meanwhile")

// Sender is a [Session] whose commit can be awaited while the next session is in
// progress. The next session sees the sent changes. If they are not stored in the end,
// the next session becomes stale automatically.
type Sender interface {
	// Send starts the commit and returns a function that waits for its result, which
	// must be called. After Send, only that function may use the session.
	Send(Changes) (answer func() error)
}

// CommitError is a failed commit with an unknown result: only the database's reply may
// have been lost. A request with an idempotency key may be repeated; others must not be
// repeated automatically.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return "commit: " + e.Err.Error() }

func (e *CommitError) Unwrap() error { return e.Err }

// leader makes the changes of all waiting requests. It is a [group.Leader].
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

// release rolls back a session that a panic has left open.
func (l *leader) release() {
	if l.session != nil {
		_ = l.session.Rollback() // the panic is more important than this error
	}
}

// Work makes the changes of all requests. Each request waits for the result itself.
// Work waits only for sessions that are followed by another session of this leader,
// because the requests in them cannot wait yet.
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

// minShare is the minimum number of requests for a session while another one is in
// progress.
const minShare = 4

// share returns the oldest requests of a batch, so many that this session and the sent
// ones have equal size. If one session had nearly all requests, the database server
// would be idle while the next one is prepared.
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

// parts splits a batch into sessions: one for each request that must be alone, and one
// for all others.
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

// commit runs the requests one after the other and sends the session. The returned
// function reports an error that no single request is known to have caused.
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

// begin opens a session, if none is open, and returns the number of the last event.
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

// send commits a session. When the commit is durable, it calls Committed.
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

// depart starts the commit of a session and returns a function that waits for the
// result.
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
