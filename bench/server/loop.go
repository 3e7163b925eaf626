//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"time"
)

// loop reads from many connections in one thread.
type loop struct {
	epoll int
	ready []syscall.EpollEvent
	conns []*conn // indexed by conn.number
	room  []byte  // read buffer for all connections
}

// conn is one connection of a loop.
type conn struct {
	fd             int
	use            string // purpose of the connection, for error messages; may be empty
	number         int
	buffer         []byte // data that was received but not used yet
	sent, received int    // bytes so far
	// The function read is called after received data was added to the field buffer. It returns the
	// number of bytes at the start of the buffer that it has used; these bytes are then removed.
	read func(c *conn) (used int, err error)
}

func newLoop() (*loop, error) {
	runtime.LockOSThread()
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &loop{epoll: fd, ready: make([]syscall.EpollEvent, 1024), room: make([]byte, 1<<20)}, nil
}

func (l *loop) close() error {
	err := syscall.Close(l.epoll)
	for _, c := range l.conns {
		err = errors.Join(err, syscall.Close(c.fd))
	}
	runtime.UnlockOSThread()
	return err
}

// dial opens a connection and adds it to the loop. The function read handles the data that arrives
// on the connection; see the field read of [conn].
func (l *loop) dial(address string, read func(*conn) (int, error)) (*conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &conn{fd: fd, number: len(l.conns), read: read}
	l.conns = append(l.conns, c)
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		return nil, err
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.number)}
	return c, syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &event)
}

// write sends data. It blocks until all data is sent; that is quick, because requests are small.
func (c *conn) write(data []byte) error {
	for len(data) > 0 {
		n, err := syscall.Write(c.fd, data)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		data = data[n:]
		c.sent += n
	}
	return nil
}

// turn waits until a connection has data or the timeout has passed. Then it reads once from each
// connection that has data.
func (l *loop) turn(timeout time.Duration) error {
	n, err := syscall.EpollWait(l.epoll, l.ready, int(timeout.Milliseconds()))
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	for _, event := range l.ready[:n] {
		if err := l.take(l.conns[event.Fd]); err != nil {
			return err
		}
	}
	return nil
}

// take reads once from a connection and calls the connection's read function. If the connection has
// more data, the next call of [loop.turn] reads it.
func (l *loop) take(c *conn) error {
	n, err := syscall.Read(c.fd, l.room)
	switch {
	case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", c.use, err)
	case n == 0:
		return fmt.Errorf("%s: closed by the server: %w", c.use, net.ErrClosed)
	}
	c.received += n
	c.buffer = append(c.buffer, l.room[:n]...)
	used, err := c.read(c)
	c.buffer = c.buffer[:copy(c.buffer, c.buffer[used:])]
	return err
}
