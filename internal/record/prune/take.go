package prune

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/engine/store"
)

// Taking configures how old rows are deleted.
type Taking struct {
	Now func() time.Time
	Who string
	// Hold locks a run while it is being deleted. If it fails, the run stays, and Tell
	// gets the error. Gone is called for each deleted run.
	Hold func(run string) (release func(), err error)
	Gone func(run string)
	Tell func(text string)
	// AtOnce is the number of tasks per transaction; 100 if zero.
	AtOnce int
}

// Take deletes the rows that were found, unless they have changed since, and returns
// how many it deleted.
func Take(ctx context.Context, s store.Store, f Found, how Taking) (Counts, error) {
	t := &taker{store: s, found: f, Taking: how}
	for _, take := range []func(context.Context) error{
		t.takeRest, t.takeRuns, t.takeAsides, t.takeEvents, t.takeTasks, t.takeItems, t.takeWorkers, t.takePromises, t.tell,
	} {
		if err := take(ctx); err != nil {
			return t.done, err
		}
	}
	return t.done, nil
}

// taker is one execution of Take.
type taker struct {
	Taking
	store store.Store
	found Found
	done  Counts
}

// take deletes the rows that choose returns, in one transaction, and counts them.
func (t *taker) take(ctx context.Context, need store.Need, counted *int, choose func(tx *store.Tx) (store.Gone, int, error)) error {
	n := 0
	err := t.store.Write(ctx, need, func(tx *store.Tx) error {
		gone, count, err := choose(tx)
		n = count
		if err == nil {
			tx.TakeAway(gone)
		}
		return err
	})
	if err == nil {
		*counted += n
	}
	return err
}

// tell appends an event with the number of deleted rows.
func (t *taker) tell(ctx context.Context) error {
	if t.done.None() {
		return nil
	}
	return t.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.Append(store.Event{At: t.Now(), Kind: "store.pruned", Who: t.Who, Why: t.done.String()})
		return nil
	})
}

// String lists all counts that are not zero.
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

// Count is the number of rows of a kind.
type Count struct {
	Kind string
	N    int
}

// List returns the counts with their names.
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
