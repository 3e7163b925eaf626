package runner

import (
	"sync"
	"time"

	"gaffer/internal/attempt/supervisor"
)

// lease is how long an attempt may run: first its agent, then its checks.
type lease struct {
	sending sync.Mutex // keeps orders in sequence

	mu      sync.Mutex // never held while an order is sent
	until   time.Time  // end of the lease; zero means forever
	process *supervisor.Process
}

// Extend extends the lease of the agent, or of the check that is running; zero means
// forever, see [supervisor.Process.Extend]. It ignores a time before the current end.
// It may be called while Run is running, and does not wait for Run.
func (a *Attempt) Extend(until time.Time) error { return a.lease.extend(until) }

func (l *lease) extend(until time.Time) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	if !until.IsZero() && until.Before(l.end()) {
		return nil
	}
	l.mu.Lock()
	l.until = until
	runs := l.process
	l.mu.Unlock()
	return runs.Extend(until)
}

// end returns the current end of the lease.
func (l *lease) end() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *lease) over(now time.Time) bool {
	until := l.end()
	return !until.IsZero() && !now.Before(until)
}

// moveTo moves the lease to another process. current is the end of the lease that this
// process was started with; zero means forever.
func (l *lease) moveTo(to *supervisor.Process, current time.Time) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	l.process = to
	until := l.until
	l.mu.Unlock()
	if until.Equal(current) {
		return nil
	}
	return to.Extend(until)
}
