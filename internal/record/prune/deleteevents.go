package prune

import (
	"context"

	"gaffer/internal/engine/store"
)

// eventsPerWrite is how many events are read at a time. Then one transaction deletes those of them
// that may be deleted.
const eventsPerWrite = 1000

// deleteEvents deletes three kinds of old events: events of runs that no longer exist, events that
// belong to no run, and events of tasks that a client of the coordinator protocol has created and
// that [Delete] deletes next.
func (t *deleter) deleteEvents(ctx context.Context) error {
	there, top := map[string]bool{}, int64(0)
	err := t.store.Read(ctx, func(r store.Reader) (err error) {
		left, err := r.RunsBefore(t.found.Before.Add(skew))
		for _, run := range left {
			there[run.ID] = true
		}
		if err == nil {
			top, err = DeletedUpTo(r)
		}
		return err
	})
	for after, more := int64(0), true; more && err == nil; {
		var orphans []int64
		orphans, after, more, err = t.orphans(ctx, after, there)
		if err == nil && len(orphans) > 0 {
			top = max(top, orphans[len(orphans)-1])
			err = t.deleteRows(ctx, &t.deleted.Events, func(tx *store.Tx) (store.Deletions, int, error) {
				tx.PutCursor(store.Cursor{Name: deletedUpToCursor, Seq: top})
				return store.Deletions{Events: orphans}, len(orphans), nil
			})
		}
	}
	return err
}

// orphans reads a page of events, beginning after the sequence number cursor. It returns the
// sequence numbers of the events on the page that can be deleted, the cursor for the next page, and
// whether there are more events. The last event of the store is never deleted.
func (t *deleter) orphans(ctx context.Context, cursor int64, existingRuns map[string]bool) (orphans []int64, next int64, more bool, err error) {
	err = t.store.Read(ctx, func(r store.Reader) error {
		orphans, next, more = nil, cursor, false
		last, err := r.LastSeq()
		if err != nil {
			return err
		}
		page, err := r.EventsWithoutRows(cursor, eventsPerWrite)
		for _, e := range page {
			if !e.At.Before(t.found.Before) {
				return err
			}
			if next = e.Seq; e.Seq < last && t.found.orphan(e, existingRuns) {
				orphans = append(orphans, e.Seq)
			}
		}
		more = len(page) == eventsPerWrite
		return err
	})
	return orphans, next, more, err
}
