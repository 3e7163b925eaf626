package worker

import (
	"sync"
	"time"

	"gaffer/internal/engine"
)

// maxMargin is the maximum time between freezing an agent and the end of the agent's lease.
const maxMargin = 10 * time.Second

// freezeTime returns when to freeze (suspend) an agent: shortly before its lease ends. requested is
// when the worker sent the request for the lease. The engine counts the lease from a slightly later
// time, so the result is never too late. A zero result means never. That is the result if the lease
// does not end, or is longer than [engine.MaxLease]. The engine grants such a long lease only if no
// other worker can run the attempt, so the agent need not be frozen.
func freezeTime(lease time.Duration, requested time.Time) time.Time {
	if lease <= 0 || lease > engine.MaxLease {
		return time.Time{}
	}
	return requested.Add(lease - min(lease/4, maxMargin))
}

// lease says until when an attempt may run. It is safe for concurrent use.
type lease struct {
	mu     sync.Mutex
	each   time.Duration // length of the lease when it was granted; 0 means forever
	freeze time.Time     // when to freeze the agent; zero means never
	gone   bool          // the attempt no longer belongs to this worker
}

// renew records a lease that the engine has just granted or extended, and reports whether the time
// to freeze the agent has changed. each is the length of the lease. asked is when the worker sent
// the request for the lease.
func (l *lease) renew(each time.Duration, asked time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	freezeAt := freezeTime(each, asked)
	if freezeAt.IsZero() {
		each = 0
	}
	changed := !freezeAt.Equal(l.freeze)
	l.each, l.freeze = each, freezeAt
	return changed
}

func (l *lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

func (l *lease) length() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.each
}

// A frozen agent is killed if no worker connects to its supervisor within a time limit. The limit
// is abandonLeases times the length of the agent's lease, but at least minAbandon. The minimum is
// necessary because a worker that was restarted may hold a lease that is almost over.
const (
	abandonLeases = 10
	minAbandon    = 20 * time.Second
)

// abandon returns how long a frozen agent is kept alive while no worker is connected to its
// supervisor.
func (l *lease) abandon() time.Duration {
	return max(abandonLeases*l.length(), minAbandon)
}

// freezeAt returns when the agent must be frozen; zero means never.
func (l *lease) freezeAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freeze
}

// over reports whether the time to freeze the agent has come, which is shortly before the end of
// the lease. From then on the agent must not run.
func (l *lease) over(now time.Time) bool {
	freezeAt := l.freezeAt()
	return !freezeAt.IsZero() && !now.Before(freezeAt)
}

// lost reports whether the attempt no longer belongs to this worker. Then this worker must never
// run it again.
func (l *lease) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}
