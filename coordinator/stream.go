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
	// After is the id of the last change that the caller has received. If it is empty, the stream
	// contains only changes that happen from now on.
	After   string
	Project string // only changes of this project; empty for all
	Run     string // only changes of this run; empty for all
	Seen    bool   // also send updates of the type Seen
}

// Seen is the type of an [Update] that says when agents sent their last heartbeats. The field
// Change of such an update is a JSON object that maps the ids of agents to times. It may leave out
// agents whose time has not changed since the previous update of this type. Updates of this type
// have no ids.
const Seen = "seen"

// Change is an update of the event stream, a report that updates may be missing, or both.
type Change struct {
	ID string // id of the change, for StreamQuery.After; empty if the coordinator sent no id

	// Gap reports that changes may be missing before this one. A caller that keeps a copy of the
	// coordinator's state has to fetch that state again. A gap that is known before the next update
	// arrives is reported in a separate Change with an empty Type. The possible causes are:
	//   - The coordinator continues the stream after a different change than requested.
	//   - The connection broke, and the coordinator sends no ids.
	//   - The id of a change is lower than the previous id.
	//   - A change could not be read.
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

// stream is the state of a call of [Client.Stream]. The call may open several connections, one
// after the other.
type stream struct {
	conn      *connection
	last      string // id of the last received change; at first, StreamQuery.After
	connected int    // number of connections so far on which a message arrived
	moved     bool   // a change arrived on this connection that had not arrived on an earlier one
	retry     time.Duration
	visit     func(Change) error
	visitErr  error
}

// longestMessage is the maximum size of a message of the stream, in bytes. A message may
// contain a whole task, but the largest task that a coordinator accepts is several times smaller.
const longestMessage = 8 << 20

var errSilent = errors.New("the stream fell silent")

// connect opens a connection to one of the coordinator's addresses, and handles messages until the
// connection ends. If an address fails, connect tries the next one. It always returns an error: the
// reason why the last connection ended.
//
// If a connection breaks after its first message, the address still counts as working, because the
// coordinator may have disconnected a client that reads too slowly. If no message arrives for too
// long, the address counts as failed.
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

// connection opens a connection to one address, and handles messages until the connection ends. It
// returns the reason why the connection ended.
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
		watchdog.Stop() // while the caller's function runs, the connection does not count as silent
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
	req.Header.Set("Accept-Encoding", "identity") // no compression, because it could delay changes
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
	_ = res.Body.Close() // ignore the error: the body is not used
	return nil, err
}

// handle passes the change in a message to the caller's function s.visit. If the message shows that
// changes are missing, handle also reports a gap. It skips a change that has already arrived on an
// earlier connection. The parameter fresh says whether the message is the first of its connection.
func (s *stream) handle(m message, fresh bool) error {
	if m.retry > 0 {
		s.retry = min(m.retry, longestWait)
	}
	gap := false
	if fresh {
		// After a reconnect, the stream continues after the last change whose id is known. If no id
		// is known, changes may be missing.
		gap = s.connected > 0 && s.last == ""
		s.connected, s.moved = s.connected+1, false
	}
	switch m.name {
	case "hello":
		return s.hello(m, gap)
	case "seen":
		return s.seen(m, gap)
	}
	// Skip a change that has already arrived on an earlier connection.
	if !s.moved && m.id != "" && m.id == s.last {
		return s.reportGap(m.id, gap)
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

// hello handles the first message of a connection. The id of this message is the id of the change
// after which the coordinator continues the stream. If the client has requested a different change,
// changes may be missing between the two, so hello reports a gap.
func (s *stream) hello(m message, gap bool) error {
	if m.hasID && m.id != s.last {
		gap = gap || s.last != ""
		s.last = m.id
	}
	return s.reportGap(m.id, gap)
}

// seen handles a message that says when agents sent their last heartbeats. It passes the update to
// the caller's function s.visit. The message has no id, so s.last does not change.
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

// reportGap calls s.visit with a separate Change that reports a gap. It does nothing if the
// parameter gap is false. The parameter id is the id of the message that shows the gap.
func (s *stream) reportGap(id string, gap bool) error {
	if !gap {
		return nil
	}
	return s.visit(Change{ID: id, Gap: true})
}
