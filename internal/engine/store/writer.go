package store

import (
	"context"
	"errors"
	"fmt"

	"gaffer/statefile/group"
)

// Writer implements Write of a store. Requests that wait at the same time share one
// database transaction and its commit.
type Writer struct {
	// Open begins a database transaction. It waits until no other process has one.
	Open func(ctx context.Context) (Transaction, error)
	// Committed is called with the number of the last event after each commit.
	Committed func(lastSeq int64)

	group group.Group[*request]
}

type request struct {
	change func(tx *Tx) error
	alone  bool // the request must not share a transaction
	err    error
	repeat bool // the request must run again, without sharing a transaction
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

// CommitError reports that the result of a commit is unknown, for example because the
// connection broke before the reply. A request with an idempotency key may be repeated;
// other requests must not be repeated automatically.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return "commit: " + e.Err.Error() }

func (e *CommitError) Unwrap() error { return e.Err }

// leader makes the changes of all waiting requests. It implements [group.Leader].
type leader struct {
	writer *Writer
	open   Transaction // the open transaction, or nil
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
		_ = l.open.Rollback() // the caller gets the panic; this error can be ignored
	}
}

// Work makes the changes of all requests: one transaction for each request that must not
// share one, and one for all others. If the database rejects a shared transaction, each of
// its requests is repeated in a separate transaction, so that one request cannot make
// others fail. Requests are not repeated if the result is unknown or the database is busy.
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

// commit runs the requests one after the other and commits their changes. It sets err of
// each request whose change has failed. It returns errors that concern all requests.
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
	last        int64 // number of the last event, including new events
	changed     bool
	shared      bool // the batch has more than one request
}

// maxLoads is how often results are loaded for a whole batch. After that, each lookup
// fetches its result itself. Otherwise a request that looks up a new random key each time
// would never end.
const maxLoads = 12

// run runs the requests in their order. If the transaction is a [Loader], a lookup of a
// request may not be loaded yet. Then this request and the following ones run only to find
// out what to load, and run again with the loaded results.
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

// accept adds the changes of a request to the batch, unless the request has failed or its
// changes are invalid.
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
