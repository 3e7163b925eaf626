package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// Target is what a user's request applies to: a run, one of its tasks, or all tasks
// that depend on that task.
type Target struct {
	Run   string
	Task  string // the whole run if empty
	Below bool   // not the task itself but all tasks that depend on it
}

// Cancel cancels a run or tasks. Tasks that have not started are cancelled at once. For
// running tasks, it asks the worker to end the attempt; they are cancelled when the
// worker reports the end, or when the attempt is lost. It returns a [*ConflictError] if
// the target has already ended.
func (e *Engine) Cancel(ctx context.Context, t Target, who, why string) error {
	return e.write(ctx, who, store.Need{Runs: []string{t.Run}}, func(c *change) error { return c.cancel(t, why) })
}

func (c *change) cancel(t Target, why string) error {
	run, err := c.Run(t.Run)
	if err != nil {
		return missing(err, "run", t.Run)
	}
	if run.Status.Final() {
		return &ConflictError{"run " + run.ID, fmt.Sprintf("is %s already", run.Status)}
	}
	if t.Task == "" {
		return c.cancelRun(run, why)
	}
	return c.cancelTask(store.TaskKey{Run: t.Run, Task: t.Task}, t.Below, why)
}

func (c *change) cancelRun(run store.Run, why string) error {
	if err := c.stop(run, cancelled); err != nil {
		return err
	}
	if err := c.haltAll(run.ID, why); err != nil {
		return err
	}
	return c.settle(run.ID)
}

// haltAll asks the workers to end all running tasks of a run.
func (c *change) haltAll(run, why string) error {
	tasks, err := c.Tasks(run)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := c.halt(t, why); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) cancelTask(key store.TaskKey, below bool, why string) error {
	t, err := c.Task(key)
	if err != nil {
		return missing(err, "task", key.Task)
	}
	if below {
		if err := c.cancelBelow(t, why); err != nil {
			return err
		}
	} else {
		if t.Status.Final() {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s already", t.Status)}
		}
		if err := c.cancelOne(t, why); err != nil {
			return err
		}
	}
	if err := c.fill(key.Run); err != nil {
		return err
	}
	return c.settle(key.Run)
}

func (c *change) cancelBelow(t store.Task, why string) error {
	dependents, err := c.Dependents(t.TaskKey)
	if err != nil {
		return err
	}
	for _, d := range dependents {
		if err := c.cancelOne(d, why); err != nil {
			return err
		}
		if err := c.cancelBelow(d, why); err != nil {
			return err
		}
	}
	return nil
}

// cancelOne cancels a queued task, or asks the worker to end a running one.
func (c *change) cancelOne(t store.Task, why string) error {
	t, err := c.Task(t.TaskKey) // read it again: an earlier step may have cancelled it
	if err != nil {
		return missing(err, "task", t.Task)
	}
	if t.Status == store.Running {
		return c.halt(t, why)
	}
	if t.Status != store.Queued {
		return nil
	}
	t.Outcome = cancelled
	if err := c.move(&t, store.Cancelled, why); err != nil {
		return err
	}
	return c.abandon(t)
}

// halt asks the worker of a running task to end it.
func (c *change) halt(t store.Task, why string) error {
	if t.Status != store.Running {
		return nil
	}
	a, err := c.Attempt(t.Attempt)
	if err != nil {
		return missing(err, "attempt", t.Attempt)
	}
	if a.Stop == cancelled {
		return nil
	}
	a.Stop = cancelled
	c.PutAttempt(a)
	return c.event(store.Event{Kind: "attempt.stopping", Run: a.Run, Task: a.Task, Attempt: a.ID, Why: why}, a)
}

// Retry queues a failed or cancelled task again, with its full number of retries. It
// also queues the tasks that were cancelled only because of it. A run that had ended
// continues.
func (e *Engine) Retry(ctx context.Context, key store.TaskKey, who, why string) error {
	return e.write(ctx, who, store.Need{Runs: []string{key.Run}}, func(c *change) error {
		if err := c.free(key.Run); err != nil {
			return err
		}
		t, err := c.Task(key)
		if err != nil {
			return missing(err, "task", key.Task)
		}
		if t.Status != store.Failed && t.Status != store.Cancelled {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s and cannot be retried", t.Status)}
		}
		tasks, err := c.Tasks(key.Run)
		if err != nil {
			return err
		}
		if before, ok := hopeless(t, tasks); ok {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("waits for %s, which is %s; retry that", before.Task, before.Status)}
		}
		if err := c.resume(key.Run, why); err != nil {
			return err
		}
		if err := c.requeue(t, why); err != nil {
			return err
		}
		if err := c.requeueDropped(key.Run, why); err != nil {
			return err
		}
		return c.fill(key.Run)
	})
}

func (c *change) resume(id, why string) error {
	run, err := c.Run(id)
	if err != nil {
		return missing(err, "run", id)
	}
	run.Stopping = ""
	if run.Status == store.Running {
		c.PutRun(run)
		return c.event(store.Event{Kind: "run.resumed", Run: id, Why: why}, run)
	}
	return c.moveRun(run, store.Running, why)
}

// requeue restores a task's retries and recounts its blockers.
func (c *change) requeue(t store.Task, why string) error {
	if err := c.holds(t); err != nil {
		return err
	}
	t.Blockers = 0
	for _, id := range t.Needs {
		need, err := c.Task(store.TaskKey{Run: t.Run, Task: id})
		if err != nil {
			return missing(err, "task", id)
		}
		if need.Status != store.Complete {
			t.Blockers++
		}
	}
	t.Retries += t.Attempts
	t.Lost = 0
	t.Outcome, t.NotBefore = "", time.Time{}
	return c.move(&t, store.Queued, why)
}

// requeueDropped queues the tasks again that were cancelled because of others. It skips
// a task if one that it waits for has ended without being complete, or if another task
// holds its bead now.
func (c *change) requeueDropped(run, why string) error {
	for again := true; again; {
		again = false
		tasks, err := c.Tasks(run)
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
			err := c.requeue(t, why)
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
