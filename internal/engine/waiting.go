package engine

import (
	"time"

	"gaffer/internal/engine/store"
)

// Waiting for a person is no work: it counts neither for a task's timeout nor for
// what a task is said to have worked. An attempt waits from its first open question
// on. A closed question does not end the wait, because its agent does not know the
// answer yet: the wait ends with the worker's first beat after the last question
// was closed, to which the answers are the reply. So an answer that is given while
// no worker runs does not let the time to work pass unused.

// wait begins the wait of an attempt, if it does not wait already.
func (c *change) wait(a store.Attempt) error {
	if !a.WaitingSince.IsZero() {
		return nil
	}
	a.WaitingSince = c.now
	c.PutAttempt(a)
	return c.event(store.Event{Kind: "attempt.waiting", Run: a.Run, Task: a.Task, Attempt: a.ID}, a)
}

// workAgain ends the wait of an attempt that has no open question, and puts its
// deadline off by as long as it waited.
func (c *change) workAgain(a *store.Attempt) error {
	if a.WaitingSince.IsZero() {
		return nil
	}
	open, err := c.Questions(a.ID)
	if err != nil || len(open) > 0 {
		return err
	}
	before := a.Waited
	endWait(a, c.now)
	if !a.Deadline.IsZero() {
		a.Deadline = a.Deadline.Add(a.Waited - before)
	}
	c.PutAttempt(*a)
	return c.event(store.Event{Kind: "attempt.working", Run: a.Run, Task: a.Task, Attempt: a.ID}, *a)
}

func endWait(a *store.Attempt, now time.Time) {
	a.Waited, a.WaitingSince = a.WaitedBy(now), time.Time{}
}
