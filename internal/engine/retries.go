package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// retries continues runs and queues tasks again when the user asks for it.
type retries struct {
	*change
	schedule *schedule
	beads    *beads
}

// Retry queues a failed or cancelled task again, with its full number of retries. It
// also queues the tasks that were cancelled only because of it. A run that had ended
// continues.
func (e *Engine) Retry(ctx context.Context, key store.TaskKey, who, why string) error {
	return e.write(ctx, who, func(tx *transaction) error {
		run, err := tx.run(key.Run)
		if err != nil {
			return err
		}
		if run.Conducted {
			return &ConflictError{"run " + run.ID, "is a team's, which decides by itself what is tried again: 'gaffer team resume'"}
		}
		t, err := tx.task(key)
		if err != nil {
			return err
		}
		if t.Status != store.Failed && t.Status != store.Cancelled {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s and cannot be retried", t.Status)}
		}
		tasks, err := tx.Tasks(key.Run)
		if err != nil {
			return err
		}
		if before, ok := hopeless(t, tasks); ok {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("waits for %s, which is %s; retry that", before.Task, before.Status)}
		}
		if err := tx.retries.resume(run, why); err != nil {
			return err
		}
		if err := tx.retries.requeue(t, why); err != nil {
			return err
		}
		if err := tx.retries.requeueDropped(key.Run, why); err != nil {
			return err
		}
		return tx.schedule.fill(key.Run)
	})
}

// resume lets tasks of a run start again. A run that had ended continues.
func (r *retries) resume(run store.Run, why string) error {
	run.Stopping = ""
	if run.Status == store.Running {
		r.PutRun(run)
		return r.event(store.Event{Kind: "run.resumed", Run: run.ID, Why: why}, run)
	}
	return r.schedule.moveRun(run, store.Running, why)
}

// requeue restores a task's retries and recounts its blocker.
func (r *retries) requeue(t store.Task, why string) error {
	if err := r.beads.holds(t); err != nil {
		return err
	}
	t.Blockers = 0
	for _, id := range t.Needs {
		need, err := r.task(store.TaskKey{Run: t.Run, Task: id})
		if err != nil {
			return err
		}
		if need.Status != store.Complete {
			t.Blockers++
		}
	}
	t.Retries += t.Attempts
	t.Lost = 0
	t.Outcome, t.NotBefore = "", time.Time{}
	return r.schedule.move(&t, store.Queued, why)
}

// requeueDropped queues the tasks again that were cancelled because of other. It skips
// a task if one that it waits for has ended without being complete, or if another task
// holds its bead now.
func (r *retries) requeueDropped(run, why string) error {
	for again := true; again; {
		again = false
		tasks, err := r.Tasks(run)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if t.Status != store.Cancelled || t.Outcome != dependency {
				continue
			}
			if _, ok := hopeless(t, tasks); ok {
				continue
			}
			err := r.requeue(t, why)
			if held := (*HeldError)(nil); errors.As(err, &held) {
				continue
			}
			if err != nil {
				return err
			}
			again = true
			break // this may have changed what other tasks wait for
		}
	}
	return nil
}

// hopeless returns a task that t waits for and that has ended without being complete.
func hopeless(t store.Task, tasks []store.Task) (store.Task, bool) {
	for _, other := range tasks {
		before := t.Wave > 0 && other.Wave > 0 && other.Wave < t.Wave || slices.Contains(t.Needs, other.Task)
		if before && other.Status.Final() && other.Status != store.Complete {
			return other, true
		}
	}
	return store.Task{}, false
}
