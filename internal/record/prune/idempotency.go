package prune

import (
	"context"
	"errors"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// rowsPerWrite is the maximum number of idempotency records, questions, workers or store items that
// one transaction deletes.
const rowsPerWrite = 500

// eachPromise calls the function visit for each idempotency record that was stored before the time
// cutoff.
func eachPromise(r store.Reader, cutoff time.Time, visit func(store.IdempotencyRecord) error) error {
	for after := ""; ; {
		page, err := r.IdempotencyRecords(cutoff, after, rowsPerWrite)
		if err != nil {
			return err
		}
		for _, p := range page {
			if err := visit(p); err != nil {
				return err
			}
			after = p.Key
		}
		if len(page) < rowsPerWrite {
			return nil
		}
	}
}

// runs reads the row of a run. Both a write transaction and a reader implement it.
type runs interface {
	Run(id string) (store.Run, error)
}

// isExpired reports whether an old idempotency record is no longer needed. That is so if the record
// belongs to no run, or if its run no longer exists or will be deleted.
func isExpired(r runs, p store.IdempotencyRecord, willBeDeleted func(run string) bool) (bool, error) {
	run, bound := engine.IdempotencyRecordRun(p)
	if !bound || willBeDeleted(run) {
		return true, nil
	}
	_, err := r.Run(run)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// deletePromises deletes old idempotency records. Each transaction checks again whether its records
// are old, because a client may have used an idempotency key again in the meantime.
func (t *deleter) deletePromises(ctx context.Context) error {
	for after := ""; ; {
		var page []store.IdempotencyRecord
		err := t.store.Read(ctx, func(r store.Reader) (err error) {
			page, err = r.IdempotencyRecords(t.found.promisesBefore, after, rowsPerWrite)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].Key
		if err := t.deletePromiseBatch(ctx, page); err != nil {
			return err
		}
	}
}

func (t *deleter) deletePromiseBatch(ctx context.Context, page []store.IdempotencyRecord) error {
	var keys []string
	return t.deleteRows(ctx, &t.deleted.Promises, func(tx *store.Tx) (store.Deletions, int, error) {
		keys = nil
		for _, p := range page {
			now, err := tx.IdempotencyRecord(p.Key)
			if errors.Is(err, store.ErrNotFound) || err == nil && !now.Made.Before(t.found.promisesBefore) {
				continue
			}
			if err != nil {
				return store.Deletions{}, 0, err
			}
			gone, err := isExpired(tx, now, func(string) bool { return false })
			if err != nil {
				return store.Deletions{}, 0, err
			}
			if gone {
				keys = append(keys, p.Key)
			}
		}
		return store.Deletions{IdempotencyKeys: keys}, len(keys), nil
	})
}
