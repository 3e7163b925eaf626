package sqlite

import (
	"cmp"
	"context"
	"errors"

	"gaffer/internal/engine/store"
	"gaffer/statefile/host"
)

// transaction is a write transaction. At most one is open at a time, counting those of all
// processes.
type transaction struct {
	*reader
	store *Store
	turn  host.Lock // lock of the writer queue: while this process holds it, no other process writes
}

// begin waits until no other write transaction is open, in this or another process, and begins one.
func (s *Store) begin(ctx context.Context) (store.Transaction, error) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	turn, err := s.beginImmediate(ctx)
	if err != nil {
		<-s.open
		return nil, err
	}
	return &transaction{store: s, turn: turn, reader: s.newReader(s.write)}, nil
}

func (s *Store) beginImmediate(ctx context.Context) (host.Lock, error) {
	if s.closed {
		return nil, errClosed
	}
	turn, err := s.queue.wait(ctx)
	if err != nil {
		return nil, cmp.Or(s.checkFileUnchanged(), err)
	}
	if err = s.checkFileUnchanged(); err == nil {
		err = s.write.exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		return nil, errors.Join(err, turn.Unlock())
	}
	return turn, nil
}

// Commit implements [store.Transaction].
func (t *transaction) Commit(c store.Changes) error {
	if err := t.apply(c); err != nil {
		return errors.Join(err, t.store.write.exec("ROLLBACK"), t.end())
	}
	if err := t.store.write.exec("COMMIT"); err != nil {
		_ = t.store.write.exec("ROLLBACK") // ignore errors: SQLite may have rolled back the transaction already
		return &store.CommitError{Err: errors.Join(err, t.end())}
	}
	t.store.plans.Forget(c.Deletions.Runs...)
	for _, r := range c.Runs {
		t.store.plans.Put(r.ID, r.Plan)
	}
	return t.end()
}

// Rollback implements [store.Transaction].
func (t *transaction) Rollback() error {
	return errors.Join(t.store.write.exec("ROLLBACK"), t.end())
}

// end ends this process's turn to write, so that the next write transaction can begin.
func (t *transaction) end() error {
	defer func() { <-t.store.open }()
	return t.turn.Unlock()
}
