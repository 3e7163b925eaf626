package store

import (
	"context"
	"errors"
	"fmt"

	"gaffer/statefile/batch"
)

// Writer implements the method Write for all implementations of [Store]. Each call of Write is a
// request. Requests that wait at the same time share one database transaction and one commit. A
// request that deletes rows gets a transaction of its own.
type Writer struct {
	// Open begins a write transaction of the database. It waits while another write transaction is
	// open, in this process or in another one.
	Open func(ctx context.Context) (Transaction, error)
	// Committed is called after each successful commit, with the sequence number of the last event
	// in the database. Committed may be nil.
	Committed func(lastSeq int64)

	queue batch.Queue[*request]
}

type request struct {
	change func(tx *Tx) error
	alone  bool  // the request needs a separate transaction
	err    error // the error that Write returns
	repeat bool  // the request must run again, in a separate transaction
}

// Write implements [Store].
func (w *Writer) Write(ctx context.Context, change func(tx *Tx) error) error {
	r := &request{change: change}
	for {
		if err := w.queue.Do(ctx, r, &leader{writer: w}); err != nil {
			return err
		}
		if !r.repeat {
			return r.err
		}
		r.repeat, r.alone = false, true
	}
}

// CommitError reports that it is unknown whether a commit has succeeded, for example because the
// connection broke before the reply. The caller may repeat a request that has an idempotency key.
// It must not repeat a request without such a key automatically, because the change could be made
// twice.
type CommitError struct{ Err error }

func (e *CommitError) Error() string { return "commit: " + e.Err.Error() }

func (e *CommitError) Unwrap() error { return e.Err }

// leader runs a batch: all requests that wait at the same time. It implements [batch.Leader].
type leader struct {
	writer *Writer
	open   Transaction // the database transaction that is open, or nil
}

// Prepare begins the database transaction. The caller must call the returned function after
// [leader.Work], even if Work panics.
func (l *leader) Prepare(ctx context.Context, _ *request) (func(), error) {
	var err error
	l.open, err = l.writer.Open(ctx)
	return l.release, err
}

// release rolls back the transaction if a panic has left it open.
func (l *leader) release() {
	if l.open != nil {
		_ = l.open.Rollback() // the caller gets the panic, so this error does not matter
	}
}

// Work runs all requests. Requests that need a separate transaction get one each, and all others
// share one. If the database rejects the shared transaction, each of its requests is repeated in a
// separate transaction, so that one request cannot make others fail. Requests are not repeated if
// it is unknown whether the commit has succeeded, or if the database is busy. Work stores errors in
// the requests; the errors that it returns are all nil.
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

// commit runs the requests one after the other in one transaction, and commits the changes of those
// that succeed. If a request fails, commit stores the error in the request's field err. If commit
// itself returns an error, this error applies to all of the requests.
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

// batchChanges collects the changes of the requests that share a transaction.
type batchChanges struct {
	transaction Transaction
	read, all   rows
	last        int64 // sequence number of the last event; grows with each new event of the batch
	changed     bool  // at least one request has succeeded, so there may be changes to commit
	shared      bool  // the batch has more than one request
}

// maxLoads is how many times, at most, the requests of a batch run again because the rows that they
// look up had to be loaded first. When they run for the last time, each lookup loads its row
// immediately. Without this limit, a request that looks up a new random key each time would never
// end.
const maxLoads = 12

// run runs the requests in their order. If the transaction is a [Loader], a request may look up a
// row that is not loaded yet. Then run must repeat this request and the following ones. First it
// also runs the following requests, but ignores their changes, to find out which rows they look up.
// Then it loads all missing rows together and repeats these requests.
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

// accept adds the changes of a request to the batch. It adds nothing if the request has failed, if
// its changes are not valid, or if the request must run again in a separate transaction.
func (b *batchChanges) accept(r *request, tx *Tx, requests int) {
	if r.err == nil {
		r.err = tx.own.check()
	}
	if r.err != nil {
		return
	}
	// Run a request with deletions again in a separate transaction: other requests in a shared
	// transaction would still see the deleted rows.
	if b.shared && !tx.own.deletions.Empty() {
		r.repeat = true
		return
	}
	b.last += int64(len(tx.own.events))
	b.all.merge(&tx.own, requests)
	b.changed = true
}
