package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// finishTimeout is how long the supervisor waits for its clients to receive the exit of the agent.
const finishTimeout = 2 * time.Second

// clients are the connections to processes that may send orders to the supervisor. Each connection
// has its own goroutines, so that a slow or broken client does not block the others.
type clients struct {
	attempt  *attempt
	listener *net.UnixListener // nil before listen was called

	connected    atomic.Int32  // number of connected clients
	disconnected chan struct{} // receives a value when a client has disconnected

	begun   chan struct{} // closed when the field started is set
	over    chan struct{} // closed when the field exit is set
	started Started
	exit    Exit
	free    bool // whether the supervisor can run another attempt; sent together with exit

	accepting, serving sync.WaitGroup
}

func newClients(a *attempt) *clients {
	return &clients{attempt: a, disconnected: make(chan struct{}, 1), begun: make(chan struct{}), over: make(chan struct{})}
}

// reachable reports whether new clients can find the socket. It returns false before listen was
// called, and after another program has deleted the socket file.
func (c *clients) reachable(f folder) bool {
	_, err := os.Lstat(f.path(socketFile))
	return c.listener != nil && !errors.Is(err, fs.ErrNotExist)
}

// none reports whether no client is connected.
func (c *clients) none() bool { return c.connected.Load() == 0 }

// listen creates the socket and accepts new clients. Only the user may access the socket. The
// socket file remains when the supervisor exits, and is deleted later with the attempt's folder.
func (c *clients) listen(f folder) error {
	if c.listener != nil { // the socket file was deleted: listen on a new one
		_ = c.listener.Close() // ignore the error: a listener has no unwritten data
		c.accepting.Wait()
		c.listener = nil
	}
	was := syscall.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.path(socketFile)})
	syscall.Umask(was)
	if err != nil {
		return fmt.Errorf("make the socket: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	c.listener = listener
	c.accepting.Go(c.accept)
	return nil
}

// begin tells all clients that the agent has started.
func (c *clients) begin(s Started) {
	c.started = s
	close(c.begun)
}

// accept accepts clients until the listener is closed. After any other error it tries again.
func (c *clients) accept() {
	for {
		conn, err := c.listener.Accept()
		switch {
		case err == nil:
			c.add(newLink(conn))
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (c *clients) add(l *link) {
	c.connected.Add(1)
	gone := make(chan struct{})
	c.serving.Go(func() { c.sendEvents(l, gone) })
	c.serving.Go(func() {
		c.handleOrders(l)
		c.connected.Add(-1)
		close(gone)
		select {
		case c.disconnected <- struct{}{}:
		default: // a notification is already pending
		}
	})
}

// sendEvents sends a client the messages that are not replies to orders: the start of the agent,
// and then its exit. The channel gone is closed when the client has disconnected.
func (c *clients) sendEvents(l *link, gone <-chan struct{}) {
	defer l.close()
	select {
	case <-c.begun:
	case <-c.over:
	}
	if c.hasBegun() && l.send(message{Started: &c.started}) != nil {
		return
	}
	select {
	case <-c.over:
		_ = l.send(message{Exit: &c.exit, Free: c.free}) // ignore the error: a client that misses the exit can read it from the lock
	case <-gone:
	}
}

func (c *clients) hasBegun() bool {
	select {
	case <-c.begun:
		return true
	default:
		return false
	}
}

// handleOrders executes a client's orders until the client disconnects or breaks the
// protocol.
func (c *clients) handleOrders(l *link) {
	for {
		var o order
		if err := l.receive(&o); err != nil {
			return
		}
		r := c.attempt.follow(o)
		if l.send(message{Reply: &r}) != nil {
			return
		}
	}
}

// shut stops accepting clients. It returns the number of connected clients.
func (c *clients) shut() int {
	if c.listener != nil {
		_ = c.listener.Close() // ignore the error: a listener has no unwritten data
		c.accepting.Wait()
	}
	return int(c.connected.Load())
}

// finish sends the exit to all clients, and waits at most finishTimeout until they have received
// it. It reports whether every client has received the exit or has disconnected.
func (c *clients) finish(e Exit, free bool) bool {
	c.exit, c.free = e, free
	close(c.over)
	done := make(chan struct{})
	go func() {
		c.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(finishTimeout):
	}
	select {
	case <-done: // done was closed at the time limit, but the select above chose the timer
		return true
	default:
		return false
	}
}

// follow executes one order of a client. It is called by the goroutine that serves this client. If
// the attempt has ended, an order to stop the agent or to change its lease has no effect, and the
// reply contains no error.
func (a *attempt) follow(o order) reply {
	r := reply{ID: o.ID}
	in, status := a.shared.get()
	switch o.Do {
	case doInput:
		if err := in.give(o.Key, o.Input); err != nil {
			r.Error = err.Error()
		}
	case doClose:
		in.finish()
	case doStop:
		pass(&a.requests, a.requests.stops, stop{o.Why, o.Now})
	case doExtend:
		pass(&a.requests, a.requests.leases, o.Lease.received(time.Now()))
	case doWait:
		pass(&a.requests, a.requests.waits, o.Waits)
	case doStatus:
		status.Pending = in.waiting()
		r.State = &status
	default:
		r.Error = fmt.Sprintf("unknown order %q", o.Do)
	}
	return r
}
