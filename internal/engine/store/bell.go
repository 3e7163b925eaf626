package store

import (
	"context"
	"sync"
	"time"
)

// Bell is how a store tells those who wait that there are new events. The zero
// value is ready.
type Bell struct {
	mu      sync.Mutex
	last    int64
	rung    chan struct{} // closed and replaced whenever last grows
	looking sync.Mutex    // held by the one who looks for all
	looked  time.Time     // when that was; under looking
}

// Ring says that there is an event with this number.
func (b *Bell) Ring(last int64) {
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

// heard returns the last number, and a channel that is closed when it grows.
func (b *Bell) heard() (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.last, b.rung
}

// Wait returns when there is an event after a number, or when ctx ends. At once
// and then every so often it looks for itself, because other processes do not
// ring this bell; one of those who wait looks for all of them.
func (b *Bell) Wait(ctx context.Context, after int64, every time.Duration, look func(context.Context) (int64, error)) error {
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

// untilNext has all who wait wake up at the same moments: to wake up takes longer
// than to look.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now)
}

// look does nothing if somebody looks, or has just looked.
func (b *Bell) look(ctx context.Context, every time.Duration, look func(context.Context) (int64, error)) error {
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
	b.Ring(last)
	return nil
}
