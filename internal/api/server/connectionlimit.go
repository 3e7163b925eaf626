package server

import (
	queue "container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
)

// limitConnections returns a listener with at most n open connections. If there are n and a new one
// arrives, the listener closes the oldest connection that never sent a valid token, so that
// unauthenticated clients cannot lock others out. If every open connection has sent a valid token,
// it closes the new connection, because waiting for a free slot could last forever.
func limitConnections(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, most: n}
}

type limitedListener struct {
	net.Listener
	most int

	mu              sync.Mutex
	open            int
	unauthenticated queue.List // connections (*limitedConn) that sent no valid token, the oldest first
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &limitedConn{Conn: c, listener: l}
		old, ok := l.admit(p)
		if old != nil {
			_ = old.Conn.Close() // the connection's handler gets a read error and ends
		}
		if ok {
			return p, nil
		}
		_ = c.Close() // the refused connection is not used, so an error does not matter
	}
}

// admit gives p a slot. If no slot is free, p gets the slot of another connection. admit returns
// this connection as old, and the caller must close it. If a slot was free, old is nil. ok is false
// if p gets no slot, because every other connection has sent a valid token.
func (l *limitedListener) admit(p *limitedConn) (old *limitedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		first := l.unauthenticated.Front()
		if first == nil {
			return nil, false
		}
		old, _ = first.Value.(*limitedConn)
		old.release()
	}
	l.open++
	p.element = l.unauthenticated.PushBack(p)
	return old, true
}

// limitedConn is a connection that counts toward the limit of a limitedListener until it is
// released.
type limitedConn struct {
	net.Conn
	listener      *limitedListener
	authenticated atomic.Bool
	element       *queue.Element // element in listener.unauthenticated; nil if the connection is not in it
	released      bool
}

func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.release()
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// release frees the connection's slot for another connection. The caller holds the listener's lock.
func (c *limitedConn) release() {
	if c.released {
		return
	}
	c.released = true
	c.listener.open--
	c.protect()
}

// protect removes the connection from the list of connections that may be closed to make room for
// new ones. The caller holds the listener's lock.
func (c *limitedConn) protect() {
	if c.element != nil {
		c.listener.unauthenticated.Remove(c.element)
		c.element = nil
	}
}

type connKey struct{}

// withConn stores a connection in the context of its requests. For a TLS connection, it stores the
// underlying connection, because that is the *limitedConn.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// markAuthenticated records that the connection of a request has sent a valid token. From then on
// it is not closed to make room for new connections.
func markAuthenticated(ctx context.Context) {
	c, ok := ctx.Value(connKey{}).(*limitedConn)
	if !ok || c.authenticated.Swap(true) {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.protect()
}
