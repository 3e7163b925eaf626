package engine

import (
	"time"

	"gaffer/internal/engine/store"
)

// The time that an attempt waits for a user counts neither for the task's timeout nor for
// its reported working time. An attempt waits from its first open question on. When the
// last question is closed, the agent does not have the answer yet. So the wait ends with
// the worker's next heartbeat, because the reply to it contains the answers. If no worker
// is running when the user answers, the time until it runs again does not count either.

// startWait starts the wait of an attempt, if it is not waiting already.
func (qs *questions) startWait(a store.Attempt) error {
	if !a.WaitingSince.IsZero() {
		return nil
	}
	a.WaitingSince = qs.now
	qs.PutAttempt(a)
	return qs.attemptEvent("attempt.waiting", a, "")
}

// endWaitIfAnswered ends the wait of an attempt that has no open question, and extends the
// attempt's deadline by the duration of the wait.
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
