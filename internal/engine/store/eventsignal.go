package store

import (
	"context"
	"sync"
	"time"
)

// EventSignal wakes goroutines that wait for new events. The zero value is ready to use.
type EventSignal struct {
	mu       sync.Mutex
	last     int64         // number of the last known event
	changed  chan struct{} // closed when last grows; nil until a goroutine waits again
	polling  sync.Mutex    // held while one waiter polls the database for all waiters
	lastPoll time.Time     // time of the last poll; guarded by polling
}

// Announce records that the event with the number seq exists, and wakes the waiting goroutines.
func (b *EventSignal) Announce(seq int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq <= b.last {
		return
	}
	b.last = seq
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// state returns the number of the last known event, and a channel that is closed when a later event
// is announced.
func (b *EventSignal) state() (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.last, b.changed
}

// Wait returns nil when an event with a number above cursor exists, or an error when ctx ends or
// readLast fails. Other processes do not call Announce, so Wait also polls the database: if it must
// wait, it calls readLast first and then once per interval. One waiter polls for all waiters.
func (b *EventSignal) Wait(ctx context.Context, cursor int64, interval time.Duration, readLast func(context.Context) (int64, error)) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		if last, _ := b.state(); last > cursor {
			return nil
		}
		if err := b.poll(ctx, interval, readLast); err != nil {
			return err
		}
		last, rung := b.state()
		if last > cursor {
			return nil
		}
		timer.Reset(untilNext(time.Now(), interval))
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// untilNext returns how long a waiter sleeps until it polls again. It ends at a multiple of every,
// so that all waiters wake together, because many separate wake-ups would cost more than the polls.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now)
}

// poll gets the number of the last event from readLast and announces it. It does nothing if another
// waiter polls now or has polled recently.
func (b *EventSignal) poll(ctx context.Context, interval time.Duration, readLast func(context.Context) (int64, error)) error {
	if !b.polling.TryLock() {
		return nil
	}
	defer b.polling.Unlock()
	if time.Since(b.lastPoll) < interval/2 {
		return nil
	}
	b.lastPoll = time.Now()
	last, err := readLast(ctx)
	if err != nil {
		return err
	}
	b.Announce(last)
	return nil
}
