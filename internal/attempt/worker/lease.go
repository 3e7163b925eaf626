package worker

import (
	"sync"
	"time"
)

// endless is from when on a lease is taken to be for ever: nobody else will take
// what it is about.
const endless = 24 * time.Hour

// maxMargin is how long before the end of a lease an agent stands still, at most.
const maxMargin = 10 * time.Second

// untilOf is when an agent is to be frozen whose lease was told when one had asked
// then. Whoever was asked counts from later on. Zero is never.
func untilOf(lease time.Duration, asked time.Time) time.Time {
	if lease <= 0 || lease > endless {
		return time.Time{}
	}
	return asked.Add(lease - min(lease/4, maxMargin))
}

// lease is how long an attempt may run. It is safe for concurrent use.
type lease struct {
	mu    sync.Mutex
	each  time.Duration // how long it was when it was told; 0 for ever
	until time.Time     // zero is never
	gone  bool          // the attempt is another's
}

// renew takes in a lease that was told, and returns whether that changes anything.
func (l *lease) renew(each time.Duration, asked time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := untilOf(each, asked)
	if until.IsZero() {
		each = 0
	}
	changed := !until.Equal(l.until)
	l.each, l.until = each, until
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

// An agent whose lease has ended stays frozen for abandonLeases leases after its
// worker is gone, and for leastAbandon at least: what is left of a lease that was
// taken over may be next to nothing.
const (
	abandonLeases = 10
	leastAbandon  = 20 * time.Second
)

// abandon is how long the frozen agent waits for another worker.
func (l *lease) abandon() time.Duration {
	return max(abandonLeases*l.length(), leastAbandon)
}

// ends is when the attempt is to be frozen.
func (l *lease) ends() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// over tells whether the attempt may not run now.
func (l *lease) over(now time.Time) bool {
	until := l.ends()
	return !until.IsZero() && !now.Before(until)
}

// lost tells whether it never may again.
func (l *lease) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}
