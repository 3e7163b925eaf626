package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gaffer/coordinator"
	"gaffer/internal/api/viewers"
)

// maxClientMessage is the maximum length in bytes of a WebSocket message from a client.
const maxClientMessage = 16 << 10

// sockets counts the open WebSockets, so that the server can wait for them when it stops. net/http
// does not wait for WebSockets.
type sockets struct {
	mu    sync.Mutex
	ended bool
	open  sync.WaitGroup
}

func (s *sockets) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open.Add(1)
	}
	return !s.ended
}

// wait makes enter refuse new WebSockets. It returns when all open WebSockets are closed or ctx
// ends.
func (s *sockets) wait(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	closed := make(chan struct{})
	go func() { // ends when the last WebSocket is closed
		s.open.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// socket is the WebSocket of one viewer client.
type socket struct {
	*viewerHandlers
	c        *request
	conn     *websocket.Conn
	follower *viewers.Follower
	at       int64              // the client has received all messages up to this sequence number
	messages chan clientMessage // readMessages sends here the client's messages
	closing  chan closeReason   // keepAlive sends here the reason to close the WebSocket
	ended    chan struct{}      // closed when sendMessages has ended
}

// clientMessage is a message that a client sends over its WebSocket.
type clientMessage struct {
	Type     string `json:"type"`
	Project  string `json:"project"`
	AfterSeq int64  `json:"afterSeq"`
	bad      error
}

// closeReason is the status code and the text of a WebSocket close message from the server. If code
// is 0, the connection is broken, and no close message is sent.
type closeReason struct {
	code   websocket.StatusCode
	reason string
}

// socket serves a WebSocket until the server stops, or until the client disconnects, is too slow or
// loses its permission.
func (h *viewerHandlers) socket(c *request) error {
	if err := c.checkSocket(); err != nil {
		return err
	}
	project, err := c.project()
	if err != nil {
		return err
	}
	if !h.live.sockets.enter() {
		return context.Canceled
	}
	defer h.live.sockets.open.Done()
	ctx, cancel := c.context()
	of, err := h.viewer.Follow(ctx, project)
	cancel()
	if err != nil {
		return err
	}
	s := &socket{viewerHandlers: h, c: c, follower: of, messages: make(chan clientMessage), closing: make(chan closeReason, 1), ended: make(chan struct{})}
	defer func() { s.follower.Leave() }()
	if s.conn, err = websocket.Accept(c.w, c.r, nil); err != nil {
		return nil // Accept has already sent an error to the client
	}
	c.quiet = true
	s.run(c.r.Context())
	return nil
}

// checkSocket rejects a request that does not ask for a WebSocket. It also rejects a request that
// is authenticated by a cookie and has no Origin header. Browsers send cookies even if a page of
// another site makes the request, and only this header shows the site. checkOrigin, which runs
// earlier, rejects requests whose Origin is another site.
func (c *request) checkSocket() error {
	if !strings.EqualFold(c.r.Header.Get("Upgrade"), "websocket") {
		p := refuse(http.StatusUpgradeRequired, "upgrade_required", "this path speaks WebSocket")
		p.header = map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}
		return p
	}
	if c.how == cookie && c.r.Header.Get("Origin") == "" {
		return refuse(http.StatusForbidden, "forgery", "a socket by cookie needs the Origin of this server's own page")
	}
	return nil
}

// run exchanges messages with the client until the WebSocket must be closed, and closes it.
func (s *socket) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	s.conn.SetReadLimit(maxClientMessage)
	var helpers sync.WaitGroup
	helpers.Go(func() { defer cancel(); s.readMessages(ctx) })
	helpers.Go(func() { s.keepAlive(ctx) })
	bye := s.sendMessages(ctx)
	close(s.ended)
	if bye.code == 0 {
		_ = s.conn.CloseNow()
	} else {
		_ = s.conn.Close(bye.code, bye.reason) // ignore the error: the client may have disconnected
	}
	cancel()
	helpers.Wait()
}

// readMessages reads the client's messages and passes them to sendMessages, one at a time. It ends
// when the connection is closed or sendMessages has ended.
func (s *socket) readMessages(ctx context.Context) {
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		var a clientMessage
		if a.bad = json.Unmarshal(data, &a); kind != websocket.MessageText {
			a.bad = errors.New("want text")
		}
		select {
		case s.messages <- a:
		case <-s.ended:
			return
		}
	}
}

// keepAlive sends pings to find out whether the client is still connected. It makes sendMessages
// close the socket when the client does not answer a ping or its token was revoked.
func (s *socket) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(s.live.ping)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.ended:
			return
		case <-ctx.Done():
			return
		}
		if s.live.revoked(ctx, s.c.by) {
			s.closing <- closeReason{websocket.StatusPolicyViolation, "the token was revoked"}
			return
		}
		// Give the client twice the time that it has for other messages: it answers a ping only
		// after it has received all earlier messages.
		limit, cancel := context.WithTimeout(ctx, 2*s.live.send)
		err := s.conn.Ping(limit)
		cancel()
		if err != nil {
			s.closing <- closeReason{}
			return
		}
	}
}

