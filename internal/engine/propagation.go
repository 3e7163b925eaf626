package engine

import (
	"fmt"
	"strings"

	"gaffer/internal/engine/store"
)

// propagation applies what happened to one task to the other tasks of its run, and to
// the run.
type propagation struct {
	*change
	schedule *schedule
}

// follow updates the other tasks of a run after a task has changed its status.
func (p *propagation) follow(t store.Task) error {
	run, err := p.run(t.Run)
	if err != nil {
		return err
	}
	switch t.Status {
	case store.Complete:
		err = p.schedule.unblock(t.TaskKey)
	case store.Failed:
		err = p.failed(t)
	case store.Cancelled:
		err = p.abandon(t)
	case store.Queued: // for a retry
		if run.Stopping != "" {
			err = p.drop(t.TaskKey, "the run is stopping: "+run.Stopping)
		}
	}
	if err != nil {
		return err
	}
	if err := p.schedule.fill(t.Run); err != nil {
		return err
	}
	return p.schedule.settle(t.Run)
}

// failed cancels the tasks that need a failed one, and stops the run if the run stops
// on failure.
func (p *propagation) failed(t store.Task) error {
	if err := p.abandon(t); err != nil {
		return err
	}
	run, err := p.run(t.Run)
	if err != nil {
		return err
	}
	if t.Optional {
		return nil
	}
	why := t.Task + " failed"
	if run.OnFail != "" && run.Stopping == "" {
		if err := p.stop(run, why); err != nil {
			return err
		}
	}
	if run.OnFail == store.EndOnFail {
		return p.haltAll(t.Run, why)
	}
	return nil
}

// stop prevents any more tasks of a run from starting. Running tasks continue.
func (p *propagation) stop(run store.Run, why string) error {
	run.Stopping = why
	p.PutRun(run)
	if err := p.event(store.Event{Kind: "run.stopping", Run: run.ID, Why: why}, run); err != nil {
		return err
	}
	tasks, err := p.Tasks(run.ID)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := p.drop(t.TaskKey, "the run is stopping: "+why); err != nil {
			return err
		}
	}
	return nil
}

// abandon cancels the tasks that can no longer start because t did not complete: the
// tasks that need it, and those of later waves.
func (p *propagation) abandon(t store.Task) error {
	why := fmt.Sprintf("%s is %s", t.Task, t.Status)
	below, err := p.Dependents(t.TaskKey)
	if err != nil {
		return err
	}
	if t.Wave > 0 && !t.Optional {
		all, err := p.Tasks(t.Run)
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Wave > t.Wave {
				below = append(below, other)
			}
		}
	}
	for _, task := range below {
		if task.AnyNeed {
			err = p.withoutNeed(task, why)
		} else {
			err = p.drop(task.TaskKey, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutNeed continues a task that needs any of several tasks, after one of them has
// ended without being complete. If that was the last one and none is complete, the task
// fails. It is cancelled if all of them were.
func (p *propagation) withoutNeed(t store.Task, why string) error {
	t, err := p.task(t.TaskKey) // it may have changed since it was listed
	if err != nil || t.Status != store.Queued {
		return err
	}
	n, err := p.needsOf(t)
	switch {
	case err != nil:
		return err
	case n.complete > 0 || n.open > 0:
		return p.schedule.unblockOne(t, why)
	case n.failed == 0:
		return p.drop(t.TaskKey, why)
	}
	t.Outcome = dependency
	if err := p.schedule.move(&t, store.Failed, "none of "+strings.Join(t.Needs, ", ")+" is complete"); err != nil {
		return err
	}
	return p.failed(t)
}

// needs is the number of tasks that a task needs, by status.
type needs struct{ complete, open, failed int }

func (c *change) needsOf(t store.Task) (n needs, err error) {
	for _, id := range t.Needs {
		need, err := c.task(store.TaskKey{Run: t.Run, Task: id})
		switch {
		case err != nil:
			return n, err
		case need.Status == store.Complete:
			n.complete++
		case need.Status == store.Failed:
			n.failed++
		case !need.Status.Final():
			n.open++
		}
	}
	return n, nil
}

// drop cancels a task that has not started, and the tasks that need it.
func (p *propagation) drop(key store.TaskKey, why string) error {
	t, err := p.task(key)
	if err != nil {
		return err
	}
	if t.Status != store.Queued {
		return nil
	}
	if err := p.schedule.unqueue(&t, dependency, why); err != nil {
		return err
	}
	return p.ended(t)
}

// ended updates the tasks that need a task which has ended without an attempt.
func (p *propagation) ended(t store.Task) error {
	if t.Status == store.Complete {
		return p.schedule.unblock(t.TaskKey)
	}
	return p.abandon(t)
}

// dependency is the outcome of a task that was cancelled because of another task, or
// because its run stops.
const dependency = "dependency"

// haltAll asks the workers to end all running tasks of a run.
func (p *propagation) haltAll(run, why string) error {
	tasks, err := p.Tasks(run)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := p.halt(t, why); err != nil {
			return err
		}
	}
	return nil
}

// halt asks the worker of a running task to end it.
func (p *propagation) halt(t store.Task, why string) error {
	if t.Status != store.Running {
		return nil
	}
	a, err := p.attempt(t.RunningAttempt)
	if err != nil || a.StopReason == cancelled {
		return err
	}
	a.StopReason = cancelled
	p.PutAttempt(a)
	return p.attemptEvent("attempt.stopping", a, why)
}
