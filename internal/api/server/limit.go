package server

import (
	queue "container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// limit returns a listener that has at most n connections open. For one more the
// oldest is closed over which nobody with a token has spoken, so that strangers,
// however many and however silent, keep nobody out. If there is none, the new one
// is closed: waiting would be for good.
func limit(l net.Listener, n int) net.Listener { return &limited{Listener: l, most: n} }

type limited struct {
	net.Listener
	most int

	mu        sync.Mutex
	open      int
	strangers queue.List // of *placed, the oldest first
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &placed{Conn: c, in: l}
		old, ok := l.enter(p)
		if old != nil {
			_ = old.Conn.Close() // whoever serves it finds out by itself
		}
		if ok {
			return p, nil
		}
		_ = c.Close() // there is nobody to tell
	}
}

// enter gives a connection a place, perhaps that of an old one.
func (l *limited) enter(p *placed) (old *placed, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		first := l.strangers.Front()
		if first == nil {
			return nil, false
		}
		old, _ = first.Value.(*placed)
		old.leave()
	}
	l.open++
	p.strange = l.strangers.PushBack(p)
	return old, true
}

// placed is a connection that has a place.
type placed struct {
	net.Conn
	in      *limited
	known   atomic.Bool
	strange *queue.Element // in the list of strangers, nil if it is not
	left    bool
}

func (c *placed) Close() error {
	c.in.mu.Lock()
	c.leave()
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// leave gives the place back. The lock is held.
func (c *placed) leave() {
	if c.left {
		return
	}
	c.left = true
	c.in.open--
	c.settle()
}

func (c *placed) settle() {
	if c.strange != nil {
		c.in.strangers.Remove(c.strange)
		c.strange = nil
	}
}

// know says that somebody with a token speaks over the connection.
func (c *placed) know() {
	if c.known.Swap(true) {
		return
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.settle()
}

type placeKey struct{}

// withPlace remembers which connection a request comes by.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, placeKey{}, c)
}

// knowConnection keeps the connection of a request when there are too many.
func (c *call) knowConnection() {
	if p, ok := c.r.Context().Value(placeKey{}).(*placed); ok {
		p.know()
	}
}

// rates allows each token, with all that was made from it, so many requests in a
// second, and as many at once as in two. All who show no valid token share one small allowance.
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
