package recorder

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// moved returns the agent of a task after the task's status has changed.
//
// The protocol's agent never goes back: one whose attempt failed and will be
// tried again stays running, with no pid, and its error says what went wrong
// until the next attempt begins. It started when its first attempt did. Only a
// person's retry of a task that had ended begins it anew.
func moved(a session.Agent, n news) session.Agent {
	switch to := n.task.Status; {
	case to == store.Queued && n.tried != nil:
		a.PID, a.Error = nil, text(wrong(*n.tried))
	case to == store.Queued:
		a = queued(a)
	case to == store.Running:
		a = started(a, n)
	case to == store.Complete:
		a = ended(a, session.Complete, n)
		a.ExitCode = exitOf(*n.tried)
	case to == store.Failed && n.tried != nil:
		a = ended(a, session.Failed, n)
		a.ExitCode, a.Error = exitOf(*n.tried), text(wrong(*n.tried))
	case to == store.Failed:
		a = ended(a, session.Failed, n)
		a.Error = text(n.task.Outcome + ": " + n.Why)
	case to == store.Cancelled:
		a = ended(a, session.Cancelled, n)
	}
	return a
}

// queued is an agent that nothing has happened to.
func queued(a session.Agent) session.Agent {
	return session.Agent{
		ID: a.ID, Name: a.Name, PromptPath: a.PromptPath, Wave: a.Wave, Model: a.Model, Status: session.Queued,
	}
}

func started(a session.Agent, n news) session.Agent {
	if a.Status != session.Running {
		a = queued(a)
		a.Status, a.StartedAt = session.Running, session.Time{Time: n.tried.Started}
	}
	a.PID, a.Error = pidOf(*n.tried), nil
	return a
}

// ended leaves an agent without exit code and error, which a cancelled one has
// not.
func ended(a session.Agent, as session.State, n news) session.Agent {
	a.Status, a.CompletedAt = as, session.Time{Time: n.At}
	a.DurationSeconds = seconds(a.StartedAt.Time, n.At)
	a.PID, a.ExitCode, a.Error = nil, nil, nil
	return a
}

// seconds is the time between two times as a document has them, 1 if it took
// less, since monitors take 0 for unknown, 0 if the clock was set back, nil if it
// has not begun.
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

// pidOf returns the number alone: the picture of a large run must not hold on to
// attempts.
func pidOf(a store.Attempt) *int {
	if a.PID == 0 {
		return nil
	}
	pid := a.PID
	return &pid
}

// exitOf is the exit code of an attempt, nil if it has none: the end of a lost one
// was not seen. Of a complete one it is 0 or nil. Its last word decided, and a
// program that fails afterwards, or that was told to stop because it did not exit,
// says nothing about the work.
func exitOf(a store.Attempt) *int {
	if a.Exit < 0 || failure.Class(a.Class) == failure.Lost || a.Status == store.Complete && a.Exit != 0 {
		return nil
	}
	exit := a.Exit // alone, as in pidOf
	return &exit
}

// wrong says in a sentence how an attempt failed.
func wrong(a store.Attempt) string {
	what := a.Class
	if exit := exitOf(a); failure.Class(a.Class) == failure.Crashed && exit != nil {
		what = fmt.Sprintf("exit code %d", *exit)
	}
	if a.Summary == "" {
		return what
	}
	return what + ": " + ledger.Summary(a.Summary)
}

func text(s string) *string { return &s }
