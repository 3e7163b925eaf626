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

// finishTimeout is how long clients have to take the last message.
const finishTimeout = 2 * time.Second

// clients are those who gave or may give orders. Each has goroutines of its own,
// so that one which is slow or broken holds up nobody.
type clients struct {
	attempt  *attempt
	listener *net.UnixListener // nil if there is none

	here atomic.Int32  // how many there are
	left chan struct{} // sent to when a client has gone

	begun   chan struct{} // closed when started is set
	over    chan struct{} // closed when exit is set
	started Started
	exit    Exit
	free    bool // told with exit

	accepting, serving sync.WaitGroup
}

func newClients(a *attempt) *clients {
	return &clients{attempt: a, left: make(chan struct{}, 1), begun: make(chan struct{}), over: make(chan struct{})}
}

// reachable tells whether new clients find the socket, which another program may
// have deleted.
func (c *clients) reachable(f folder) bool {
	_, err := os.Lstat(f.path(socketFile))
	return c.listener != nil && !errors.Is(err, fs.ErrNotExist)
}

// alone tells whether no client is connected.
func (c *clients) alone() bool { return c.here.Load() == 0 }

// listen makes the socket and lets new clients in. It has the user's permissions
// alone from the first moment on. It stays when the supervisor is gone: to remove
// a file makes it slower to make the next, and the folder goes as a whole.
func (c *clients) listen(f folder) error {
	if c.listener != nil { // its socket is gone
		_ = c.listener.Close() // nothing is written to it
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

// begin tells everyone who runs.
func (c *clients) begin(s Started) {
	c.started = s
	close(c.begun)
}

// accept ends when the listener is closed. Other errors pass.
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
	c.here.Add(1)
	gone := make(chan struct{})
	c.serving.Go(func() { c.tell(l, gone) })
	c.serving.Go(func() {
		c.obey(l)
		c.here.Add(-1)
		close(gone)
		select {
		case c.left <- struct{}{}:
		default: // that one has left is known already
		}
	})
}

// tell sends what the client did not ask for.
func (c *clients) tell(l *link, gone <-chan struct{}) {
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
		_ = l.send(message{Exit: &c.exit, Free: c.free}) // who does not get it can read the record
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

// obey follows the client's orders until it goes or breaks the protocol.
func (c *clients) obey(l *link) {
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

// shut lets nobody in any more and returns how many there are.
func (c *clients) shut() int {
	if c.listener != nil {
		_ = c.listener.Close() // nothing is written to it
		c.accepting.Wait()
	}
	return int(c.here.Load())
}

// finish tells everyone how it ended and waits a while until they know. It
// returns whether all of them do, or are gone.
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
	case <-done: // it was we who came late
		return true
	default:
		return false
	}
}

// follow is called by clients.
func (a *attempt) follow(o order) reply {
	r := reply{ID: o.ID}
	a.mu.Lock()
	in := a.in
	status := Status{Doing: a.stage.String(), Told: a.told, Frozen: a.still}
	a.mu.Unlock()
	switch o.Do {
	case doInput:
		if err := in.give(o.Input); err != nil {
			r.Error = err.Error()
		}
	case doClose:
		in.finish()
	case doStop:
		select {
		case a.stops <- stop{o.Why, o.Now}:
		case <-a.ended:
		}
	case doExtend:
		select {
		case a.leases <- o.Lease.received(time.Now()):
		case <-a.ended:
		}
	case doWait:
		select {
		case a.waits <- o.Waits:
		case <-a.ended:
		}
	case doStatus:
		status.Pending = in.waiting()
		r.State = &status
	default:
		r.Error = fmt.Sprintf("unknown order %q", o.Do)
	}
	return r
}
