package recorder

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// afterStatusChange returns the session protocol's agent for a task whose status has
// changed.
//
// In the protocol, an agent never goes back to queued. If an attempt failed and will be
// retried, the agent stays running without a pid, and its error describes the failure
// until the next attempt starts. Its start time is the start of its first attempt. Only
// a user's retry of an ended task, or a message to its agent, resets the agent.
func afterStatusChange(a session.Agent, n eventContent) session.Agent {
	switch to := n.task.Status; {
	case to == store.Queued && n.attempt != nil && n.attempt.Status == store.Complete: // the agent continues with a message
		a.PID, a.Error = nil, nil
	case to == store.Queued && n.attempt != nil:
		a.PID, a.Error = nil, pointerTo(failureText(*n.attempt))
	case to == store.Queued:
		a = asQueued(a)
	case to == store.Running:
		a = asStarted(a, n)
	case to == store.Complete:
		a = asEnded(a, session.Complete, n)
		if n.attempt != nil { // otherwise the user withdrew the message for which the task was queued
			a.ExitCode = exitOf(*n.attempt)
		}
	case to == store.Failed && n.attempt != nil:
		a = asEnded(a, session.Failed, n)
		a.ExitCode, a.Error = exitOf(*n.attempt), pointerTo(failureText(*n.attempt))
	case to == store.Failed:
		a = asEnded(a, session.Failed, n)
		a.Error = pointerTo(n.task.Outcome + ": " + n.Why)
	case to == store.Cancelled:
		a = asEnded(a, session.Cancelled, n)
	}
	return a
}

// asQueued returns the agent in the queued state, without the results of earlier
// attempts.
func asQueued(a session.Agent) session.Agent {
	return session.Agent{
		ID: a.ID, Name: a.Name, PromptPath: a.PromptPath, Wave: a.Wave, Model: a.Model, Status: session.Queued,
	}
}

func asStarted(a session.Agent, n eventContent) session.Agent {
	if a.Status != session.Running {
		a = asQueued(a)
		a.Status, a.StartedAt = session.Running, session.Time{Time: n.attempt.Started}
	}
	a.PID, a.Error = pidOf(*n.attempt), nil
	return a
}

// asEnded returns the agent in a final state. It clears the exit code and the error,
// which a cancelled agent does not have. For other states the caller sets them.
func asEnded(a session.Agent, as session.State, n eventContent) session.Agent {
	a.Status, a.CompletedAt = as, session.Time{Time: n.At}
	a.DurationSeconds = seconds(a.StartedAt.Time, n.At)
	a.PID, a.ExitCode, a.Error = nil, nil, nil
	return a
}

// seconds returns the duration between two times for a document, in whole seconds. It
// is at least 1, because monitors read 0 as unknown. It is 0 if the clock was set back,
// and nil if from is not set.
func seconds(from, to time.Time) *float64 {
	if from.IsZero() {
		return nil
	}
	n := 0.0
	if took := to.Truncate(time.Second).Sub(from.Truncate(time.Second)); took >= 0 {
		n = max(1, took.Seconds())
	}
	return &n
}

// pidOf returns a pointer to a copy, so that the state of a large run does not keep
// attempts in memory.
func pidOf(a store.Attempt) *int {
	if a.PID == 0 {
		return nil
	}
	pid := a.PID
	return &pid
}

// exitOf returns the exit code of an attempt, or nil. A lost attempt has no exit code,
// because its end was not seen. For a complete attempt, only the code 0 is returned: the
// agent's final message decided the result, so a later failure, or a signal that stopped
// the program, says nothing about the work.
func exitOf(a store.Attempt) *int {
	if a.Exit < 0 || a.Class == failure.Lost || a.Status == store.Complete && a.Exit != 0 {
		return nil
	}
	exit := a.Exit // a copy, as in pidOf
	return &exit
}

// failureText describes in one sentence how an attempt failed.
func failureText(a store.Attempt) string {
	what := string(a.Class)
	if exit := exitOf(a); a.Class == failure.Crashed && exit != nil {
		what = fmt.Sprintf("exit code %d", *exit)
	}
	if a.Summary == "" {
		return what
	}
	return what + ": " + ledger.Summary(a.Summary)
}

func pointerTo(s string) *string { return &s }
