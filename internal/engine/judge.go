package engine

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// cancelled is the stop reason of a run or an attempt that a user cancels.
const cancelled = "cancelled"

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
		if t.Attempts > t.Retries {
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
	case class == failure.Cancelled:
		return verdict{To: store.Cancelled, Counts: true}
	}
	fresh := class == failure.Crashed // after the other failures the conversation is still usable
	return again(verdict{To: store.Queued, Counts: true, Wait: backoff(t.Attempts, jitter), Fresh: fresh})
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
