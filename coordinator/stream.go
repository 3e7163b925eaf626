package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"
)

// StreamQuery says where a stream starts and which changes it contains.
type StreamQuery struct {
	After   string // id of the last change that the caller knows; if empty, the stream starts with the next change
	Project string // only changes of this project; empty for all
	Run     string // only changes of this run; empty for all
	Seen    bool   // also report when each agent was last seen; see the constant Seen
}

// Seen is the type of an update that says when agents were last seen. Its Change is a JSON object
// that maps ids of agents to times. The first such update of each connection has all agents, later
// ones have those whose time has changed. The update is not one of the stream's changes, so it has no
// id.
const Seen = "seen"

// Change is an update of the stream.
type Change struct {
	ID string // pass it as StreamQuery.After to continue after this change; empty if the coordinator gives none

	// Gap reports that changes may be missing before this one. A caller that keeps a copy of the
	// state has to fetch it again. The gap is reported as soon as it is known, if necessary in a
	// separate Change with an empty Type. There are four causes: the coordinator continues from
	// another change than requested; it gives no ids and the connection broke; its ids went
	// backwards; or a change could not be read.
	Gap bool

	Update
}

// Stream calls handle for every change, in order. It returns when the context ends, when handle
// returns an error, or when the coordinator refuses the request. If a connection breaks or is
// silent for too long, Stream opens a new one, and continues after the last change that it has
// passed to handle.
func (c *Client) Stream(ctx context.Context, from StreamQuery, handle func(Change) error) error {
	conn, end := c.conn.separate()
	defer end()
	s := &stream{conn: conn, last: from.After, visit: handle}
	query := addNonEmpty(url.Values{}, "project", from.Project, "run", from.Run, "seen", flag(from.Seen))
	q := get(query, "v1", "stream")
	for failures := 1; ; failures++ {
		connected := s.connected
		err := s.connect(ctx, q)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.visitErr != nil:
			return s.visitErr
		case !temporary(err):
			return fmt.Errorf("%s: %w", q, err)
		case s.connected > connected:
			failures = 1
		}
		sleep(ctx, max(conn.pause(failures, err), s.retry))
	}
}

// stream is the state of a Stream call. It is kept when the call opens a new connection.
type stream struct {
	conn      *connection
	last      string // id of the last change that was received; at first, the id that the stream starts after
	connected int    // number of connections so far that sent a message
	moved     bool   // the current connection has sent a change that no earlier connection has sent
	retry     time.Duration
	visit     func(Change) error
	visitErr  error // the error that visit returned
}

// longestMessage is the maximum size of a message, in bytes. The largest task that a coordinator
// accepts is several times smaller.
const longestMessage = 8 << 20

var errSilent = errors.New("the stream fell silent")

// connect opens a connection to the first address that accepts one, and reads it until it ends. It
// never returns nil. If the connection breaks after its first message, the address still counts as
// working: the coordinator may have disconnected a client that reads too slowly. If the connection
// falls silent, the address counts as failed.
func (s *stream) connect(ctx context.Context, q call) error {
	var torn error
	err := s.conn.firstReachable(ctx, true, func(ctx context.Context, at *address) error {
		connected := s.connected
		err := s.connection(ctx, at, q)
		if s.connected > connected && !errors.Is(err, errSilent) {
			torn, err = err, nil
		}
		return err
	})
	return cmp.Or(err, torn)
}

// connection opens one connection to an address, and reads it until it ends.
func (s *stream) connection(ctx context.Context, to *address, q call) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := s.conn.opt.Silence
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	body, err := s.open(ctx, to.URL, q)
	if err != nil {
		return failureReason(ctx, err)
	}
	s.conn.addresses.answered(to)
	defer body.Close()
	r := newMessages(body, longestMessage, func() { watchdog.Reset(silence) })
	for fresh := true; ; fresh = false {
		m, err := r.next()
		if err != nil {
			return failureReason(ctx, err)
		}
		watchdog.Stop() // do not count the time in the caller's function as silence
		if s.visitErr = s.handle(m, fresh); s.visitErr != nil {
			return s.visitErr
		}
		watchdog.Reset(silence)
	}
}

func (s *stream) open(ctx context.Context, base *url.URL, q call) (io.ReadCloser, error) {
	req, err := s.conn.request(ctx, base, q)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // a compressor would delay changes
	req.Header.Set("Cache-Control", "no-cache")
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	res, err := s.conn.http.Do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode != http.StatusOK:
		err = s.conn.refused(res)
	case kind != "text/event-stream":
		err = badAnswer("the answer is not a stream of events but " + printable(kind))
	default:
		return res.Body, nil
	}
	_ = res.Body.Close() // ignore the error: the body is not needed
	return nil, err
}

// handle passes the change in a message to visit. If the message shows that changes are missing,
// handle also reports a gap. It skips a change that an earlier connection has delivered. fresh says
// whether the message is the first of its connection.
func (s *stream) handle(m message, fresh bool) error {
	if m.retry > 0 {
		s.retry = min(m.retry, longestWait)
	}
	gap := false
	if fresh {
		gap = s.connected > 0 && s.last == "" // without ids, changes during the reconnect cannot be requested again
		s.connected, s.moved = s.connected+1, false
	}
	switch m.name {
	case "hello":
		return s.hello(m, gap)
	case "seen":
		return s.seen(m, gap)
	}
	if !s.moved && m.id != "" && m.id == s.last {
		return s.reportGap(m.id, gap) // an earlier connection has delivered this change; the coordinator sends it again
	}
	s.moved = true
	gap = gap || m.cut || m.hasID && before(m.id, s.last)
	if m.hasID {
		s.last = m.id
	}
	if m.name != "update" || m.cut {
		return s.reportGap(m.id, gap)
	}
	change := Change{ID: m.id, Gap: gap}
	if json.Unmarshal(m.data, &change.Update) != nil {
		return s.reportGap(m.id, true)
	}
	return s.visit(change)
}

// hello handles the first message of a connection. The message names the change after which the
// stream continues. That is the requested change, unless the coordinator has already deleted
// changes that came after it. In that case, hello reports a gap.
func (s *stream) hello(m message, gap bool) error {
	if m.hasID && m.id != s.last {
		gap = gap || s.last != ""
		s.last = m.id
	}
	return s.reportGap(m.id, gap)
}

// seen handles a message that says when agents were last seen: it calls visit with the update. The
// update has no id, so a stream cannot continue after it.
func (s *stream) seen(m message, gap bool) error {
	var said struct {
		Time time.Time       `json:"time"`
		Seen json.RawMessage `json:"seen"`
	}
	if m.cut || json.Unmarshal(m.data, &said) != nil {
		return s.reportGap("", gap)
	}
	return s.visit(Change{Gap: gap, Update: Update{Type: Seen, Time: said.Time, Change: said.Seen}})
}

// reportGap calls visit with a separate Change that reports a gap. It does nothing if gap is false.
func (s *stream) reportGap(id string, gap bool) error {
	if !gap {
		return nil
	}
	return s.visit(Change{ID: id, Gap: true})
}
