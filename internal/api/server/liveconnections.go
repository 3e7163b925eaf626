package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"gaffer/internal/api/credential"
)

// liveConnections is shared by all answers that last as long as the client is connected:
// streams, sockets and followed logs.
type liveConnections struct {
	tokens   *credential.TokenStore
	ping     time.Duration // interval between signs of life on an idle connection
	send     time.Duration // how long a client may take to receive a message
	cut      *atomic.Int64 // number of clients that were disconnected because they were too slow
	stopping chan struct{} // closed when the server no longer accepts work
	sockets  sockets
}

// revoked reports whether a client's token was revoked. If the database does not answer,
// the client stays connected.
func (l *liveConnections) revoked(ctx context.Context, by credential.Identity) bool {
	if by.ID == "" {
		return false
	}
	holds, err := l.tokens.Valid(ctx, by.ID)
	return err == nil && !holds
}

func (l *liveConnections) stopped() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// eventStream sends server-sent events to one client.
type eventStream struct {
	live     *liveConnections
	c        *request
	out      *http.ResponseController
	deadline time.Time // for writes
}

// openEventStream sends the header and the first data of a stream.
func (l *liveConnections) openEventStream(c *request, first []byte) (*eventStream, error) {
	s := &eventStream{live: l, c: c, out: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // otherwise a proxy may delay the stream
	if err := s.out.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c.w.WriteHeader(http.StatusOK)
	return s, s.send(first)
}

// send sends data now.
func (s *eventStream) send(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	// The deadline has a margin, so that not every send has to extend it.
	if now := time.Now(); s.deadline.Sub(now) < s.live.send {
		s.deadline = now.Add(s.live.send + s.live.send/2)
		if err := s.out.SetWriteDeadline(s.deadline); err != nil {
			return err
		}
	}
	if _, err := s.c.w.Write(data); err != nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if s.c.r.ProtoMajor < 2 {
		return nil
	}
	// With HTTP/2 an expired deadline ends the stream, even an idle one.
	s.deadline = time.Time{}
	return s.out.SetWriteDeadline(s.deadline)
}

// countIfSlow counts a client as cut off if it did not receive a message in time.
func (s *eventStream) countIfSlow(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.live.cut.Add(1)
	}
}

// sendTooSlow sends the message that the client is too far behind. A client that no longer
// reads does not get it.
func (s *eventStream) sendTooSlow() {
	s.live.cut.Add(1)
	_ = s.send([]byte("event: behind\ndata: {}\n\n"))
}

// sendStopping sends the message that the server stops. Errors do not matter.
func (s *eventStream) sendStopping() { _ = s.send([]byte("event: bye\ndata: {}\n\n")) }
