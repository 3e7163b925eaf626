package engine

import (
	"time"

	"gaffer/internal/engine/store"
)

// The time that an attempt waits for a user counts neither towards the task's timeout nor towards
// the attempt's working time. The wait starts with the attempt's first open question. An answer
// reaches the agent only with the reply to the worker's next heartbeat. So when the last question
// is answered, the wait continues until that heartbeat, even if the worker is offline for some
// time.

// startWait records that the attempt a waits for a user from now on. It does nothing if the attempt
// already waits.
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
