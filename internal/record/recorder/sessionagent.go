package recorder

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// afterStatusChange returns the session protocol's agent a as it is after the status of its task
// has changed.
//
// If an attempt failed and will be retried, the agent does not go back to queued: it stays running
// without a pid, and its error describes the failure until the next attempt starts. Its start time
// is the start of its first attempt. Only two things reset the agent: a user retries the ended
// task, or sends a message to its agent.
func afterStatusChange(a session.Agent, n eventContent) session.Agent {
	switch to := n.task.Status; {
	case to == store.Queued && n.attempt != nil && n.attempt.Status == store.Complete: // the task is queued again because a user has sent a message to its agent
		a.PID, a.Error = nil, nil
	case to == store.Queued && n.attempt != nil:
		a.PID, a.Error = nil, pointerTo(failureText(*n.attempt))
	case to == store.Queued:
		a = asQueued(a)
	case to == store.Running:
		a = asStarted(a, n)
	case to == store.Complete:
		a = asEnded(a, session.Complete, n)
		if n.attempt != nil { // nil if the task is complete again because the user withdrew a message
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

// asQueued returns the agent as queued, without the results of earlier attempts.
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

// asEnded returns the agent with the status final, without exit code and error. The caller sets
// these two, except for a cancelled agent.
func asEnded(a session.Agent, final session.State, n eventContent) session.Agent {
	a.Status, a.CompletedAt = final, session.Time{Time: n.At}
	a.DurationSeconds = seconds(a.StartedAt.Time, n.At)
	a.PID, a.ExitCode, a.Error = nil, nil, nil
	return a
}

// seconds returns the duration between two times in whole seconds, for a document. It is at least
// 1, because programs that show the document read 0 as unknown. It is 0 if end is before start,
// because the clock was set back. It is nil if start is zero.
func seconds(start, end time.Time) *float64 {
	if start.IsZero() {
		return nil
	}
	n := 0.0
	if took := end.Truncate(time.Second).Sub(start.Truncate(time.Second)); took >= 0 {
		n = max(1, took.Seconds())
	}
	return &n
}

// pidOf returns a pointer to a copy of the attempt's process id, or nil if the id is unknown. With
// a pointer into the attempt, the state of a large run would keep all attempts in memory.
func pidOf(a store.Attempt) *int {
	if a.PID == 0 {
		return nil
	}
	pid := a.PID
	return &pid
}

// exitOf returns the exit code of an attempt, or nil if it has none or the code says nothing about
// the work. A lost attempt has none, because its end was not seen. The exit code of a complete
// attempt matters only if it is 0: the agent's final message decided the result, so a later
// failure, or a signal that stopped the program, is ignored.
func exitOf(a store.Attempt) *int {
	if a.Exit < 0 || a.Class == failure.Lost || a.Status == store.Complete && a.Exit != 0 {
		return nil
	}
	exit := a.Exit // return a pointer to a copy, for the same reason as in pidOf
	return &exit
}

// failureText returns a short text that says how an attempt failed: the exit code or the failure
// class, and the attempt's summary if it has one.
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
