package statefile

import (
	"context"
	"time"

	"gaffer/statefile/jsontree"
)

// request is one call of [File.Update].
type request struct {
	change func(*jsontree.Doc) error
	since  time.Time // when Update was called; the lock timeout starts then
	err    error
}

func (f *File) submit(ctx context.Context, change func(*jsontree.Doc) error) error {
	return f.updates.Do(ctx, &request{change: change, since: f.host.Now()}, &leader{file: f})
}

// leader writes the changes of a batch of requests. It implements [batch.Leader].
type leader struct {
	file *File
	held *heldLock
}

// Prepare takes the document's lock for a batch. It waits at most until the lock timeout of the
// first request has passed. It returns the function that releases the lock.
func (l *leader) Prepare(ctx context.Context, first *request) (func(), error) {
	var err error
	l.held, err = l.file.lock(ctx, first.since)
	if err != nil {
		return nil, err
	}
	return l.held.release, nil
}

// Work applies the changes of a batch and writes the document. It returns one error for each
// request; nil means that the request succeeded.
func (l *leader) Work(batch []*request) []error {
	l.file.commit(l.held.path, batch)
	errs := make([]error, len(batch))
	for i, r := range batch {
		errs[i] = r.err
	}
	return errs
}
