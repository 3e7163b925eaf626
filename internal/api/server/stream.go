package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// replays is how many clients may be served from the database at the same time. The
// others wait: they are behind anyway.
const replays = 4

// stream sends changes as they happen, each once and in order.
func (c *call) stream() error {
	after, given, err := c.lastEventID()
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	if err := names("project", q.Get("project"), "run", q.Get("run")); err != nil {
		return err
	}
	ctx, cancel := c.context()
	last, err := c.hub.join(ctx)
	cancel()
	if err != nil {
		return err
	}
	defer c.hub.leave()
	if !given || after > last {
		after = last // a number of another database means nothing here
	}
	f := &follower{call: c, out: http.NewResponseController(c.w), at: after, fits: fitting(q.Get("project"), q.Get("run")), seen: yes(q.Get("seen"))}
	if err := f.hello(); err != nil {
		return nil // the client has disconnected
	}
	if f.seen {
		c.sightings.join()
		defer c.sightings.leave()
	}
	c.quiet = true
	f.follow(c.r.Context())
	return nil
}

// lastEventID returns the id after which the client wants to continue.
func (c *call) lastEventID() (int64, bool, error) {
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

// follower is one client of the stream.
type follower struct {
	*call
	out   *http.ResponseController
	at    int64            // it has received everything up to this number
	fits  func(frame) bool // selects the changes that it wants; nil for all
	until time.Time        // the current write deadline

	seen  bool            // it wants to know when agents were last seen
	round int             // the last round of sightings that it has
	sight <-chan struct{} // closed when there is a new round; nil if it did not request them
}

func fitting(project, run string) func(frame) bool {
	if project == "" && run == "" {
		return nil
	}
	return func(u frame) bool {
		return (project == "" || project == u.project) && (run == "" || run == u.run)
	}
}

func (f *follower) hello() error {
	h := f.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // otherwise a proxy may delay it
	if err := f.out.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	f.w.WriteHeader(http.StatusOK)
	data, err := json.Marshal(map[string]time.Time{"time": f.opts.Now().UTC()})
	if err != nil {
		return err
	}
	return f.send(fmt.Appendf(nil, "retry: 1000\nid: %d\nevent: hello\ndata: %s\n\n", f.at, data))
}

func (f *follower) send(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := f.allow(time.Now()); err != nil {
		return err
	}
	if _, err := f.w.Write(data); err != nil {
		return err
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	if f.r.ProtoMajor < 2 {
		return nil
	}
	// With HTTP/2 an expired deadline ends the stream, even an idle one.
	f.until = time.Time{}
	return f.out.SetWriteDeadline(f.until)
}

// allow extends the write deadline. It adds a margin, so that not every send has to
// extend it.
func (f *follower) allow(now time.Time) error {
	if f.until.Sub(now) >= f.opts.Send {
		return nil
	}
	f.until = now.Add(f.opts.Send + f.opts.Send/2)
	return f.out.SetWriteDeadline(f.until)
}

// follow sends changes until the client disconnects, is too slow or loses its permission,
// or the server stops.
func (f *follower) follow(ctx context.Context) {
	if f.r.Method == http.MethodHead || f.firstSight(ctx) != nil || f.catchUp(ctx) != nil {
		return
	}
	ping := time.NewTicker(f.opts.Ping)
	defer ping.Stop()
	for {
		next := f.hub.after(f.at, f.fits)
		if next.behind {
			f.metrics.cut.Add(1)
			_ = f.send([]byte("event: behind\ndata: {}\n\n")) // the client gets this if it is still reading
			return
		}
		if err := f.send(next.data); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				f.metrics.cut.Add(1)
			}
			return
		}
		if f.at = next.next; f.sighted() != nil || f.wait(ctx, next.more, ping.C) != nil {
			return
		}
	}
}

// wait returns when there may be more changes.
func (f *follower) wait(ctx context.Context, more <-chan struct{}, ping <-chan time.Time) error {
	for {
		select {
		case <-more:
			return nil
		case <-f.sight:
			if err := f.sighted(); err != nil {
				return err
			}
		case <-ping:
			if err := f.alive(ctx); err != nil {
				return err
			}
		case <-f.stopping:
			_ = f.send([]byte("event: bye\ndata: {}\n\n")) // the server stops either way
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// alive sends a ping, unless the token was revoked meanwhile. The stream continues if the
// database does not answer.
func (f *follower) alive(ctx context.Context) error {
	if f.by.ID != "" {
		if holds, err := f.tokens.Holds(ctx, f.by.ID); err == nil && !holds {
			return context.Canceled
		}
	}
	return f.ping()
}

// catchUp sends changes from the database that the hub no longer keeps.
func (f *follower) catchUp(ctx context.Context) error {
	if !f.hub.after(f.at, f.fits).behind {
		return nil
	}
	select {
	case f.replaying <- struct{}{}:
		defer func() { <-f.replaying }()
	case <-f.stopping:
		return context.Canceled
	case <-ctx.Done():
		return ctx.Err()
	}
	for f.hub.after(f.at, f.fits).behind {
		if err := f.replay(ctx); err != nil || f.stopped() {
			return cmp.Or(err, context.Canceled)
		}
	}
	return nil
}

func (s *Server) stopped() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (f *follower) replay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	list, last, err := f.protocol.Updates(ctx, f.at, page)
	if err != nil {
		f.log.Warn("changes cannot be replayed", "request", f.id, "error", err)
		return err
	}
	var data []byte
	for _, u := range framed(list) {
		if f.fits == nil || f.fits(u) {
			data = append(data, u.data...)
		}
	}
	if last <= f.at {
		return fmt.Errorf("no changes after %d, though there are newer ones", f.at)
	}
	f.at = last
	return f.send(data)
}
