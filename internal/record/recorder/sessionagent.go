package recorder

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// afterStatusChange returns the entry of a task in the session's document, changed to match the new
// status of the task. The session protocol calls such an entry, the parameter a, an agent.
//
// If an attempt failed and will be retried, the agent stays running and keeps its start time. Until
// the next attempt starts, the agent has no pid, and its error describes the failure. If an ended
// task is queued again, for example because a user retries it, the agent becomes queued.
func afterStatusChange(a session.Agent, n eventContent) session.Agent {
	switch to := n.task.Status; {
	case to == store.Queued && n.attempt != nil && n.attempt.Status == store.Complete:
		// The attempt succeeded, but meanwhile a user has sent a message to the agent. So the task
		// is queued again.
		a.PID, a.Error = nil, nil
	case to == store.Queued && n.attempt != nil:
		a.PID, a.Error = nil, pointerTo(failureText(*n.attempt))
	case to == store.Queued:
		a = asQueued(a)
	case to == store.Running:
		a = asStarted(a, n)
	case to == store.Complete:
		a = asEnded(a, session.Complete, n)
		// n.attempt is nil if the task was complete, was queued again because of a user's message,
		// and is complete again because the message was withdrawn.
		if n.attempt != nil {
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

// asEnded returns the agent a with its status set to the parameter final, and without an exit code
// and an error. The caller sets the exit code and the error if they are known.
func asEnded(a session.Agent, final session.State, n eventContent) session.Agent {
	a.Status, a.CompletedAt = final, session.Time{Time: n.At}
	a.DurationSeconds = seconds(a.StartedAt.Time, n.At)
	a.PID, a.ExitCode, a.Error = nil, nil, nil
	return a
}

// seconds returns the duration between two times in whole seconds, as written to a document. If the
// duration is below one second, it returns 1, because programs that show the document take 0 as
// unknown. If end is before start, which happens if the clock was set back, it returns 0. If start
// is zero, it returns nil.
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

// pidOf returns a pointer to a copy of the attempt's process id, or nil if the id is unknown. It
// copies the id, because a pointer into the attempt would keep the whole attempt in memory.
func pidOf(a store.Attempt) *int {
	if a.PID == 0 {
		return nil
	}
	pid := a.PID
	return &pid
}

// exitOf returns the exit code of an attempt, or nil if no code should be shown. The exit code of a
// lost attempt is unknown. A successful attempt may have an exit code other than 0: for agents such
// as Claude Code, the final message decides whether an attempt succeeds. Such a code is not shown.
func exitOf(a store.Attempt) *int {
	if a.Exit < 0 || a.Class == failure.Lost || a.Status == store.Complete && a.Exit != 0 {
		return nil
	}
	exit := a.Exit // copy, so that the pointer does not keep the attempt in memory
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
