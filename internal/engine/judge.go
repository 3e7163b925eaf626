package engine

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

const (
	// cancelled is the stop reason of a run or an attempt that a user cancels.
	cancelled = "cancelled"
	// interrupted is the stop reason of an attempt that a user interrupts.
	interrupted = string(failure.Interrupted)
)

// verdict describes what follows from the end of an attempt.
type verdict struct {
	To     store.Status
	Counts bool          // the attempt counts against the task's retries
	Wait   time.Duration // before the next attempt
	Fresh  bool          // the next attempt starts a new conversation
}

// afterLost is how many lost attempts of a task are retried, unless its retries allow
// more. A task that keeps killing its workers must not take down one worker after the
// other.
const afterLost = 5

// judge decides what follows when an attempt at t ends. The counters of t include this
// attempt. A non-empty stop means that the attempt was asked to stop. jitter is in [0,
// 1).
func judge(class failure.Class, stop string, t store.Task, jitter float64) verdict {
	again := func(v verdict) verdict {
		if t.CountedAttempts > t.Retries {
			return verdict{To: store.Failed, Counts: true}
		}
		return v
	}
	switch {
	case stop == cancelled:
		return verdict{To: store.Cancelled, Counts: true}
	case class == failure.None:
		return verdict{To: store.Complete, Counts: true}
	case class == failure.RateLimited, class == failure.Released:
		return verdict{To: store.Queued}
	case class == failure.Lost && t.Lost > max(afterLost, t.Retries):
		return verdict{To: store.Failed}
	case class == failure.Lost:
		return verdict{To: store.Queued, Wait: backoff(t.Lost, jitter)}
	case class == failure.VerifyFailed:
		return again(verdict{To: store.Queued, Counts: true})
	case class == failure.ContextOverflow:
		return again(verdict{To: store.Queued, Counts: true, Fresh: true})
	case class == failure.Denied, class == failure.Auth, class == failure.NotStarted, class == failure.BadPlan, class == failure.OverBudget:
		return verdict{To: store.Failed, Counts: true}
	case class == failure.Cancelled, class == failure.Interrupted:
		return verdict{To: store.Cancelled, Counts: true}
	}
	fresh := class == failure.Crashed // after the other failures the conversation is still usable
	return again(verdict{To: store.Queued, Counts: true, Wait: backoff(t.CountedAttempts, jitter), Fresh: fresh})
}

// again changes the verdict on an attempt that would end its task, because a message
// waits for the agent: the task is queued again, in the same conversation.
// It leaves a verdict alone if another attempt would not get further: the user has
// cancelled the task or must act first, or the task ends its workers.
func (v verdict) again(class failure.Class, stop string, jitter float64) verdict {
	if !v.To.Final() || stop == cancelled {
		return v
	}
	switch class {
	case failure.Lost, failure.Auth, failure.NotStarted, failure.BadPlan, failure.OverBudget, failure.Cancelled:
		return v
	case failure.None, failure.Interrupted:
		return verdict{To: store.Queued, Counts: true}
	}
	return verdict{To: store.Queued, Counts: true, Wait: backoff(1, jitter), Fresh: class == failure.ContextOverflow}
}

const (
	firstBackoff = 5 * time.Second
	lastBackoff  = 5 * time.Minute
)

// backoff doubles with each attempt, up to lastBackoff, with a jitter of 25 % either
// way.
func backoff(attempts int, jitter float64) time.Duration {
	wait := firstBackoff
	for range attempts - 1 {
		wait = min(2*wait, lastBackoff)
	}
	return time.Duration(float64(wait) * (0.75 + jitter/2))
}
