package engine

import (
	"fmt"
	"strings"

	"gaffer/internal/engine/store"
)

// propagation updates a run and its other tasks after the status of one task has changed.
type propagation struct {
	*txContext
	states *taskStates
}

// statusChanged updates the run of t, and the run's other tasks, after the status of t has changed.
func (p *propagation) statusChanged(t store.Task) error {
	run, err := p.run(t.Run)
	if err != nil {
		return err
	}
	switch t.Status {
	case store.Complete:
		err = p.states.unblockDependents(t.TaskKey)
	case store.Failed:
		err = p.taskFailed(t)
	case store.Cancelled:
		err = p.cancelDependents(t)
	case store.Queued: // the task is queued for another attempt
		if run.Stopping != "" {
			err = p.cancelQueued(t.TaskKey, "the run is stopping: "+run.Stopping)
		} else {
			err = p.checkNeeds(t)
		}
	}
	if err != nil {
		return err
	}
	if err := p.states.makeTasksReady(t.Run); err != nil {
		return err
	}
	return p.states.endRunIfDone(t.Run)
}

// taskFailed cancels the tasks that need the failed task t. It also stops the run if the plan's
// OnFail setting says so and t is not Optional.
func (p *propagation) taskFailed(t store.Task) error {
	if err := p.cancelDependents(t); err != nil {
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
		if err := p.stopRun(run, why); err != nil {
			return err
		}
	}
	if run.OnFail == store.EndOnFail {
		return p.stopAllTasks(t.Run, why)
	}
	return nil
}

// stopRun makes sure that no more tasks of a run start: it cancels the queued tasks. Running tasks
// continue.
func (p *propagation) stopRun(run store.Run, why string) error {
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
		if err := p.cancelQueued(t.TaskKey, "the run is stopping: "+why); err != nil {
			return err
		}
	}
	return nil
}

// cancelDependents cancels the tasks that cannot start any more, because t has ended without being
// complete. These are the tasks that need t and, unless t is Optional, the tasks of later waves. A
// wave is a group of tasks that start only when all earlier waves have ended. A task with AnyNeed
// needs only one complete task; for such a task, cancelDependents calls needEnded instead.
func (p *propagation) cancelDependents(t store.Task) error {
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
			err = p.needEnded(task, why)
		} else {
			err = p.cancelQueued(task.TaskKey, why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNeeds updates t, which is queued for another attempt. While t was running, a task that t
// needs may have been queued again, and may then have ended without being complete. If t cannot
// start any more because of this, checkNeeds ends t. Otherwise, it updates the number of tasks that
// t waits for.
func (p *propagation) checkNeeds(t store.Task) error {
	n, err := p.countNeeds(t)
	if err != nil {
		return err
	}
	switch {
	case t.AnyNeed && n.complete == 0 && n.open == 0 && len(t.Needs) > 0:
		return p.endWithoutNeed(t, n, "no task that it needs is complete")
	case t.AnyNeed:
		return p.states.setBlockers(t, n.open)
	case n.complete+n.open == len(t.Needs):
		return p.states.setBlockers(t, len(t.Needs)-n.complete)
	}
	tasks, err := p.Tasks(t.Run)
	if err != nil {
		return err
	}
	why := "a task that it needs is not complete"
	if need, ok := failedNeed(t, tasks); ok {
		why = fmt.Sprintf("%s is %s", need.Task, need.Status)
	}
	return p.cancelQueued(t.TaskKey, why)
}

// needEnded updates t, a task with AnyNeed, after one of the tasks that t needs has ended without
// being complete. A task with AnyNeed starts when all tasks that it needs have ended and at least
// one of them is complete. If all have ended and none is complete, needEnded calls endWithoutNeed.
func (p *propagation) needEnded(t store.Task, why string) error {
	// Read the task again, because it may have changed since the caller has read it.
	t, err := p.task(t.TaskKey)
	if err != nil || t.Status != store.Queued {
		return err
	}
	n, err := p.countNeeds(t)
	switch {
	case err != nil:
		return err
	case n.complete > 0 || n.open > 0:
		return p.states.unblockOne(t, why)
	}
	return p.endWithoutNeed(t, n, why)
}

// endWithoutNeed ends t, a queued task with AnyNeed, because all tasks that t needs have ended and
// none of them is complete. t is cancelled if all of them were cancelled, and fails otherwise.
func (p *propagation) endWithoutNeed(t store.Task, n needCounts, why string) error {
	if n.failed == 0 {
		return p.cancelQueued(t.TaskKey, why)
	}
	t.Outcome = dependencyOutcome
	if err := p.states.setStatus(&t, store.Failed, "none of "+strings.Join(t.Needs, ", ")+" is complete"); err != nil {
		return err
	}
	return p.taskFailed(t)
}

// needCounts counts the tasks that one task needs: how many of them are complete, how many are
// unfinished, and how many have failed.
type needCounts struct{ complete, open, failed int }

func (c *txContext) countNeeds(t store.Task) (n needCounts, err error) {
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

// cancelQueued cancels a queued task and the tasks that need it. If the task had already ended and
// was queued again only for a user's message, it gets its earlier status back instead. cancelQueued
// does nothing if the task is running or has ended.
func (p *propagation) cancelQueued(key store.TaskKey, why string) error {
	t, err := p.task(key)
	if err != nil {
		return err
	}
	if t.Status != store.Queued {
		return nil
	}
	if err := p.states.endQueued(&t, dependencyOutcome, why); err != nil {
		return err
	}
	return p.endedUnstarted(t)
}

// endedUnstarted updates the tasks that need t, after t has ended while it was queued. t can be
// complete here only if it was complete before and was queued again for a user's message.
func (p *propagation) endedUnstarted(t store.Task) error {
	if t.Status == store.Complete {
		return p.states.unblockDependents(t.TaskKey)
	}
	return p.cancelDependents(t)
}

// dependencyOutcome is the Outcome of a task that has ended while it was queued, because another
// task has failed or was cancelled, or because its run is stopping.
const dependencyOutcome = "dependency"

// stopAllTasks asks the workers to end all running tasks of a run.
func (p *propagation) stopAllTasks(run, why string) error {
	tasks, err := p.Tasks(run)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := p.stopTask(t, why); err != nil {
			return err
		}
	}
	return nil
}

// stopTask asks the worker of a running task to end the attempt, so that the task is cancelled. It
// does nothing if the task is not running or is already being cancelled. The parameter reason is
// the text of the event that stopTask appends.
func (p *propagation) stopTask(t store.Task, reason string) error {
	if t.Status != store.Running {
		return nil
	}
	a, err := p.attempt(t.RunningAttempt)
	if err != nil || a.StopReason == cancelled {
		return err
	}
	a.StopReason = cancelled
	p.PutAttempt(a)
	return p.attemptEvent("attempt.stopping", a, reason)
}
