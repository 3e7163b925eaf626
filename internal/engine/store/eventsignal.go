package store

import (
	"context"
	"sync"
	"time"
)

// EventSignal wakes goroutines that wait for new events. The zero value is ready to use.
type EventSignal struct {
	mu       sync.Mutex
	last     int64         // sequence number of the last known event
	changed  chan struct{} // created when a goroutine waits; closed when the value of the field last grows
	polling  sync.Mutex    // held while one waiter polls the database for all waiters
	lastPoll time.Time     // time of the last poll; guarded by polling
}

// Announce records that the event with the sequence number seq exists, and wakes the waiting
// goroutines.
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

// state returns the sequence number of the last known event, and a channel that is closed when a
// later event is announced.
func (b *EventSignal) state() (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.last, b.changed
}

// Wait blocks until an event with a sequence number above cursor exists. It returns an error if ctx
// ends or readLast fails.
//
// If another process adds an event, Announce may not be called in this process. So, while Wait
// blocks, it also polls the database once per interval: it calls readLast, which returns the
// sequence number of the last event. If several goroutines wait, only one of them polls in each
// interval.
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

// untilNext returns how long a waiter sleeps before it polls again. The sleep ends at a time that
// is a multiple of the polling interval, which is the parameter every. So all waiters wake at the
// same time.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now)
}

// poll reads the sequence number of the last event with readLast, and announces this event. It does
// nothing if another waiter is polling or if the last poll was less than half an interval ago.
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
