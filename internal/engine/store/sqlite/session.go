package sqlite

import (
	"cmp"
	"context"
	"errors"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
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
	if err := s.recall(); err != nil {
		return nil, errors.Join(err, session.Rollback())
	}
	session.stored.Ready, session.stored.Idle = &s.seen.Ready, &s.seen.Idle
	s.seen.Ready.Fetch, s.seen.Idle.Fetch = session.readyHead, session.idleHead
	s.seen.Ready.AtLeast, s.seen.Idle.AtLeast = someTasks, someTasks
	session.Reader = memo.Reader{Reader: session.stored, Seen: s.seen, Independent: session.stored.independent}
	return session, nil
}

// someTasks is the minimum number of tasks to read from a list at once. They stay
// cached for later sessions.
const someTasks = 64

// recall clears the cache if another process has written since our last session.
func (s *Store) recall() error {
	var version int64
	if err := s.write.get("PRAGMA data_version", []any{&version}); err != nil {
		return err
	}
	if s.seen == nil || version != s.version {
		s.seen, s.version, s.last = memo.NewSeen(s.remember), version, -1
	}
	return nil
}

func (s *Store) take(ctx context.Context) (host.Lock, error) {
	if s.closed {
		return nil, errClosed
	}
	turn, err := s.queue.wait(ctx)
	if err != nil {
		return nil, cmp.Or(s.isThere(), err)
	}
	if err = s.isThere(); err == nil {
		err = s.write.exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		return nil, errors.Join(err, turn.Unlock())
	}
	return turn, nil
}

// Commit implements [store.Session].
func (s *session) Commit(c store.Changes) error {
	if err := s.apply(c); err != nil {
		return errors.Join(err, s.store.write.exec("ROLLBACK"), s.end())
	}
	if err := s.store.write.exec("COMMIT"); err != nil {
		s.store.seen = nil
		_ = s.store.write.exec("ROLLBACK") // after some errors SQLite has already rolled back
		return &store.CommitError{Err: errors.Join(err, s.end())}
	}
	if !c.Gone.Empty() {
		s.store.forget(c.Gone)
		return s.end()
	}
	s.Seen.Applied(c)
	if n := len(c.Events); n > 0 {
		s.store.last = c.Events[n-1].Seq
	}
	for _, r := range c.Runs {
		s.store.plans.Put(r.ID, r.Plan)
	}
	return s.end()
}

// LastSeq implements [store.Reader].
func (s *session) LastSeq() (int64, error) {
	if s.store.last >= 0 {
		return s.store.last, nil
	}
	last, err := s.stored.LastSeq()
	if err == nil {
		s.store.last = last
	}
	return last, err
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
