package engine

import (
	"time"

	"gaffer/internal/engine/store"
)

// The time that an attempt waits for a user counts neither for the task's timeout nor for its
// reported working time. The wait starts with the attempt's first open question. When the last
// question is answered, the agent does not have the answer yet: it comes with the reply to the
// worker's next heartbeat. So the wait ends with that heartbeat. If the worker is offline when the
// user answers, the time until it is back is part of the wait too.

// startWait records that attempt a waits for a user from now on. It does nothing if a already
// waits.
func (qs *questions) startWait(a store.Attempt) error {
	if !a.WaitingSince.IsZero() {
		return nil
	}
	a.WaitingSince = qs.now
	qs.PutAttempt(a)
	return qs.attemptEvent("attempt.waiting", a, "")
}

// endWaitIfAnswered ends an attempt's wait for the user if all its questions are closed, and
// extends the attempt's deadline by the duration of the wait.
func (qs *questions) endWaitIfAnswered(a *store.Attempt) error {
	if a.WaitingSince.IsZero() {
		return nil
	}
	open, err := qs.Questions(a.ID)
	if err != nil || len(open) > 0 {
		return err
	}
	before := a.Waited
	endWait(a, qs.now)
	if !a.Deadline.IsZero() {
		a.Deadline = a.Deadline.Add(a.Waited - before)
	}
	qs.PutAttempt(*a)
	return qs.attemptEvent("attempt.working", *a, "")
}

func endWait(a *store.Attempt, now time.Time) {
	a.Waited, a.WaitingSince = a.WaitedBy(now), time.Time{}
}
