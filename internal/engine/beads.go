package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// BeadHeldError reports that a task cannot run for a bead (a work item of the ledger protocol),
// because another task, By, works on the bead now or was created for it later.
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

// Conflict marks the error as a conflict with the task By.
func (e *BeadHeldError) Conflict() bool { return true }

// beads records, for each bead, the task that was created for it last: the bead's holder. A bead
// cannot have two unfinished tasks.
type beads struct{ *txContext }

// beadKey returns the key of the idempotency record that stores which task holds a bead.
func beadKey(d *plan.Dispatch) string { return "bead " + d.Bead + " " + d.Ledger }

// lastHolder returns the task that was created last for the bead of d. If the bead has never had a
// task, the error is [store.ErrNotFound].
func (b *beads) lastHolder(d *plan.Dispatch) (store.Task, error) {
	return holderOf(b, beadKey(d))
}

// take makes the new task with the given key the holder of the bead of d. It returns a
// [*BeadHeldError] if the bead's previous task has not ended. In the returned Dispatch, Earlier
// includes the attempts of the previous task, so that the new task continues their numbers.
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

// checkHolds checks that an ended task may run again. It returns a [*BeadHeldError] if a newer task
// was created for the bead of t, and nil if t has no bead.
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
