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

// limit returns a listener with at most n open connections. To accept one more, it closes
// the oldest connection that never sent a valid token, so that unauthenticated clients
// cannot lock others out. If there is none, it closes the new connection, because waiting
// could last forever.
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
			_ = old.Conn.Close() // its handler notices the closed connection
		}
		if ok {
			return p, nil
		}
		_ = c.Close() // the connection is dropped; errors do not matter
	}
}

// enter admits a connection, if necessary in place of an old one.
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

// placed is an admitted connection.
type placed struct {
	net.Conn
	in      *limited
	known   atomic.Bool
	strange *queue.Element // its element in strangers; nil if it is not in the list
	left    bool
}

func (c *placed) Close() error {
	c.in.mu.Lock()
	c.leave()
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// leave gives the slot back. The caller holds the lock.
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

// know records that a client with a valid token uses the connection.
func (c *placed) know() {
	if c.known.Swap(true) {
		return
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.settle()
}

type placeKey struct{}

// withPlace stores the connection of a request in its context.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, placeKey{}, c)
}

// knowConnection protects the request's connection from being closed by limit.
func (c *call) knowConnection() {
	if p, ok := c.r.Context().Value(placeKey{}).(*placed); ok {
		p.know()
	}
}

// rates limits the requests per second of each token, together with the tokens created
// from it. A burst may have the requests of two seconds. All clients without a valid
// token share one small limit.
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

const strangers = "" // the bucket of clients without a valid token

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

// allow takes one request from the bucket of id. It returns false if the bucket is empty.
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
