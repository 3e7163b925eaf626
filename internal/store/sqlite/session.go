package sqlite

import (
	"context"
	"errors"
	"runtime"

	"gaffer/internal/store"
	"gaffer/internal/store/memo"
	"gaffer/statefile/host"
)

// session is a write transaction. There is one at a time, over all processes.
type session struct {
	memo.Reader
	stored *reader
	store  *Store
	turn   host.Lock
}

// begin waits until no other session is open, and until no more than one is on its
// way to the disk: none if only a few requests wait, which had better share a
// session with those who come meanwhile. Those who have just had their answer are
// let go first: most of them come back at once.
func (s *Store) begin(ctx context.Context) (store.Session, error) {
	if err := enter(ctx, s.slots); err != nil {
		return nil, err
	}
	if s.writer.Waiting() < worthwhile {
		if err := enter(ctx, s.slots); err != nil {
			<-s.slots
			return nil, err
		}
		<-s.slots
	}
	session, err := s.beginOn(ctx)
	if err != nil {
		<-s.slots
		return nil, err
	}
	runtime.Gosched()
	return session, nil
}

// worthwhile is how many requests are worth a session of their own while another
// one is on its way.
const worthwhile = 4

// enter waits for a place.
func enter(ctx context.Context, places chan<- struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) beginOn(ctx context.Context) (*session, error) {
	if err := enter(ctx, s.open); err != nil {
		return nil, err
	}
	turn, err := s.take(ctx)
	if err != nil {
		<-s.open
		return nil, err
	}
	session := &session{store: s, turn: turn, stored: newReader(s.write, &s.plans)}
	session.stored.Ready.Fetch, session.stored.Idle.Fetch = session.readyHead, session.idleHead
	if err := s.recall(); err != nil {
		return nil, errors.Join(err, session.undo())
	}
	session.Reader = memo.Reader{Reader: session.stored, Seen: s.seen, Independent: session.stored.independent}
	return session, nil
}

// recall forgets everything if somebody else has written since our last session.
func (s *Store) recall() error {
	var version int64
	if err := s.write.get("PRAGMA data_version", []any{&version}); err != nil {
		return err
	}
	if s.seen == nil || version != s.version {
		s.seen, s.version = memo.NewSeen(s.remember), version
	}
	return nil
}

func (s *Store) take(ctx context.Context) (host.Lock, error) {
	if s.closed {
		return nil, errClosed
	}
	if err := s.disk.failed(); err != nil {
		return nil, err
	}
	turn, err := s.queue.wait(ctx)
	if err != nil {
		return nil, err
	}
	if err = s.deepen(); err == nil {
		err = s.write.exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		return nil, errors.Join(err, turn.Unlock())
	}
	return turn, nil
}

// deepen has SQLite sync what is committed before others can see it, if there are
// others. Whoever opens the database later syncs what it finds.
func (s *Store) deepen() error {
	alone, err := alone(s.disk.log)
	if err != nil || s.deep == !alone {
		return err
	}
	// Not prepared: SQLite does it when it reads the statement.
	if _, err := s.write.ExecContext(context.Background(), "PRAGMA synchronous = "+depth[!alone]); err != nil {
		return fail(s.path, err)
	}
	s.deep = !alone
	return nil
}

var depth = map[bool]string{false: "normal", true: "full"}

// Commit implements [store.Session].
func (s *session) Commit(c store.Changes) error { return s.Send(c)() }

// Send implements [store.Sender].
func (s *session) Send(c store.Changes) (answer func() error) {
	if err := s.apply(c); err != nil {
		err = errors.Join(err, s.undo())
		return s.answer(0, err)
	}
	number, err := s.store.disk.commit(s.store.deep, func() error { return s.store.write.exec("COMMIT") })
	if err != nil {
		s.store.seen = nil
		_ = s.store.write.exec("ROLLBACK") // some errors have done it already
		return s.answer(0, &store.CommitError{Err: errors.Join(err, s.end())})
	}
	s.applied(c)
	return s.answer(number, s.end())
}

// applied remembers what was written.
func (s *session) applied(c store.Changes) {
	if !c.Gone.Empty() {
		s.store.forget(c.Gone)
		return
	}
	s.Seen.Applied(c)
	for _, r := range c.Runs {
		s.store.plans.Put(r.ID, r.Plan)
	}
}

// Leave implements [store.Leaver].
func (s *session) Leave() (answer func() error) {
	seen := s.store.disk.last()
	return s.answer(seen, s.undo())
}

// answer waits until a commit is on the disk, and makes room for another session.
func (s *session) answer(number int64, err error) (answer func() error) {
	return func() error {
		defer func() { <-s.store.slots }()
		if lost := s.store.disk.wait(number); lost != nil {
			return &store.CommitError{Err: errors.Join(lost, err)}
		}
		return err
	}
}

// Rollback implements [store.Session].
func (s *session) Rollback() error {
	defer func() { <-s.store.slots }()
	return s.undo()
}

// undo ends the session without a change.
func (s *session) undo() error { return errors.Join(s.store.write.exec("ROLLBACK"), s.end()) }

// end lets the next session be made.
func (s *session) end() error {
	defer func() { <-s.store.open }()
	if s.store.seen != nil {
		s.store.seen.EndSession()
	}
	return s.turn.Unlock()
}
