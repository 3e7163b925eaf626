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
	session := &session{store: s, turn: turn}
	session.forget()
	return session, nil
}

func (s *Store) take(ctx context.Context) (host.Lock, error) {
	if s.closed {
		return nil, errClosed
	}
	turn, err := s.queue.wait(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.write.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, turn.Unlock())
	}
	return turn, nil
}

// forget begins to look again.
func (s *session) forget() {
	s.stored = newReader(s.store.write, &s.store.plans)
	s.Reader = memo.Reader{Reader: s.stored}
}

// Commit implements [store.Session].
func (s *session) Commit() error {
	err := s.store.write.exec("COMMIT")
	if err != nil {
		_ = s.store.write.exec("ROLLBACK") // some errors have done it already
	}
	return errors.Join(err, s.end())
}

// Rollback implements [store.Session].
func (s *session) Rollback() error {
	return errors.Join(s.store.write.exec("ROLLBACK"), s.end())
}

func (s *session) end() error {
	defer func() { <-s.store.open }()
	return s.turn.Unlock()
}
