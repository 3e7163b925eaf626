// Package pending remembers which runs have documents that are not written yet.
//
// The documents of a run are pending from before the first write until all of them say
// how the run ended. The store has an item for each such run, so that the documents are
// written later if the process dies or the disk is full. A crash between writing the
// documents and deleting the item is harmless: the documents are written again.
package pending

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"gaffer/internal/engine/store"
)

// kind is the kind of the store items that mark pending documents.
const kind = "owed documents"

// Key returns the key of the item that marks the documents of a run as pending.
func Key(run string) store.ItemKey { return store.ItemKey{Kind: kind, ID: run} }

// Documents describes a run that has ended, but whose documents do not say so yet.
type Documents struct {
	Run     string    `json:"run"`
	Project string    `json:"project"`
	Since   time.Time `json:"since"` // when the run ended; zero if it is still active
	Why     string    `json:"why"`   // why the documents were not written

	// Paths holds the folders of the documents, by the names of their settings. The
	// store keeps the paths, because the settings may change later.
	Paths map[string]string `json:"-"`
}

// processDied is the reason why documents are pending if the store has no other reason.
const processDied = "gaffer ended before it had written them"

// UnwrittenError reports that the documents of a run could not be written.
type UnwrittenError struct{ Documents Documents }

func (e *UnwrittenError) Error() string {
	if e.Documents.Since.IsZero() {
		return fmt.Sprintf("the documents of run %s are not all written: %s", e.Documents.Run, e.Documents.Why)
	}
	return fmt.Sprintf("run %s has ended, but its documents are not written: %s", e.Documents.Run, e.Documents.Why)
}

// Hint returns advice for the user.
func (e *UnwrittenError) Hint() string {
	if e.Documents.Since.IsZero() {
		return fmt.Sprintf("remove what is in the way; 'gaffer resume %s' writes them", e.Documents.Run)
	}
	return "remove what is in the way; the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
}

// content is the JSON of a stored item. Why says what prevented the writing.
type content struct {
	Paths map[string]string `json:"paths"`
	Why   string            `json:"why,omitempty"`
}

// List is the list of runs with pending documents in a store.
type List struct {
	Store store.Store
	Now   func() time.Time
}

// Add records that the documents of a run must be written to these paths, and why that
// has not happened yet.
func (l List) Add(ctx context.Context, run string, paths map[string]string, why string) error {
	data, err := json.Marshal(content{paths, why})
	if err != nil {
		return err
	}
	return l.Store.Write(ctx, func(tx *store.Tx) error {
		tx.PutItem(store.Item{ItemKey: Key(run), Data: data, Made: l.Now()})
		return nil
	})
}

// Remove deletes the entry of a run after its documents say how it ended. If a task was
// retried meanwhile, the run is active again and the entry stays.
func (l List) Remove(ctx context.Context, id string) error {
	return l.Store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Run(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && run.Status.Final() {
			tx.DropItem(Key(id))
			return nil
		}
		return err
	})
}

// Ended lists the runs that have ended but whose documents do not say so, among those
// for which selects returns true.
func (l List) Ended(ctx context.Context, selects func(store.Run) bool) (list []Documents, err error) {
	err = l.Store.Read(ctx, func(r store.Reader) error {
		list = nil
		items, err := r.Items(kind, "", math.MinInt64, math.MaxInt32)
		if err != nil {
			return err
		}
		for _, item := range items {
			run, err := r.Run(item.ID)
			if errors.Is(err, store.ErrNotFound) { // the run was pruned
				continue
			}
			if err != nil {
				return err
			}
			if !run.Status.Final() || !selects(run) {
				continue
			}
			var c content
			if err := json.Unmarshal(item.Data, &c); err != nil {
				return fmt.Errorf("the pending documents of run %s: %w", run.ID, err)
			}
			list = append(list, Documents{Run: run.ID, Project: run.Project, Since: run.Ended, Why: cmp.Or(c.Why, processDied), Paths: c.Paths})
		}
		return nil
	})
	return list, err
}
