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

// session is a writing transaction. There is one at a time over all processes, because
// each locks the row of last_event. While no other process writes, a session that finds
// everything in its cache locks that row only when it commits. The commit fails if
// another process has written in the meantime.
type session struct {
	memo.Reader
	stored *reader
	store  *Store
	locked bool // this session has locked the row of last_event
	shown  bool // requests have read from the cache
	err    error
	ctx    context.Context // not the context of a request: several requests share the session
	cancel context.CancelFunc
}

// known is the cache that is kept between sessions, and the state that it is valid for.
type known struct {
	head
	seen  *memo.Seen // nil if empty
	ready *ready
	whole *memo.Rows[string, []store.TaskKey] // all tasks of a run
	alone bool                                // no other process has written lately
}

// head is the row of last_event, which every session locks.
type head struct {
	seq int64 // of the last event
	// A new random value for each session that has written.
	stamp int64
}

// begin waits until no other session of this process is open. It then yields, so that
// callers which have just received an answer run first: most of them send a new request
// at once.
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

// remember attaches the cache to the session.
func (s *session) remember() {
	if s.store.known.seen == nil {
		k := &s.store.known
		k.seen, k.ready, k.whole = memo.NewSeen(0), &ready{}, &memo.Rows[string, []store.TaskKey]{Limit: maxRuns}
	}
	s.stored = s.store.newReader(s.ctx, s)
	s.Reader = memo.Reader{Reader: s.stored, Seen: s.store.known.seen}
}

// lock locks the row of last_event, unless this session has already done so. If other
// processes have written, it clears the cache. If a request has already read from the
// cache, the session is stale and lock returns [store.ErrStale].
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

// Query locks the session and queries the database. Only lookups that the cache cannot
// answer get here.
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

// Send implements [store.Sender]. It sends all statements and the commit in one
// exchange with the server.
func (s *session) Send(c store.Changes) (answer func() error) {
	after := head{seq: s.store.known.seq + int64(len(c.Events)), stamp: rand.Int64()}
	w := &write{session: s, message: message{b: s.store.message[:0]}}
	w.all(c, after)
	if !s.locked && s.store.doubt.Load() {
		s.err = store.ErrStale // an earlier session that this one is based on was not stored
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

// Rollback implements [store.Session]. Answers from the cache are valid only if no
// other process has written, so it checks that.
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
		_ = s.store.line.hangUp() // this ends the transaction
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
