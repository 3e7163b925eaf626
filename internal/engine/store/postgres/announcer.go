package postgres

import (
	"context"
	"sync"
	"time"
)

// announcer notifies other processes of new events. A session sends the notification
// itself, unless another one was sent just before; then the notification is delayed.
// This limits the rate, because each notification wakes up all processes.
type announcer struct {
	say func() // sends a notification with the last committed event

	mu     sync.Mutex
	last   time.Time
	later  *time.Timer // nil if no notification is pending
	closed bool
	saying sync.WaitGroup
}

// sayEvery is the minimum interval between notifications.
const sayEvery = 10 * time.Millisecond

// now reports whether the session must send the notification itself. Otherwise the
// announcer sends it later.
func (h *announcer) now() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := sayEvery - time.Since(h.last)
	switch {
	case h.later != nil || h.closed:
		return false
	case wait <= 0:
		h.last = time.Now()
		return true
	}
	h.saying.Add(1)
	h.later = time.AfterFunc(wait, h.tell)
	return false
}

func (h *announcer) tell() {
	defer h.saying.Done()
	h.mu.Lock()
	h.last, h.later = time.Now(), nil
	h.mu.Unlock()
	h.say()
}

// stop sends the pending notification, if any, and waits for it.
func (h *announcer) stop() {
	h.mu.Lock()
	h.closed = true
	if h.later != nil && h.later.Stop() {
		h.later = nil
		go h.tell() // awaited below
	}
	h.mu.Unlock()
	h.saying.Wait()
}

// announce notifies other processes of the last committed event. It is a hint and may
// be lost.
func (s *Store) announce() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = s.reads.Exec(ctx, "SELECT pg_notify($1::text, (SELECT seq::text FROM last_event))", s.channel())
}
