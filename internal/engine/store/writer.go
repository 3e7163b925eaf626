package store

import (
	"context"
	"errors"
	"fmt"

	"gaffer/statefile/group"
)

// Writer is the writing half of a store. It puts requests that wait at the same time
// into one transaction, so that they share one commit.
type Writer struct {
	// Open begins a transaction. It waits until no other process has one.
	Open func(ctx context.Context) (Transaction, error)
	// Committed is called with the number of the last event after each commit.
	Committed func(lastSeq int64)

	group group.Group[*request]
}

type request struct {
	change func(tx *Tx) error
	alone  bool // it needs a transaction of its own
	err    error
	repeat bool // it must run again, in a transaction of its own
}

// Write implements [Store].
func (w *Writer) Write(ctx context.Context, change func(tx *Tx) error) error {
	r := &request{change: change}
	for {
		if err := w.group.Do(ctx, r, &leader{writer: w}); err != nil {
			return err
		}
		if !r.repeat {
			return r.err
		}
		r.repeat, r.alone = false, true
	}
}

// CommitError is a failed commit with an unknown result: only the database's reply may
// have been lost. A request with an idempotency key may be repeated; others must not be
// repeated automatically.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return "commit: " + e.Err.Error() }

func (e *CommitError) Unwrap() error { return e.Err }

// leader makes the changes of all waiting requests. It is a [group.Leader].
type leader struct {
	writer *Writer
	open   Transaction // nil when none is open
}

// Prepare opens the transaction.
func (l *leader) Prepare(ctx context.Context, _ *request) (func(), error) {
	var err error
	l.open, err = l.writer.Open(ctx)
	return l.release, err
}

// release rolls back a transaction that a panic has left open.
func (l *leader) release() {
	if l.open != nil {
		_ = l.open.Rollback() // the panic is more important than this error
	}
}

// Work makes the changes of all requests: one transaction for each request that must be
// alone, and one for all others. If the database rejects a shared transaction, each of
// its requests is repeated in a transaction of its own, so that one request cannot make
// another fail. It is not repeated if the result is unknown or the database is busy.
func (l *leader) Work(batch []*request) []error {
	var together []*request
	for _, r := range batch {
		if !r.alone {
			together = append(together, r)
		} else if err := l.commit([]*request{r}); err != nil {
			r.err = err
		}
	}
	if len(together) == 0 {
		return make([]error, len(batch))
	}
	err := l.commit(together)
	var unknown *CommitError
	var busy interface{ Busy() bool }
	repeat := len(together) > 1 && !errors.As(err, &unknown) && !errors.As(err, &busy)
	for _, r := range together {
		if err != nil {
			r.err, r.repeat = err, repeat
		}
	}
	return make([]error, len(batch))
}

// commit runs the requests one after the other and commits their changes. It sets the
// error of each request whose change has failed. It returns an error that no single
// request is known to have caused.
func (l *leader) commit(batch []*request) (err error) {
	if l.open == nil {
		if l.open, err = l.writer.Open(context.Background()); err != nil {
			return err
		}
	}
	b := batchChanges{transaction: l.open, shared: len(batch) > 1}
	if err := b.run(batch); err != nil {
		open := l.open
		l.open = nil
		if rollback := open.Rollback(); rollback != nil {
			return fmt.Errorf("%w (and rollback: %w)", err, rollback)
		}
		return err
	}
	open := l.open
	l.open = nil
	if !b.changed {
		return open.Rollback()
	}
	changes := b.all.changes()
	changes.read = &b.read
	if err := open.Commit(changes); err != nil {
		return err
	}
	if l.writer.Committed != nil {
		l.writer.Committed(b.last)
	}
	return nil
}

// batchChanges collects the changes of all requests of a transaction.
type batchChanges struct {
	transaction Transaction
	read, all   rows
	last        int64 // number of the last event, including new ones
	changed     bool
	shared      bool // there is more than one request
}

// maxLoads is how often results are loaded for a batch. Requests that need more make
// each of their lookups at once. A request that looks up a new random key each time would
// never end otherwise.
const maxLoads = 12

// run runs the requests in their order. If the transaction is a [Loader], a request may
// lack results. Then it and the requests after it run only to find out what to load, and
// run again with the loaded results.
func (b *batchChanges) run(batch []*request) error {
	loader, _ := b.transaction.(Loader)
	if loader != nil && len(batch) == 1 {
		if err := loader.LoadEach(); err != nil {
			return err
		}
	}
	last, err := b.transaction.LastSeq()
	if err != nil {
		return err
	}
	b.last = last
	for loads := 1; ; loads++ {
		done := len(batch)
		for i, r := range batch {
			tx := b.newTx()
			r.err = r.change(tx)
			switch {
			case loader != nil && loader.Missed():
				done = min(done, i)
			case i < done:
				b.accept(r, tx, len(batch))
			}
		}
		if batch = batch[done:]; len(batch) == 0 {
			return nil
		}
		if loads >= maxLoads {
			err = loader.LoadEach()
		} else {
			err = loader.Load()
		}
		if err != nil {
			return err
		}
	}
}

func (b *batchChanges) newTx() *Tx {
	return &Tx{stored: b.transaction, read: &b.read, earlier: &b.all, lastSeq: &b.last}
}

// accept adds the changes of a request to those of the batch, unless they are invalid.
func (b *batchChanges) accept(r *request, tx *Tx, requests int) {
	if r.err == nil {
		r.err = tx.own.check()
	}
	if r.err != nil {
		return
	}
	if b.shared && !tx.own.deletions.Empty() {
		r.repeat = true // other requests of the transaction would still see the deleted rows
		return
	}
	b.last += int64(len(tx.own.events))
	b.all.merge(&tx.own, requests)
	b.changed = true
}
