package engine

import (
	"time"

	"gaffer/internal/engine/store"
)

// Time spent waiting for a user does not count as work: neither for a task's timeout
// nor for its reported working time. An attempt waits from its first open question on.
// Closing a question does not end the wait, because the agent does not know the answer
// yet. The wait ends with the worker's first heartbeat after the last question was
// closed; the reply to that heartbeat carries the answers. So an answer that is given
// while no worker is running does not use up the task's timeout.

// startWait starts the wait of an attempt, if it is not waiting already.
func (qs *questions) startWait(a store.Attempt) error {
	if !a.WaitingSince.IsZero() {
		return nil
	}
	a.WaitingSince = qs.now
	qs.PutAttempt(a)
	return qs.attemptEvent("attempt.waiting", a, "")
}

// endWaitIfAnswered ends the wait of an attempt that has no open question, and extends its
// deadline by the time that it has waited.
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
