package postgres

import (
	"context"
	"sync"
	"time"
)

// announcer tells other processes that there is something new: with the session that
// it is about, or a little later if that was told of another one just now. Each
// time all of them wake up.
type announcer struct {
	say func() // tells of all that is committed

	mu     sync.Mutex
	last   time.Time
	later  *time.Timer // nil if nothing is to be said
	closed bool
	saying sync.WaitGroup
}

// sayEvery is how often it is told at the most.
const sayEvery = 10 * time.Millisecond

// now reports whether a session is to tell of itself. Otherwise it will be told.
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

// stop says what is still to be said.
func (h *announcer) stop() {
	h.mu.Lock()
	h.closed = true
	if h.later != nil && h.later.Stop() {
		h.later = nil
		go h.tell() // which is waited for below
	}
	h.mu.Unlock()
	h.saying.Wait()
}

// announce tells other processes of the last event that is committed. It is a
// hint, which may be lost.
func (s *Store) announce() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = s.reads.Exec(ctx, "SELECT pg_notify($1::text, (SELECT seq::text FROM last_event))", s.channel())
}
