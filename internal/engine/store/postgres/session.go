package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// session is a transaction that writes. There is one at a time, over all
// processes: each holds the row of last_event. As long as nobody else writes,
// one that finds all it needs in memory takes that row only with its commit,
// which fails if somebody has written.
type session struct {
	memo.Reader
	stored *reader
	store  *Store
	locked bool // the row of last_event is ours
	shown  bool // requests have seen what is remembered
	err    error
	ctx    context.Context // not that of a request: others are in the session too
	cancel context.CancelFunc
}

// known is what is remembered between sessions, and what it holds for.
type known struct {
	head
	seen  *memo.Seen // nil for nothing
	ready *ready
	whole *memo.Rows[string, []store.TaskKey] // all tasks of a run
	alone bool                                // nobody else has written lately
}

// head is the row that all sessions wait for.
type head struct {
	seq int64 // of the last event
	// Another one for each session that has written.
	stamp int64
}

// begin waits until no other session of this process is open. Those who have
// just had their answer are let go first: most of them come back at once.
func (s *Store) begin(ctx context.Context) (store.Session, error) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	session, err := s.beginOn(ctx)
	if err != nil {
		<-s.open
		return nil, err
	}
	runtime.Gosched()
	return session, nil
}

func (s *Store) beginOn(ctx context.Context) (*session, error) {
	if s.closed {
		return nil, errClosed
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	session := &session{store: s}
	session.ctx, session.cancel = context.WithTimeout(context.Background(), maxStatement)
	if s.doubt.Swap(false) {
		s.known = known{}
	}
	session.remember()
	if s.known.alone && s.line.quiet() {
		return session, nil
	}
	if err := session.lock(); err != nil {
		session.end()
		return nil, err
	}
	return session, nil
}

// remember lets the session see what is remembered.
func (s *session) remember() {
	if s.store.known.seen == nil {
		k := &s.store.known
		k.seen, k.ready, k.whole = memo.NewSeen(0), &ready{}, &memo.Rows[string, []store.TaskKey]{Limit: maxRuns}
	}
	s.stored = s.store.newReader(s.ctx, s)
	s.Reader = memo.Reader{Reader: s.stored, Seen: s.store.known.seen}
}

// lock takes the row that all sessions wait for, unless it is ours. If others
// have written, everything is forgotten; if a request has seen it, that is too
// late.
func (s *session) lock() error {
	if s.locked || s.err != nil {
		return s.err
	}
	s.store.line.land()
	found, err := s.store.line.lock(s.ctx)
	if err != nil {
		s.err = err
		return err
	}
	s.locked = true
	was := &s.store.known
	if was.head == found {
		was.alone = true
		return nil
	}
	s.store.known = known{head: found}
	if s.shown {
		s.err = store.ErrStale
	}
	s.remember()
	return s.err
}

// Query asks the database, as no session in memory can.
func (s *session) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	return s.store.line.conn.Query(ctx, query, args...)
}

// LastSeq implements [store.Reader].
func (s *session) LastSeq() (int64, error) { return s.store.known.seq, nil }

// Commit implements [store.Session].
func (s *session) Commit(c store.Changes) error { return s.Send(c)() }

// Send implements [store.Sender]. All statements and the commit are one exchange
// with the server.
func (s *session) Send(c store.Changes) (answer func() error) {
	after := head{seq: s.store.known.seq + int64(len(c.Events)), stamp: rand.Int64()}
	w := &write{session: s, message: message{b: s.store.message[:0]}}
	w.all(c, after)
	if !s.locked && s.store.doubt.Load() {
		s.err = store.ErrStale // what it was made on was not stored
	}
	if err := errors.Join(s.err, w.message.err); err != nil {
		s.shown = false
		err = errors.Join(err, s.Rollback())
		return func() error { return err }
	}
	answer = s.store.line.send(s, w)
	s.store.known.head = after
	s.applied(c)
	s.Seen.EndSession()
	<-s.store.open
	return answer
}

// Rollback implements [store.Session]. What was answered from memory holds only
// if nobody has written.
func (s *session) Rollback() error {
	defer func() { <-s.store.open }()
	defer s.end()
	err := s.err
	if s.shown {
		err = s.lock()
	}
	if !s.locked {
		return err
	}
	if _, failed := s.store.line.conn.Exec(s.ctx, "ROLLBACK"); failed != nil {
		s.store.known = known{}
		_ = s.store.line.hangUp() // which ends the transaction
		return errors.Join(err, s.store.fail(failed))
	}
	s.store.known.seen.EndSession()
	return err
}

// end makes room for another session.
func (s *session) end() {
	s.cancel()
	<-s.store.slots
}
