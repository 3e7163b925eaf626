package runner

import (
	"sync"
	"time"

	"gaffer/internal/attempt/supervisor"
)

// lease is the time until which an attempt may run. After that the supervisor freezes the process
// that is running: the agent or, later, a command that checks the agent's work.
type lease struct {
	// sending is a mutex that is locked while the new end time of an extended lease is sent to the
	// supervisor. So two end times are never sent at once, and the newest one arrives last.
	sending sync.Mutex

	mu      sync.Mutex // guards the fields below; not held while an end of the lease is sent
	until   time.Time  // end of the lease; zero means forever
	process *supervisor.Process
}

// Extend sets a new end of the lease, which applies to the agent or to the check that is running.
// The parameter until is the new end; zero means that the lease never ends. If the lease already
// has a later end, Extend does nothing. Extend may be called while Run is running. See also
// [supervisor.Process.Extend].
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

// moveTo makes the lease apply to another process p of the attempt, for example a command that
// checks the work. The parameter current is the end of the lease with which p was started; zero
// means forever. If the attempt's lease has a different end, moveTo sends that end to the
// supervisor of p.
func (l *lease) moveTo(p *supervisor.Process, current time.Time) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	l.process = p
	until := l.until
	l.mu.Unlock()
	if until.Equal(current) {
		return nil
	}
	return p.Extend(until)
}
