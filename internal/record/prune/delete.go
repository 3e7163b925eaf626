package prune

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/engine/store"
)

// DeleteOptions configures [Delete].
type DeleteOptions struct {
	Now    func() time.Time
	Author string // author of the "store.pruned" event
	// LockRun locks a run while the run's rows are being deleted. If LockRun fails, the run is not
	// deleted, and Notice prints the error.
	LockRun func(run string) (release func(), err error)
	// OnDeleted is called for each deleted run when the row of the run itself has been deleted. If
	// the deletion of the run's other rows is interrupted, a later prune deletes them and calls
	// OnDeleted for the run once more.
	OnDeleted func(run string)
	Notice    func(text string) // prints a message for the user
	// BatchSize is how many tasks one transaction deletes. Zero means 100.
	BatchSize int
}

// Delete deletes the rows that [Find] has found. It keeps runs, tasks, workers and idempotency
// records that were used again since Find was called. It returns the numbers of deleted rows, also
// after an error.
func Delete(ctx context.Context, s store.Store, f Found, how DeleteOptions) (Counts, error) {
	t := &deleter{store: s, found: f, DeleteOptions: how}
	for _, take := range []func(context.Context) error{
		t.finishPartlyDeleted, t.deleteRuns, t.deleteStandaloneQuestions, t.deleteEvents, t.deleteTasks, t.deleteItems, t.deleteWorkers, t.deletePromises, t.appendEvent,
	} {
		if err := take(ctx); err != nil {
			return t.deleted, err
		}
	}
	return t.deleted, nil
}

// deleter holds the state of one call of Delete.
type deleter struct {
	DeleteOptions
	store   store.Store
	found   Found
	deleted Counts
}

// deleteRows calls the function choose and deletes the rows that it returns, in one transaction. If
// that succeeds, it adds the int that choose returns to *counted.
func (t *deleter) deleteRows(ctx context.Context, counted *int, choose func(tx *store.Tx) (store.Deletions, int, error)) error {
	n := 0
	err := t.store.Write(ctx, func(tx *store.Tx) error {
		gone, count, err := choose(tx)
		n = count
		if err == nil {
			tx.DeleteRows(gone)
		}
		return err
	})
	if err == nil {
		*counted += n
	}
	return err
}

// appendEvent appends an event to the store. The event contains the numbers of deleted rows.
func (t *deleter) appendEvent(ctx context.Context) error {
	if t.deleted.None() {
		return nil
	}
	return t.store.Write(ctx, func(tx *store.Tx) error {
		tx.Append(store.Event{At: t.Now(), Kind: "store.pruned", Who: t.Author, Why: t.deleted.String()})
		return nil
	})
}

// String lists the counts that are not zero, such as "2 runs, 5 tasks".
func (c Counts) String() string {
	var words []string
	for _, of := range c.List() {
		switch {
		case of.N == 1:
			words = append(words, "1 "+strings.TrimSuffix(of.Kind, "s"))
		case of.N > 1:
			words = append(words, fmt.Sprintf("%d %s", of.N, of.Kind))
		}
	}
	return strings.Join(words, ", ")
}

// Count is the number of rows of one kind.
type Count struct {
	Kind string
	N    int
}

// List returns all counts with the names of their kinds.
func (c Counts) List() []Count {
	return []Count{
		{"runs", c.Runs},
		{"tasks", c.Tasks},
		{"attempts", c.Attempts},
		{"questions", c.Questions},
		{"inputs", c.Inputs},
		{"notes", c.Notes},
		{"promises", c.Promises},
		{"workers", c.Workers},
		{"events", c.Events},
	}
}
