package engine

import (
	"context"
	"fmt"

	"gaffer/internal/engine/store"
)

// Target says what to cancel: a whole run, one task and the tasks that depend on it, or only the
// tasks that depend on one task.
type Target struct {
	Run            string
	Task           string // id of the task; empty means the whole run
	DependentsOnly bool   // cancel only the tasks that depend on Task, not Task itself
}

// Cancel cancels a run or tasks. Tasks that have not started are cancelled at once. For
// running tasks, Cancel asks the worker to end the attempt; the task is cancelled when
// the worker reports the end, or when the attempt is lost. Cancel returns a
// [*ConflictError] if the run, or the single task to cancel, has already ended.
func (e *Engine) Cancel(ctx context.Context, t Target, who, why string) error {
	return e.write(ctx, who, func(tx *transaction) error { return tx.cancellation.cancel(t, why) })
}

// cancellation implements [Engine.Cancel].
type cancellation struct {
	*txContext
	states      *taskStates
	propagation *propagation
}

func (c *cancellation) cancel(target Target, why string) error {
	run, err := c.run(target.Run)
	if err != nil {
		return err
	}
	if run.Status.Final() {
		return &ConflictError{"run " + run.ID, fmt.Sprintf("is %s already", run.Status)}
	}
	if target.Task == "" {
		if err := c.propagation.stopRun(run, cancelled); err != nil {
			return err
		}
		if err := c.propagation.stopAllTasks(run.ID, why); err != nil {
			return err
		}
		return c.states.endRunIfDone(run.ID)
	}
	t, err := c.task(store.TaskKey{Run: target.Run, Task: target.Task})
	switch {
	case err != nil:
	case target.DependentsOnly:
		err = c.cancelDependents(t, why)
	case t.Status.Final():
		err = &ConflictError{"task " + t.Task, fmt.Sprintf("is %s already", t.Status)}
	default:
		err = c.cancelOne(t.TaskKey, why)
	}
	if err != nil {
		return err
	}
	if err := c.states.makeTasksReady(run.ID); err != nil {
		return err
	}
	return c.states.endRunIfDone(run.ID)
}

// cancelDependents cancels all tasks that depend on a task, directly or indirectly.
func (c *cancellation) cancelDependents(t store.Task, why string) error {
	dependents, err := c.Dependents(t.TaskKey)
	if err != nil {
		return err
	}
	for _, d := range dependents {
		if err := c.cancelOne(d.TaskKey, why); err != nil {
			return err
		}
		if err := c.cancelDependents(d, why); err != nil {
			return err
		}
	}
	return nil
}

// cancelOne cancels a queued task, or asks the worker to end a running task. It does nothing if the
// task has ended. If the task had ended before, and was queued again only because of a user's
// message, cancelOne restores the earlier status.
func (c *cancellation) cancelOne(key store.TaskKey, why string) error {
	t, err := c.task(key)
	if err != nil {
		return err
	}
	if t.Status == store.Running {
		return c.propagation.stopTask(t, why)
	}
	if t.Status != store.Queued {
		return nil
	}
	if err := c.states.endQueued(&t, cancelled, why); err != nil {
		return err
	}
	return c.propagation.endedUnstarted(t)
}
