package coordinator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// pipes is an in-memory network. With it, the clock of synctest can skip hours in which nothing is
// sent.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withClient runs a test with a server and a client in a synctest bubble. The bubble's clock moves
// when all its goroutines wait.
func withClient(t *testing.T, handle http.HandlerFunc, o Options, check func(t *testing.T, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: handle}
		served := make(chan error)
		go func() { served <- server.Serve(network) }()
		transport := &http.Transport{DialContext: network.dial}
		if o.HTTP == nil {
			o.HTTP = &http.Client{Transport: transport}
		}
		o.PlainHTTP = true // the pipe is not a real network, so plain HTTP is safe
		c, err := New("http://server", o)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c)
		transport.CloseIdleConnections()
		_ = server.Close() // ends the contexts of handlers that still run
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// tear writes part of an answer, and then closes the connection.
func tear(w http.ResponseWriter, part string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if part != "" {
		_, _ = conn.Write([]byte(part)) // ignore the error: the client may be gone
	}
	_ = conn.Close() // ignore the error: the client sees a broken connection in any case
}

func refused(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return e
}
