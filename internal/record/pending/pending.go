// Package pending keeps a list of runs whose documents are not completely written yet. The
// documents of a run are files for other programs: a document with the status of the run (the
// session document) and records of its attempts (the ledger).
//
// The documents of a run are pending until all of them say how the run ended. During that time, the
// store has an item for the run. If the process dies or the disk is full, a later process finds
// this item and writes the documents. If a process dies after writing the documents and before
// deleting the item, the documents are written again, which is harmless.
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

// kind is the Kind of the store items in the list. A store item is a row for data that has no table
// of its own. Each item of this kind names a run with pending documents.
const kind = "owed documents"

// Key returns the key of the store item that exists while the documents of a run are pending.
func Key(run string) store.ItemKey { return store.ItemKey{Kind: kind, ID: run} }

// Documents describes a run whose documents are not all written.
type Documents struct {
	Run     string    `json:"run"`
	Project string    `json:"project"`
	Since   time.Time `json:"since"` // when the run ended; zero if the run is active
	Why     string    `json:"why"`   // why the documents are not written

	// Paths contains the folders of the documents. Each key is the name of the setting for the
	// folder. The paths are stored, because users may change the settings later.
	Paths map[string]string `json:"-"`
}

// processDied is shown as the reason why documents are not written, if the store contains no
// reason.
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

// content is the JSON data of a list entry in the store. The field Why says why the documents of
// the run could not be written.
type content struct {
	Paths map[string]string `json:"paths"`
	Why   string            `json:"why,omitempty"`
}

// List reads and changes the list of runs with pending documents in a store.
type List struct {
	Store store.Store
	Now   func() time.Time
}

// Add adds a run to the list, or replaces the run's entry. The parameter paths says where the run's
// documents must be written; see [Documents.Paths]. The parameter reason says why they are not
// written yet. It is empty if the reason is unknown.
func (l List) Add(ctx context.Context, run string, paths map[string]string, reason string) error {
	data, err := json.Marshal(content{paths, reason})
	if err != nil {
		return err
	}
	return l.Store.Write(ctx, func(tx *store.Tx) error {
		tx.PutItem(store.Item{ItemKey: Key(run), Data: data, Made: l.Now()})
		return nil
	})
}

// Remove removes a run from the list. The caller must already have written how the run ended to all
// its documents. If a task was retried in the meantime, the run is active again, and Remove does
// nothing.
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

// Ended returns the runs that have ended but whose documents do not say so yet. It considers only
// runs for which the function selects returns true.
func (l List) Ended(ctx context.Context, selects func(store.Run) bool) (list []Documents, err error) {
	err = l.Store.Read(ctx, func(r store.Reader) error {
		list = nil
		items, err := r.Items(kind, "", math.MinInt64, math.MaxInt32)
		if err != nil {
			return err
		}
		for _, item := range items {
			run, err := r.Run(item.ID)
			if errors.Is(err, store.ErrNotFound) {
				// Skip the run. Package prune has deleted it, because it was old.
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
