package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// Terminals opens views of the terminals of agents that run on the server's machine. An error that
// it returns may have methods that decide the HTTP status; see [Protocol].
type Terminals interface {
	// Open opens a view of the terminal of a task's agent. The caller must call the view's method
	// Run, which also closes the view.
	Open(ctx context.Context, by credential.Identity, run, task string, size fleet.TerminalSize) (Terminal, error)
}

// Terminal is one client's view of the terminal of a task's agent. Several clients can view the
// same terminal at the same time.
type Terminal interface {
	// Run shows the terminal until the task has ended or ctx ends. It returns nil if the task has
	// ended. It calls the function output with each piece of the terminal's output, and the
	// function state after each change of the view's state. It never makes two of these calls at
	// the same time.
	Run(ctx context.Context, output func([]byte) error, state func(fleet.TerminalState) error) error
	Resize(fleet.TerminalSize)
	// TakeKeyboard lets this view type in the terminal. Another view that could type until now can
	// then only watch.
	TakeKeyboard()
	ReleaseKeyboard()
	// Type sends keys to the terminal. If the view may not type at the moment, Type drops the keys.
	Type(keys []byte)
}

// terminalHandlers answers the requests to view the terminals of agents.
type terminalHandlers struct {
	terminals Terminals
	live      *liveConnections
	limiter   *rateLimiter
	log       *slog.Logger
}

func (h *terminalHandlers) routes() []route {
	return []route{{
		method: http.MethodGet, path: "/v1/runs/{id}/tasks/{name}/terminal", access: look, about: "a WebSocket with the terminal of a task's agent in tmux; only operators type in it",
		query: []string{"columns", "rows"}, status: http.StatusSwitchingProtocols, moreStatuses: []int{http.StatusUpgradeRequired}, do: h.terminal,
	}}
}

// maxUnconfirmed is the maximum number of bytes of output that the server sends before the client
// confirms that it has shown them. A client that is slower than the terminal misses some output.
// When it is ready again, it gets the whole current screen.
const maxUnconfirmed = 256 << 10

// terminalSocket is the WebSocket of one terminal. Binary messages to the client are output. Binary
// messages from the client are keys. Text messages are JSON in both directions.
type terminalSocket struct {
	*terminalHandlers
	c     *request
	conn  *websocket.Conn
	view  Terminal
	about string
	stop  context.CancelCauseFunc // ends the view; the argument is the reason, a *closeError or nil

	mu          sync.Mutex
	unconfirmed int           // number of bytes of output that the client has not confirmed yet
	confirmed   chan struct{} // receives a value when the client confirms output
}

// closeError is the reason why the server closes a terminal's socket.
type closeError struct{ closeReason }

func (e *closeError) Error() string { return e.reason }

// terminalMessage is a text message that a client sends.
type terminalMessage struct {
	Type  string `json:"type"`  // "resize", "keyboard" or "shown"
	Take  bool   `json:"take"`  // for "keyboard": true asks for the right to type, false gives it back
	Bytes int    `json:"bytes"` // for "shown": number of bytes shown since the last message of this type
	fleet.TerminalSize
}

// stateMessage is the text message that the server sends when the state of a terminal has changed.
type stateMessage struct {
	Type string `json:"type"` // state
	fleet.TerminalState
}

// terminal serves the terminal of a task's agent over a WebSocket. It returns when the task has
// ended, when the client disconnects, is too slow or loses its permission, or when the server
// stops. It opens the WebSocket before the terminal, and sends errors of the terminal over the
// WebSocket: a page in a browser cannot read the HTTP response of a failed WebSocket handshake.
func (h *terminalHandlers) terminal(c *request) error {
	if err := c.checkSocket(); err != nil {
		return err
	}
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	size := fleet.TerminalSize{}
	if size.Columns, err = c.number("columns", 1000, 80); err != nil {
		return err
	}
	if size.Rows, err = c.number("rows", 1000, 24); err != nil {
		return err
	}
	if !h.live.sockets.enter() {
		return context.Canceled
	}
	defer h.live.sockets.open.Done()
	s := &terminalSocket{terminalHandlers: h, c: c, about: taskName(run, task), confirmed: make(chan struct{}, 1)}
	if s.conn, err = websocket.Accept(c.w, c.r, nil); err != nil {
		return nil // Accept has already sent an error to the client
	}
	c.quiet = true
	s.conn.SetReadLimit(maxClientMessage)
	ctx, cancel := c.context()
	s.view, err = h.terminals.Open(ctx, c.by, run, task, size)
	cancel()
	if err != nil {
		s.close(c.r.Context(), err)
	} else {
		s.run(c.r.Context())
	}
	return nil
}

// run shows the terminal until the view ends, and then closes the connection.
func (s *terminalSocket) run(ctx context.Context) {
	var showing context.Context
	showing, s.stop = context.WithCancelCause(ctx)
	reading, stopReading := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { s.stop(s.readMessages(reading)) })
	helpers.Go(func() { s.keepAlive(showing) })
	helpers.Go(func() {
		select {
		case <-s.live.stopping:
			s.stop(&closeError{closeReason{websocket.StatusGoingAway, "the server stops"}})
		case <-showing.Done():
		}
	})
	err := s.view.Run(showing, func(data []byte) error { return s.output(ctx, showing, data) }, func(state fleet.TerminalState) error {
		return s.send(ctx, websocket.MessageText, stateMessage{"state", state})
	})
	if cause := context.Cause(showing); cause != nil {
		err = cause
	}
	s.stop(nil)
	s.close(ctx, err)
	// Call stopReading only after s.close: it cancels a read, which closes the connection, but
	// s.close must first tell the client the reason.
	stopReading()
	helpers.Wait()
}

