package engine

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

const (
	// cancelled is the stop reason of a run that a user has cancelled. It is also the stop reason
	// of an attempt that must end because a user has cancelled its task or its run, or because its
	// run ends at once after a failure.
	cancelled = "cancelled"
	// interrupted is the stop reason of an attempt that a user has interrupted.
	interrupted = string(failure.Interrupted)
)

// decision says what happens to a task after one of its attempts has ended.
type decision struct {
	Status          store.Status
	Counts          bool          // the attempt counts against the task's retries
	Delay           time.Duration // delay before the next attempt
	NewConversation bool          // the next attempt starts a new conversation
}

// maxLostAttempts is how often a task is retried after its attempts were lost. If Task.Retries is
// larger, Task.Retries is the limit instead. The limit prevents a task that crashes its workers
// from crashing all workers.
const maxLostAttempts = 5

// decideNext decides whether and how a task is retried after an attempt has ended with the given
// class. t's counters of attempts already include this attempt. stop is the attempt's StopReason.
// jitter is a random number in [0, 1).
func decideNext(class failure.Class, stop string, t store.Task, jitter float64) decision {
	again := func(v decision) decision {
		if t.CountedAttempts > t.Retries {
			return decision{Status: store.Failed, Counts: true}
		}
		return v
	}
	switch {
	case stop == cancelled:
		return decision{Status: store.Cancelled, Counts: true}
	case class == failure.None:
		return decision{Status: store.Complete, Counts: true}
	case class == failure.RateLimited, class == failure.Released:
		return decision{Status: store.Queued}
	case class == failure.Lost && t.Lost > max(maxLostAttempts, t.Retries):
		return decision{Status: store.Failed}
	case class == failure.Lost:
		return decision{Status: store.Queued, Delay: backoff(t.Lost, jitter)}
	case class == failure.VerifyFailed:
		return again(decision{Status: store.Queued, Counts: true})
	case class == failure.ContextOverflow:
		return again(decision{Status: store.Queued, Counts: true, NewConversation: true})
	case class == failure.Denied, class == failure.Auth, class == failure.NotStarted, class == failure.BadPlan, class == failure.OverBudget:
		return decision{Status: store.Failed, Counts: true}
	case class == failure.Cancelled, class == failure.Interrupted:
		return decision{Status: store.Cancelled, Counts: true}
	}
	// After a crash, the agent starts a new conversation. After the other failures that reach this
	// line, such as a timeout, it can continue its conversation.
	fresh := class == failure.Crashed
	return again(decision{Status: store.Queued, Counts: true, Delay: backoff(t.CountedAttempts, jitter), NewConversation: fresh})
}

// retryForMessage returns the decision to queue a task again because a message waits for its agent.
// v is the decision that would end the task. The agent continues its conversation, unless the
// conversation is too long for the model. retryForMessage returns v unchanged if another attempt
// could not deliver the message: the user has cancelled the task or must do something first, or too
// many attempts at the task were lost.
func (v decision) retryForMessage(class failure.Class, stop string, jitter float64) decision {
	if !v.Status.Final() || stop == cancelled {
		return v
	}
	switch class {
	case failure.Lost, failure.Auth, failure.NotStarted, failure.BadPlan, failure.OverBudget, failure.Cancelled:
		return v
	case failure.None, failure.Interrupted:
		return decision{Status: store.Queued, Counts: true}
	}
	return decision{Status: store.Queued, Counts: true, Delay: backoff(1, jitter), NewConversation: class == failure.ContextOverflow}
}

const (
	firstBackoff = 5 * time.Second
	lastBackoff  = 5 * time.Minute
)

// backoff returns the delay after the given number of failed attempts. The delay doubles with each
// attempt, up to lastBackoff, and varies randomly by up to 25 %.
func backoff(attempts int, jitter float64) time.Duration {
	wait := firstBackoff
	for range attempts - 1 {
		wait = min(2*wait, lastBackoff)
	}
	return time.Duration(float64(wait) * (0.75 + jitter/2))
}
