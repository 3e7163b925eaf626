package runner

import (
	"sync"
	"time"

	"gaffer/internal/attempt/supervisor"
)

// lease is until when an attempt may run: its agent, and after that its checks.
type lease struct {
	sending sync.Mutex // so that no order overtakes another

	mu    sync.Mutex // never held for long
	until time.Time  // zero is for ever
	runs  *supervisor.Process
}

// Extend has the agent, or the check that runs, go on until then, for ever if that
// is zero; see [supervisor.Process.Extend]. A time before the one that was said
// last says nothing new. It may be called while Run runs, and does not wait for
// that.
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

// last is what was said last.
func (l *lease) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *lease) over(now time.Time) bool {
	until := l.last()
	return !until.IsZero() && !now.Before(until)
}

// pass has the lease be of another process, which was told of it when it was
// started, or by somebody else.
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
