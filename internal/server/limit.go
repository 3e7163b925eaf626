package server

import (
	"net"
	"sync"
	"time"
)

// limit returns a listener that has at most n connections open. One more is
// closed at once: waiting would let silent ones keep everybody out for good.
func limit(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, places: make(chan struct{}, n)}
}

type limited struct {
	net.Listener
	places chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			_ = c.Close() // there is nobody to tell
		}
	}
}

type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// rates allows each token so many requests in a second, and as many at once as
// in two. All who show no valid token share one small allowance.
type rates struct {
	each, strange float64
	now           func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const strangers = "" // the bucket of those without a valid token

func newRates(each, strange float64, now func() time.Time) *rates {
	return &rates{each: each, strange: strange, now: now, buckets: map[string]*bucket{}}
}

// forget drops the buckets that are full again.
func (r *rates) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for id, b := range r.buckets {
		if now.Sub(b.at) > 2*time.Second {
			delete(r.buckets, id)
		}
	}
}

// allow takes one request off what id has left.
func (r *rates) allow(id string) bool {
	each := r.each
	if id == strangers {
		each = r.strange
	}
	if each < 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := r.buckets[id]
	if b == nil {
		b = &bucket{left: 2 * each, at: now}
		r.buckets[id] = b
	}
	b.left = min(2*each, b.left+max(now.Sub(b.at).Seconds(), 0)*each)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
