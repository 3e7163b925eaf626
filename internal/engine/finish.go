package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Finish is a worker's report of how an attempt ended.
type Finish struct {
	Attempt string
	Token   int64
	Key     string // repeating the key returns the same answer

	fleet.Progress // its last; LogFrom is also set if it never started
	fleet.Ending
	Final bool      // do not retry this failure, whatever the task allows
	Reset time.Time // when the rate limit ends
}

// Outcome describes what follows from the end of an attempt.
type Outcome struct {
	Status store.Status `json:"status"`          // of the task
	Retry  time.Time    `json:"retry,omitzero"`  // earliest time of the next attempt, if the task is queued again
	Fresh  bool         `json:"fresh,omitempty"` // the next attempt starts a new conversation
}

// Finish ends an attempt. If the attempt was given up, or another one has started, it
// changes nothing and returns a [*ConflictError].
func (e *Engine) Finish(ctx context.Context, f Finish) (o Outcome, err error) {
	need := store.Need{Promises: promiseNeed("finish", f.Key), Attempts: []string{f.Attempt}}
	err = e.write(ctx, "", need, func(c *change) error {
		o, err = once(c, "finish", f.Key, func() (Outcome, error) { return c.finish(f) })
		return err
	})
	return o, err
}

func (c *change) finish(f Finish) (Outcome, error) {
	a, err := c.owned(f.Attempt, f.Token)
	if err != nil {
		return Outcome{}, err
	}
	c.who = a.Worker
	if err := c.compacted(a, f.Compactions, f.Compacted); err != nil {
		return Outcome{}, err
	}
	a.Ending = f.Ending
	if f.Spent != (store.Amount{}) { // zero for a lost attempt: keep the amount of its last heartbeat
		a.Spent = f.Spent
	}
	a.Thread, a.Log, a.LogFrom = cmp.Or(f.Thread, a.Thread), cmp.Or(f.Log, a.Log), cmp.Or(a.LogFrom, f.LogFrom)
	if f.Class == failure.RateLimited {
		t, err := c.Task(a.Key())
		if err != nil {
			return Outcome{}, missing(err, "task", a.Task)
		}
		if err := c.pause(t.Lane, f.Reset); err != nil {
			return Outcome{}, err
		}
	}
	return c.end(a, f.Class, f.Final)
}

// owned returns a running attempt if token is its fencing token.
func (c *change) owned(id string, token int64) (store.Attempt, error) {
	a, err := c.Attempt(id)
	if err != nil {
		return a, missing(err, "attempt", id)
	}
	if a.Token != token {
		return a, &ConflictError{"attempt " + id, "was given to somebody else"}
	}
	if a.Status != store.Running {
		return a, &ConflictError{"attempt " + id, fmt.Sprintf("is %s already", a.Status)}
	}
	return a, nil
}

// end ends an attempt and updates its task and its run.
func (c *change) end(a store.Attempt, class failure.Class, final bool) (Outcome, error) {
	t, err := c.Task(a.Key())
	if err != nil {
		return Outcome{}, missing(err, "task", a.Task)
	}
	if a.Stop != "" && a.Stop != cancelled && class != failure.None {
		class = failure.Class(a.Stop)
	}
	if class == failure.Lost {
		t.Lost++
	}
	v := judge(class, a.Stop, t, c.engine.opts.Rand())
	if class == failure.Lost && v.To == store.Failed {
		a.Summary = fmt.Sprintf("%s; %d attempts at this task were lost, so the task may be what ends its workers: find out why before you retry it",
			cmp.Or(a.Summary, "the attempt was lost"), t.Lost)
	}
	if final && v.To == store.Queued {
		v = verdict{To: store.Failed, Counts: true}
	}
	endAttempt(&a, class, v, c.now)
	if err := c.closeQuestions(a.ID); err != nil {
		return Outcome{}, err
	}
	if err := c.giveBack(a, t); err != nil {
		return Outcome{}, err
	}
	t.Attempt, t.Last, t.Fresh, t.Outcome = "", a.ID, v.Fresh, string(class)
	if !v.Counts {
		t.Attempts--
	}
	if t.NotBefore, err = c.retryTime(a.Run, v.Wait); err != nil {
		return Outcome{}, err
	}
	o := Outcome{Status: v.To, Retry: t.NotBefore, Fresh: v.Fresh}
	if err := c.moveWith(&t, &a, v.To, a.Summary); err != nil {
		return o, err
	}
	return o, c.follow(t)
}

