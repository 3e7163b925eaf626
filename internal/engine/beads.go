package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// BeadHeldError reports that a task cannot run for a bead (a work item of the ledger protocol). The
// reason is another task, By: it has not ended yet, or it is a newer task for the same bead.
type BeadHeldError struct {
	Bead   string
	By     store.TaskKey
	Status store.Status
}

func (e *BeadHeldError) Error() string {
	if e.Status.Final() {
		return fmt.Sprintf("bead %s was dispatched again since, as run %s, which is %s", e.Bead, e.By.Run, e.Status)
	}
	return fmt.Sprintf("bead %s is %s in run %s", e.Bead, e.Status, e.By.Run)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *BeadHeldError) Conflict() bool { return true }

// beads stores, for each bead (a work item of the ledger protocol), the task that was created last
// for this bead. That task is the bead's holder. A bead cannot have two unfinished tasks.
type beads struct{ *txContext }

// beadKey returns the key of the database row that stores the latest task of a bead (a work item of
// the ledger protocol).
func beadKey(d *plan.Dispatch) string { return "bead " + d.Bead + " " + d.Ledger }

// lastHolder returns the task that was created last for the bead d.Bead, a work item of the ledger
// protocol. If the bead has never had a task, the error is [store.ErrNotFound].
func (b *beads) lastHolder(d *plan.Dispatch) (store.Task, error) {
	return holderOf(b, beadKey(d))
}

// take stores that the new task with the given key works on the bead d.Bead, a work item of the
// ledger protocol. It returns a [*BeadHeldError] if the bead's previous task has not ended. In the
// returned Dispatch, Earlier includes the number of attempts of the previous task, so that the new
// task continues the numbering of attempts.
func (b *beads) take(key store.TaskKey, d plan.Dispatch) (*plan.Dispatch, error) {
	before, err := b.lastHolder(&d)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	case !before.Status.Final():
		return nil, &BeadHeldError{d.Bead, before.TaskKey, before.Status}
	default:
		spec, err := dispatchOf(before)
		if err != nil {
			return nil, err
		}
		d.Earlier = max(d.Earlier, spec.Earlier+before.Tries)
	}
	answer, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	b.PutIdempotencyRecord(store.IdempotencyRecord{Key: beadKey(&d), Answer: answer, Made: b.now})
	return &d, nil
}

// checkHolds checks that an ended task may run again. It returns a [*BeadHeldError] if the task has
// a bead (a work item of the ledger protocol) and a newer task was created for this bead.
func (b *beads) checkHolds(t store.Task) error {
	d, err := dispatchOf(t)
	if err != nil || d == nil {
		return err
	}
	by, err := b.lastHolder(d)
	if err != nil {
		return asNotFound(err, "bead", d.Bead)
	}
	if by.TaskKey != t.TaskKey {
		return &BeadHeldError{d.Bead, by.TaskKey, by.Status}
	}
	return nil
}

func dispatchOf(t store.Task) (*plan.Dispatch, error) {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Task, err)
	}
	return spec.Dispatch, nil
}
