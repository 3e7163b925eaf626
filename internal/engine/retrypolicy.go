package engine

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

const (
	// cancelled is the stop reason of a run that a user has cancelled. It is also the stop reason
	// of an attempt that must end, for one of two reasons: a user has cancelled its task or its
	// run, or another task of the run has failed and the plan says that the run then ends at once.
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

// maxLostAttempts is how often a task is retried after an attempt was lost, which means that the
// attempt's worker or supervisor has crashed or is unreachable. If Task.Retries is larger,
// Task.Retries is the limit instead. A task may be the cause of such crashes; the limit prevents it
// from crashing one worker after the other.
const maxLostAttempts = 5

// decideNext decides whether and how a task is retried after an attempt has ended. The parameter
// class says why the attempt has failed. The counters of attempts in t already include this
// attempt. The parameter stop is the attempt's StopReason. jitter is a random number in [0, 1).
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
	// After a crash of the agent, the next attempt starts a new conversation. After the other
	// failures that reach this line, such as a timeout, the agent can continue its conversation.
	fresh := class == failure.Crashed
	return again(decision{Status: store.Queued, Counts: true, Delay: backoff(t.CountedAttempts, jitter), NewConversation: fresh})
}

// retryForMessage is called if a user's message waits for the agent of a task that is about to end.
// The receiver v is the decision that would end the task. retryForMessage returns a decision that
// queues the task again. The agent then continues its conversation; if the conversation is too long
// for the model, it starts a new one.
//
// In some cases, another attempt could not deliver the message: the user has cancelled the task,
// the user must do something first, or too many attempts at the task were lost. Then
// retryForMessage returns v unchanged.
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
