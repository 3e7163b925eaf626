package runner

import (
	"sync"
	"time"

	"gaffer/internal/attempt/supervisor"
)

// lease is how long an attempt may run: first its agent, then its checks.
type lease struct {
	sending sync.Mutex // keeps orders in sequence

	mu    sync.Mutex // held only for short sections
	until time.Time  // zero means forever
	runs  *supervisor.Process
}

// Extend extends the lease of the agent, or of the check that is running; zero means
// forever, see [supervisor.Process.Extend]. It ignores a time before the current end.
// It may be called while Run is running, and does not wait for Run.
func (a *Attempt) Extend(until time.Time) error { return a.lease.extend(until) }

func (l *lease) extend(until time.Time) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	if !until.IsZero() && until.Before(l.last()) {
		return nil
	}
	l.mu.Lock()
	l.until = until
	runs := l.runs
	l.mu.Unlock()
	return runs.Extend(until)
}

// last returns the current end of the lease.
func (l *lease) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *lease) over(now time.Time) bool {
	until := l.last()
	return !until.IsZero() && !now.Before(until)
}

// pass moves the lease to another process. told is the end of the lease that the
// process already has; zero means forever.
func (l *lease) pass(to *supervisor.Process, told time.Time) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	l.runs = to
	until := l.until
	l.mu.Unlock()
	if until.Equal(told) {
		return nil
	}
	return to.Extend(until)
}