// close tells the client why the view ends, and closes the connection.
func (s *terminalSocket) close(ctx context.Context, err error) {
	known, isClose := errors.AsType[*closeError](err)
	switch {
	case err == nil:
		_ = s.conn.Close(websocket.StatusNormalClosure, "the task has ended") // ignore the error: the client may have disconnected
	case isClose && known.code == 0, ctx.Err() != nil:
		_ = s.conn.CloseNow()
	case isClose:
		_ = s.conn.Close(known.code, known.reason)
	default:
		p := problemOf(err)
		if p.status >= http.StatusInternalServerError {
			s.log.Warn("a terminal failed", "request", s.c.id, "about", s.about, "error", err)
		}
		if s.send(ctx, websocket.MessageText, errorMessage{"error", p.Problem}) == nil {
			_ = s.conn.Close(websocket.StatusInternalError, "")
		} else {
			_ = s.conn.CloseNow()
		}
	}
}

// send sends a message to the client. A value of type []byte is sent unchanged, any other value as
// JSON. If the client does not receive the message in time, the connection is closed.
func (s *terminalSocket) send(ctx context.Context, kind websocket.MessageType, value any) error {
	data, ok := value.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(value); err != nil {
			return err
		}
	}
	limit, cancel := context.WithTimeoutCause(ctx, s.live.send, errSlow)
	defer cancel()
	err := s.conn.Write(limit, kind, data)
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(limit), errSlow) {
		s.live.cut.Add(1)
	}
	return &closeError{}
}

// output waits until the client has confirmed enough of the earlier output, and then sends data.
func (s *terminalSocket) output(ctx, showing context.Context, data []byte) error {
	for {
		s.mu.Lock()
		free := s.unconfirmed+len(data) <= maxUnconfirmed
		if free {
			s.unconfirmed += len(data)
		}
		s.mu.Unlock()
		if free {
			return s.send(ctx, websocket.MessageBinary, data)
		}
		select {
		case <-s.confirmed:
		case <-showing.Done():
			return context.Cause(showing)
		}
	}
}

func (s *terminalSocket) confirm(bytes int) {
	s.mu.Lock()
	s.unconfirmed = max(0, s.unconfirmed-max(0, bytes))
	s.mu.Unlock()
	select {
	case s.confirmed <- struct{}{}:
	default: // s.confirmed already contains a value
	}
}

// keepAlive sends pings to find out whether the client is still connected. It ends the view when
// the client does not answer a ping or its token was revoked.
func (s *terminalSocket) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(s.live.ping)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if s.live.revoked(ctx, s.c.by) {
			s.stop(&closeError{closeReason{websocket.StatusPolicyViolation, "the token was revoked"}})
			return
		}
		limit, cancel := context.WithTimeout(ctx, 2*s.live.send)
		err := s.conn.Ping(limit)
		cancel()
		if err != nil {
			s.stop(&closeError{})
			return
		}
	}
}

// readMessages handles the client's messages until the connection is closed or the client exceeds
// its rate limit. It returns the reason as a *closeError.
func (s *terminalSocket) readMessages(ctx context.Context) error {
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return &closeError{}
		}
		if !s.limiter.allow(s.c.by.Root) {
			return &closeError{closeReason{websocket.StatusPolicyViolation, "too many requests"}}
		}
		if kind == websocket.MessageBinary {
			s.view.Type(data)
			continue
		}
		if err := s.handleMessage(data); err != nil {
			if err := s.send(ctx, websocket.MessageText, problemMessage(err)); err != nil {
				return err
			}
		}
	}
}

func (s *terminalSocket) handleMessage(data []byte) error {
	var m terminalMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return refuse(http.StatusBadRequest, "bad_json", "a text message is a JSON object with a type")
	}
	switch {
	case m.Type == "shown":
		s.confirm(m.Bytes)
	case m.Type == "resize":
		s.view.Resize(m.TerminalSize)
	case m.Type == "keyboard" && !m.Take:
		s.view.ReleaseKeyboard()
	case m.Type == "keyboard":
		return s.takeKeyboard()
	default:
		return refuse(http.StatusBadRequest, "invalid_request", "a text message has the type resize, keyboard or shown")
	}
	return nil
}

// takeKeyboard gives the client the right to type in the terminal, and logs this. It returns an
// error if the client may not type.
func (s *terminalSocket) takeKeyboard() error {
	by := s.c.by
	if !operate.permits(by.Role) {
		return refuse(http.StatusForbidden, "forbidden", fmt.Sprintf("the role %s may not type in a terminal", by.Role))
	}
	// A client that sends its token in the URL may watch the terminal, but not type in it.
	if s.c.how == query {
		return refuse(http.StatusForbidden, "forbidden", "a token in the URL permits watching only: send it as Authorization: Bearer TOKEN")
	}
	s.view.TakeKeyboard()
	s.log.Info("took the keyboard of a terminal", "request", s.c.id, "about", s.about, "by", by.ID, "name", by.Name, "role", string(by.Role), "from", s.c.from)
	return nil
}
