package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// maxReplays is how many clients of the event stream may read old changes from the database at the
// same time. Further clients wait.
const maxReplays = 4

// streamHandlers answers GET /v1/stream.
type streamHandlers struct {
	service   Protocol
	hub       *hub
	activity  *activityFeed
	live      *liveConnections
	now       func() time.Time
	log       *slog.Logger
	replaying chan struct{} // semaphore: at most maxReplays clients read old changes at once
}

// stream sends the changes in the store in order and as they happen. The query parameters project
// and run select the changes. A client that reconnects sends the id of the last event that it has
// received. It first gets the changes that it has missed.
func (h *streamHandlers) stream(c *request) error {
	after, given, err := c.lastEventID()
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	project, run := q.Get("project"), q.Get("run")
	if err := cmp.Or(checkPath("project", project), checkNames("run", run)); err != nil {
		return err
	}
	ctx, cancel := c.context()
	last, err := h.hub.join(ctx)
	cancel()
	if err != nil {
		return err
	}
	defer h.hub.leave()
	if !given || after > last {
		// The client sent no id, or an id above that of the latest change. Start after the latest
		// change.
		after = last
	}
	hello, err := json.Marshal(map[string]time.Time{"time": h.now().UTC()})
	if err != nil {
		return err
	}
	events, err := h.live.openEventStream(c, fmt.Appendf(nil, "retry: 1000\nid: %d\nevent: hello\ndata: %s\n\n", after, hello))
	if err != nil {
		return nil // the client has disconnected
	}
	c.quiet = true
	s := &streamClient{streamHandlers: h, events: events, c: c, at: after, wantsActivity: c.flag("seen")}
	if project != "" || run != "" {
		s.wants = func(f frame) bool { return (project == "" || project == f.project) && (run == "" || run == f.run) }
	}
	if s.wantsActivity {
		h.activity.join()
		defer h.activity.leave()
	}
	if c.r.Method != http.MethodHead {
		s.follow(c.r.Context())
	}
	return nil
}

// lastEventID returns the sequence number of the last change that the client has received. given is
// false if the request does not contain this number.
func (c *request) lastEventID() (id int64, given bool, err error) {
	text := c.r.Header.Get("Last-Event-ID")
	if text == "" {
		text = c.r.URL.Query().Get("last_event_id")
	}
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, false, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("last event id %.40q: want a number that the stream gave", text))
	}
	return n, true, nil
}

// streamClient is one client of GET /v1/stream.
type streamClient struct {
	*streamHandlers
	events *eventStream
	c      *request
	at     int64            // sequence number up to which all wanted changes were sent
	wants  func(frame) bool // reports whether the client wants a change; nil if it wants all

	wantsActivity bool
	round         int             // number of the last activity message that was sent; 0 if none was
	moreActivity  <-chan struct{} // closed when there is a newer activity message; nil unless wantsActivity
}

// follow sends changes to the client. It returns when the client disconnects or is too slow, when
// its token is revoked or expires, when old changes cannot be read, or when the server stops.
func (s *streamClient) follow(ctx context.Context) {
	if s.sendFirstActivity(ctx) != nil || s.catchUp(ctx) != nil {
		return
	}
	ping := time.NewTicker(s.live.ping)
	defer ping.Stop()
	for {
		next := s.hub.after(s.at, s.wants)
		if next.behind {
			s.events.sendTooSlow()
			return
		}
		if err := s.events.send(next.data); err != nil {
			s.events.countIfSlow(err)
			return
		}
		if s.at = next.next; s.sendActivity() != nil || s.wait(ctx, next.more, ping.C) != nil {
			return
		}
	}
}

// wait returns nil when there may be more changes, and an error when the stream must end. Meanwhile
// it sends pings, and activity if the client wants it.
func (s *streamClient) wait(ctx context.Context, more <-chan struct{}, ping <-chan time.Time) error {
	for {
		select {
		case <-more:
			return nil
		case <-s.moreActivity:
			if err := s.sendActivity(); err != nil {
				return err
			}
		case <-ping:
			if s.live.revoked(ctx, s.c.by) {
				return context.Canceled
			}
			data := []byte(": ping\n\n")
			// Browsers hide the comment "ping" from the page. So if the client wants activity, send
			// an activity event without content instead.
			if s.wantsActivity {
				data = (&activitySnapshot{}).frame(s.now().UTC(), false)
			}
			if err := s.events.send(data); err != nil {
				return err
			}
		case <-s.live.stopping:
			s.events.sendStopping()
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendActivity sends the latest activity, if the client wants it and does not have it yet.
func (s *streamClient) sendActivity() error {
	if !s.wantsActivity {
		return nil
	}
	data, round, more := s.activity.after(s.round)
	s.round, s.moreActivity = round, more
	return s.events.send(data)
}

// sendFirstActivity sends the first activity, before any change, if the client wants activity. If
// the activity is not read from the store in time, it sends nothing and returns nil, so that the
// stream continues.
func (s *streamClient) sendFirstActivity(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.live.send)
	defer cancel()
	for s.wantsActivity && s.round == 0 {
		if err := s.sendActivity(); err != nil || s.round > 0 {
			return err
		}
		select {
		case <-s.moreActivity:
		case <-s.live.stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// catchUp sends the client changes from the database until the hub's buffer, which has only the
// latest changes, has all later ones. It does nothing if the buffer already has all changes that
// the client lacks.
func (s *streamClient) catchUp(ctx context.Context) error {
	if !s.hub.after(s.at, s.wants).behind {
		return nil
	}
	select {
	case s.replaying <- struct{}{}:
		defer func() { <-s.replaying }()
	case <-s.live.stopping:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
	for s.hub.after(s.at, s.wants).behind {
		if err := s.replay(ctx); err != nil || s.live.stopped() {
			return cmp.Or(err, context.Canceled)
		}
	}
	return nil
}

// replay reads one page of changes from the database and sends those that the client wants.
func (s *streamClient) replay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	list, last, err := s.service.Updates(ctx, s.at, page)
	if err != nil {
		s.log.Warn("changes cannot be replayed", "request", s.c.id, "error", err)
		return err
	}
	var data []byte
	for _, f := range encodeFrames(list) {
		if s.wants == nil || s.wants(f) {
			data = append(data, f.data...)
		}
	}
	if last <= s.at {
		return fmt.Errorf("no changes after %d, though there are newer ones", s.at)
	}
	s.at = last
	return s.events.send(data)
}
