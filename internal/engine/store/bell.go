package store

import (
	"context"
	"sync"
	"time"
)

// EventSignal notifies waiting readers of new events. The zero value is ready to use.
type EventSignal struct {
	mu      sync.Mutex
	last    int64
	rung    chan struct{} // closed and replaced whenever last grows
	looking sync.Mutex    // held while one waiter queries the database for all of them
	looked  time.Time     // time of the last query; guarded by looking
}

// Announce reports that an event with this number exists.
func (b *EventSignal) Announce(last int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last <= b.last {
		return
	}
	b.last = last
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// heard returns the last event number, and a channel that is closed when it grows.
func (b *EventSignal) heard() (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.last, b.rung
}

// Wait returns when an event after the given number exists, or when ctx ends. It also
// polls the database, at once and then at the given interval, because other processes
// do not ring this bell. One waiter polls for all of them.
func (b *EventSignal) Wait(ctx context.Context, after int64, every time.Duration, look func(context.Context) (int64, error)) error {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		if last, _ := b.heard(); last > after {
			return nil
		}
		if err := b.look(ctx, every, look); err != nil {
			return err
		}
		last, rung := b.heard()
		if last > after {
			return nil
		}
		timer.Reset(untilNext(time.Now(), every))
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// untilNext makes all waiters wake up at the same moments, because waking up costs more
// than polling.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now)
}

// look polls the database, unless another waiter is polling or has just done so.
func (b *EventSignal) look(ctx context.Context, every time.Duration, look func(context.Context) (int64, error)) error {
	if !b.looking.TryLock() {
		return nil
	}
	defer b.looking.Unlock()
	if time.Since(b.looked) < every/2 {
		return nil
	}
	b.looked = time.Now()
	last, err := look(ctx)
	if err != nil {
		return err
	}
	b.Announce(last)
	return nil
}