// retryTime returns when a task may be tried again. In an ordered run it may be at
// once: if it waited, the next task would overtake it.
func (c *change) retryTime(id string, wait time.Duration) (time.Time, error) {
	if wait == 0 {
		return time.Time{}, nil
	}
	run, err := c.Run(id)
	if err != nil || run.Ordered {
		return time.Time{}, missing(err, "run", id)
	}
	return c.now.Add(wait), nil
}

// follow updates the other tasks of a run after a task has changed its status.
func (c *change) follow(t store.Task) error {
	var err error
	switch t.Status {
	case store.Complete:
		err = c.unblock(t.TaskKey)
	case store.Failed:
		return c.failed(t)
	case store.Cancelled:
		err = c.abandon(t)
	case store.Queued:
		err = c.stopQueued(t)
	}
	if err != nil {
		return err
	}
	if err := c.fill(t.Run); err != nil {
		return err
	}
	return c.settle(t.Run)
}

// stopQueued cancels a task that waits for a retry if its run is stopping.
func (c *change) stopQueued(t store.Task) error {
	run, err := c.Run(t.Run)
	if err != nil {
		return missing(err, "run", t.Run)
	}
	if run.Stopping == "" {
		return nil
	}
	return c.drop(t.TaskKey, "the run is stopping: "+run.Stopping)
}

// failed handles a failed task: it cancels the tasks that need it, and stops the run if
// the run stops on failure.
func (c *change) failed(t store.Task) error {
	if err := c.abandon(t); err != nil {
		return err
	}
	run, err := c.Run(t.Run)
	if err != nil {
		return missing(err, "run", t.Run)
	}
	if run.OnFail != "" && run.Stopping == "" {
		if err := c.stop(run, t.Task+" failed"); err != nil {
			return err
		}
	}
	if run.OnFail == store.EndOnFail {
		if err := c.haltAll(t.Run, t.Task+" failed"); err != nil {
			return err
		}
	}
	if err := c.fill(t.Run); err != nil {
		return err
	}
	return c.settle(t.Run)
}

// stop prevents any more tasks of a run from starting. Running tasks continue.
func (c *change) stop(run store.Run, why string) error {
	run.Stopping = why
	c.PutRun(run)
	if err := c.event(store.Event{Kind: "run.stopping", Run: run.ID, Why: why}, run); err != nil {
		return err
	}
	tasks, err := c.Tasks(run.ID)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := c.drop(t.TaskKey, "the run is stopping: "+why); err != nil {
			return err
		}
	}
	return nil
}

func endAttempt(a *store.Attempt, class failure.Class, v verdict, now time.Time) {
	a.Class, a.Ended, a.State, a.Doing = class, now, "", ""
	endWait(a, now)
	switch {
	case v.To == store.Cancelled:
		a.Status = store.Cancelled
	case class == failure.None:
		a.Status = store.Complete
	default:
		a.Status = store.Failed
	}
}

// giveBack replaces an attempt's reserved budget by the amount that it has spent, and
// adds its working and waiting time to the run.
func (c *change) giveBack(a store.Attempt, t store.Task) error {
	run, err := c.Run(a.Run)
	if err != nil {
		return missing(err, "run", a.Run)
	}
	run.Reserved = minus(run.Reserved, t.Reserve)
	run.Spent = plus(run.Spent, a.Spent)
	run.Waited += a.Waited
	run.Worked += max(a.Ended.Sub(a.Started)-a.Waited, 0)
	c.PutRun(run)
	return nil
}
