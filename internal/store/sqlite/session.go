package sqlite

import (
	"context"
	"errors"

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

// begin waits until no other session is open.
func (s *Store) begin(ctx context.Context) (store.Session, error) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	turn, err := s.take(ctx)
	if err != nil {
		<-s.open
		return nil, err
	}
	session := &session{store: s, turn: turn, stored: newReader(s.write, &s.plans)}
	session.stored.Ready.Fetch, session.stored.Idle.Fetch = session.readyHead, session.idleHead
	if err := s.recall(); err != nil {
		return nil, errors.Join(err, session.Rollback())
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
		err = errors.Join(err, s.store.write.exec("ROLLBACK"), s.end())
		return func() error { return err }
	}
	number, err := s.store.disk.commit(s.store.deep, func() error { return s.store.write.exec("COMMIT") })
	if err != nil {
		s.store.seen = nil
		_ = s.store.write.exec("ROLLBACK") // some errors have done it already
		err = &store.CommitError{Err: errors.Join(err, s.end())}
		return func() error { return err }
	}
	s.applied(c)
	return s.durable(number, s.end())
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
	return s.durable(seen, s.Rollback())
}

// durable waits until a commit is on the disk.
func (s *session) durable(number int64, ended error) (answer func() error) {
	return func() error {
		if err := s.store.disk.wait(number); err != nil {
			return &store.CommitError{Err: errors.Join(err, ended)}
		}
		return ended
	}
}

// Rollback implements [store.Session].
func (s *session) Rollback() error {
	return errors.Join(s.store.write.exec("ROLLBACK"), s.end())
}

// end makes room for the next session.
func (s *session) end() error {
	defer func() { <-s.store.open }()
	if s.store.seen != nil {
		s.store.seen.EndSession()
	}
	return s.turn.Unlock()
}
