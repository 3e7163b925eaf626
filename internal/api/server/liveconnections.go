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

// liveConnections is the state shared by all answers that may last until the client disconnects:
// event streams, WebSockets and followed logs.
type liveConnections struct {
	tokens   *credential.TokenStore
	ping     time.Duration // after this time without a message, an idle connection gets a ping
	send     time.Duration // how long a client may take to receive a message
	cut      *atomic.Int64 // number of clients that were disconnected because they were too slow
	stopping chan struct{} // closed when the server stops
	sockets  sockets
}

// revoked reports whether a client's token was revoked or has expired. It returns false for a
// client without a token. It also returns false if the database does not answer, so that the client
// stays connected.
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
	deadline time.Time // write deadline of the connection; zero if none is set
}

// openEventStream sends the HTTP header of a stream and its first data.
func (l *liveConnections) openEventStream(c *request, first []byte) (*eventStream, error) {
	s := &eventStream{live: l, c: c, out: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // without this header a proxy may delay the stream
	if err := s.out.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c.w.WriteHeader(http.StatusOK)
	return s, s.send(first)
}

// send writes data to the client and flushes it.
func (s *eventStream) send(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	// Set the write deadline later than needed, so that not every call of send has to move it.
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
	// Clear the write deadline: with HTTP/2, a write deadline that expires ends even an idle
	// stream.
	s.deadline = time.Time{}
	return s.out.SetWriteDeadline(s.deadline)
}

// countIfSlow counts the client as one that was disconnected because it was too slow, if err says
// that a deadline has expired.
func (s *eventStream) countIfSlow(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.live.cut.Add(1)
	}
}

// sendTooSlow counts the client as one that was disconnected because it was too slow. It also sends
// the client a message about that. A client that has stopped reading does not get this message.
func (s *eventStream) sendTooSlow() {
	s.live.cut.Add(1)
	_ = s.send([]byte("event: behind\ndata: {}\n\n"))
}

// sendStopping tells the client that the server stops. It ignores errors, because the stream ends
// anyway.
func (s *eventStream) sendStopping() { _ = s.send([]byte("event: bye\ndata: {}\n\n")) }
