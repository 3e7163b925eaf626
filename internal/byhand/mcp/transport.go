package mcp

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// finishTimeout is how long requests may still take after the input from the client has ended. It
// is longer than the default timeouts for locks of files and databases, so that a request that
// waits for a lock can still be answered.
const finishTimeout = 2 * time.Minute

// streamTransport is a transport over two streams. The MCP library drops the requests that it has
// not answered as soon as the input ends or the server is stopped. So streamTransport reports the
// end of the input to the library only after all requests were answered.
type streamTransport struct {
	in         io.Reader
	out        io.Writer
	stop       context.Context //nolint:containedctx // when it ends, that has the same effect as the end of the stream in
	inputEnded func()          // called when the input ends or a write fails; may be called repeatedly
}

// Connect opens the connection over the two streams. The MCP library calls it.
func (p *streamTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := (&sdk.IOTransport{Reader: io.NopCloser(p.in), Writer: nopCloser{p.out}, MaxLineLength: maxLine}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: inner, transport: p, open: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1)}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// connection is a connection to the client. It tracks the requests that are not answered yet.
type connection struct {
	sdk.Connection
	transport *streamTransport

	mu     sync.Mutex
	open   map[jsonrpc.ID]bool
	broken bool // writing has failed
	// changed receives a value after each message to the client. The channel has a buffer for one
	// value, so that the method drain does not miss a message that was sent while drain was not
	// receiving.
	changed chan struct{}
}

// Read returns the next message from the client. At the end of the input it first waits until all
// requests have been answered, but at most finishTimeout. Then it returns an error.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.read(ctx)
	if err != nil {
		c.transport.inputEnded()
		c.drain(ctx)
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return m, nil
}

func (c *connection) read(ctx context.Context) (jsonrpc.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.transport.stop, cancel)()
	m, err := c.Connection.Read(ctx)
	if err != nil && c.transport.stop.Err() != nil {
		return nil, io.EOF
	}
	return m, err
}

func (c *connection) drain(ctx context.Context) {
	timeout := time.NewTimer(finishTimeout)
	defer timeout.Stop()
	for c.waiting() {
		select {
		case <-c.changed:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *connection) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0 && !c.broken
}

// Write sends a message to the client. If that fails, Write calls inputEnded, because the client is
// gone, and Read does not wait for unanswered requests any more.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if err != nil {
		c.transport.inputEnded()
	}
	c.answered(m, err)
	return err
}

func (c *connection) answered(m jsonrpc.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := m.(*jsonrpc.Response); ok {
		delete(c.open, r.ID)
	}
	if err != nil {
		c.broken = true
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}
