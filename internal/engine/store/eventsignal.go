package store

import (
	"context"
	"sync"
	"time"
)

// EventSignal wakes readers that wait for new events. The zero value is ready to use.
type EventSignal struct {
	mu       sync.Mutex
	last     int64
	changed  chan struct{} // closed and replaced whenever last grows
	polling  sync.Mutex    // held while one waiter polls the database for all waiters
	lastPoll time.Time     // time of the last poll; guarded by polling
}

// Announce records that an event with this number exists, and wakes the waiting readers.
func (b *EventSignal) Announce(last int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last <= b.last {
		return
	}
	b.last = last
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// state returns the number of the last known event, and a channel that is closed when the
// number grows.
func (b *EventSignal) state() (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.last, b.changed
}

// Wait returns when an event after the given number exists, or when ctx ends. It also
// polls the database with look, at once and then at the given interval, because other
// processes do not call Announce. One waiter polls for all waiters.
func (b *EventSignal) Wait(ctx context.Context, after int64, every time.Duration, look func(context.Context) (int64, error)) error {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		if last, _ := b.state(); last > after {
			return nil
		}
		if err := b.poll(ctx, every, look); err != nil {
			return err
		}
		last, rung := b.state()
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

// untilNext returns the time until the next poll. It is the same moment for all waiters,
// because waking up at different moments costs more than polling.
func untilNext(now time.Time, every time.Duration) time.Duration {
	return now.Truncate(every).Add(every).Sub(now)
}

// poll reads the number of the last event with look, unless another waiter does so now or
// has done so recently.
func (b *EventSignal) poll(ctx context.Context, every time.Duration, look func(context.Context) (int64, error)) error {
	if !b.polling.TryLock() {
		return nil
	}
	defer b.polling.Unlock()
	if time.Since(b.lastPoll) < every/2 {
		return nil
	}
	b.lastPoll = time.Now()
	last, err := look(ctx)
	if err != nil {
		return err
	}
	b.Announce(last)
	return nil
}