// sendMessages sends the project's messages to the client and handles the client's messages. When
// there is a reason to close the WebSocket, it returns that reason.
func (s *socket) sendMessages(ctx context.Context) closeReason {
	listed := s.viewer.Listed()
	if s.sendFirst(ctx) != nil {
		return closeReason{}
	}
	for {
		next := s.follower.After(s.at)
		if next.Behind {
			s.live.cut.Add(1)
			return closeReason{websocket.StatusTryAgainLater, "too far behind: come back and ask for a backfill"}
		}
		for _, m := range next.Messages {
			if s.send(ctx, m) != nil {
				return closeReason{}
			}
		}
		s.at = next.Next
		var err error
		select {
		case <-next.More:
		case <-listed:
			listed = s.viewer.Listed()
			err = s.sendProjects(ctx)
		case a := <-s.messages:
			if !s.limiter.allow(s.c.by.Root) {
				return closeReason{websocket.StatusPolicyViolation, "too many requests"}
			}
			err = s.handleMessage(ctx, a)
		case bye := <-s.closing:
			return bye
		case <-s.live.stopping:
			return closeReason{websocket.StatusGoingAway, "the server stops"}
		case <-ctx.Done():
			return closeReason{}
		}
		if err != nil {
			return closeReason{}
		}
	}
}

var errSlow = errors.New("the message was not taken in time")

// send sends a message. If the client does not receive it in time, the connection is closed, and
// send counts the client as too slow.
func (s *socket) send(ctx context.Context, data []byte) error {
	limit, cancel := context.WithTimeoutCause(ctx, s.live.send, errSlow)
	defer cancel()
	err := s.conn.Write(limit, websocket.MessageText, data)
	if err != nil && errors.Is(context.Cause(limit), errSlow) {
		s.live.cut.Add(1)
	}
	return err
}

// sendFirst sends the first messages of a new connection: the list of projects, and the stored
// messages of the project that the client follows.
func (s *socket) sendFirst(ctx context.Context) error {
	if err := s.sendProjects(ctx); err != nil {
		return err
	}
	return s.sendHistory(ctx, 0)
}

func (s *socket) sendProjects(ctx context.Context) error {
	data, err := projectsMessage(ctx, s.viewer)
	if err != nil {
		return s.sendProblem(ctx, err)
	}
	return s.send(ctx, data)
}

// projectsMessage returns the message with the list of projects.
func projectsMessage(ctx context.Context, v Viewer) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	all, err := v.Projects(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Type     string            `json:"type"`
		Projects []viewers.Project `json:"projects"`
	}{viewers.ProjectsUpdate, list(all)})
}

// sendHistory sends the stored messages with sequence numbers above cursor. sendMessages sends the
// messages that are stored later.
func (s *socket) sendHistory(ctx context.Context, cursor int64) error {
	data, latest, err := s.follower.History(cursor)
	if err != nil {
		return err
	}
	if cursor <= s.at {
		s.at = latest
	}
	return s.send(ctx, data)
}

// sendProblem sends an error message to the client. The WebSocket stays open.
func (s *socket) sendProblem(ctx context.Context, err error) error {
	data, err := json.Marshal(problemMessage(err))
	if err != nil {
		return err
	}
	return s.send(ctx, data)
}

// errorMessage is the message that reports an error.
type errorMessage struct {
	Type  string              `json:"type"`
	Error coordinator.Problem `json:"error"`
}

func problemMessage(err error) errorMessage { return errorMessage{"error", problemOf(err).Problem} }

// handleMessage does what a message of the client asks for, and sends the answer.
func (s *socket) handleMessage(ctx context.Context, a clientMessage) error {
	switch {
	case a.bad != nil:
		return s.sendProblem(ctx, refuse(http.StatusBadRequest, "bad_json", "a message is a JSON object with a type"))
	case a.Type == "request-state":
		return s.sendState(ctx)
	case a.Type == "backfill":
		return s.sendHistory(ctx, max(a.AfterSeq, 0))
	case a.Type == "switch-project":
		return s.switchProject(ctx, a.Project)
	}
	return s.sendProblem(ctx, refuse(http.StatusBadRequest, "invalid_request", "a message has the type request-state, switch-project or backfill"))
}

func (s *socket) sendState(ctx context.Context) error {
	state, err := s.follower.State()
	if err != nil {
		err = s.sendProblem(ctx, err)
	} else {
		err = s.send(ctx, state)
	}
	if err != nil {
		return err
	}
	return s.sendHistory(ctx, 0)
}

// switchProject lets the client follow another project, and sends it the stored messages of that
// project. If the project cannot be followed, the client gets an error message and keeps following
// its current project.
func (s *socket) switchProject(ctx context.Context, project string) error {
	if err := checkPath("project", project); err != nil {
		return s.sendProblem(ctx, err)
	}
	limit, cancel := context.WithTimeout(ctx, serviceTimeout)
	of, err := s.viewer.Follow(limit, project)
	cancel()
	if err != nil {
		return s.sendProblem(ctx, err)
	}
	s.follower.Leave()
	s.follower, s.at = of, 0
	return s.sendHistory(ctx, 0)
}
