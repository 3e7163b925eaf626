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

// StreamQuery selects where a stream starts and which changes it contains.
type StreamQuery struct {
	After   string // id of the last known change; if empty, the stream starts with the next change
	Project string // only this project's changes
	Run     string // only this run's changes
	Seen    bool   // also report when agents were last seen; see the constant Seen
}

// Seen is the type of an update that reports when agents were last seen. It is not a
// change. Its Change maps the ids of agents to times: at first of all agents, then of
// those whose time has changed.
const Seen = "seen"

// Change is an update of the stream.
type Change struct {
	ID string // id from which a stream can continue; empty if the coordinator gives none

	// Gap reports that changes may be missing before this one. A caller that keeps a
	// copy of the state has to fetch it again. The gap is reported as soon as it is
	// known, if necessary in a separate Change with an empty Type. There are four
	// causes: the coordinator continues from another change than requested, it gives no
	// ids and the connection broke, its numbers went backwards, or a change could not
	// be read.
	Gap bool

	Update
}

// Stream calls each for every change, in order. It returns when the context ends, when
// each returns an error, or when the coordinator refuses the request. It replaces
// broken and silent connections, and continues after the last change that it has passed
// to each.
func (c *Client) Stream(ctx context.Context, from StreamQuery, each func(Change) error) error {
	conn, end := c.conn.separate()
	defer end()
	s := &stream{conn: conn, last: from.After, each: each}
	query := addNonEmpty(url.Values{}, "project", from.Project, "run", from.Run, "seen", flag(from.Seen))
	q := get(query, "v1", "stream")
	for failures := 1; ; failures++ {
		connected := s.connected
		err := s.connect(ctx, q)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.eachErr != nil:
			return s.eachErr
		case !temporary(err):
			return fmt.Errorf("%s: %w", q, err)
		case s.connected > connected:
			failures = 1
		}
		sleep(ctx, max(conn.pause(failures, err), s.retry))
	}
}

// stream holds the state that is kept when a connection is replaced.
type stream struct {
	conn      *connection
	last      string // id of the last change passed to each, or the id that the stream started from
	connected int    // number of connections that sent a message
	moved     bool   // this connection has sent a change that is newer than last
	retry     time.Duration
	each      func(Change) error
	eachErr   error // the error that each returned
}

// longestMessage is the maximum size of a message. It is several times the size of the
// largest task that a coordinator accepts.
const longestMessage = 8 << 20

var errSilent = errors.New("the stream fell silent")

// connect opens a connection to the first address that accepts one, and reads it to its
// end. If the connection breaks later, the address still counts as working, because the
// coordinator may have disconnected a reader that is too slow.
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

// connection reads one connection to its end.
func (s *stream) connection(ctx context.Context, at *address, q call) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := s.conn.opt.Silence
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	body, err := s.open(ctx, at.URL, q)
	if err != nil {
		return failureReason(ctx, err)
	}
	s.conn.addresses.answered(at)
	defer body.Close()
	r := newMessages(body, longestMessage, func() { watchdog.Reset(silence) })
	for fresh := true; ; fresh = false {
		m, err := r.next()
		if err != nil {
			return failureReason(ctx, err)
		}
		watchdog.Stop() // time spent in the caller's function does not count as silence
		if s.eachErr = s.handle(m, fresh); s.eachErr != nil {
			return s.eachErr
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
	_ = res.Body.Close() // the body is not needed
	return nil, err
}

// handle passes a message to each, and reports a gap that the message reveals.
func (s *stream) handle(m message, fresh bool) error {
	if m.retry > 0 {
		s.retry = min(m.retry, longestWait)
	}
	gap := false
	if fresh {
		gap = s.connected > 0 && s.last == "" // if there are no ids, changes during the reconnect are unknown
		s.connected, s.moved = s.connected+1, false
	}
	switch m.name {
	case "hello":
		return s.hello(m, gap)
	case "seen":
		return s.seen(m, gap)
	}
	if !s.moved && m.id != "" && m.id == s.last {
		return s.reportGap(m.id, gap) // the previous connection has already delivered this change
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
	return s.each(change)
}

// hello handles the message that names the change after which the stream continues.
// That is the requested change, unless the coordinator no longer has all later ones.
func (s *stream) hello(m message, gap bool) error {
	if m.hasID && m.id != s.last {
		gap = gap || s.last != ""
		s.last = m.id
	}
	return s.reportGap(m.id, gap)
}

// seen passes on when agents were last seen. This is not a change, so it has no id to
// continue after.
func (s *stream) seen(m message, gap bool) error {
	var said struct {
		Time time.Time       `json:"time"`
		Seen json.RawMessage `json:"seen"`
	}
	if m.cut || json.Unmarshal(m.data, &said) != nil {
		return s.reportGap("", gap)
	}
	return s.each(Change{Gap: gap, Update: Update{Type: Seen, Time: said.Time, Change: said.Seen}})
}

// reportGap reports a gap, if there is one, in a separate Change.
func (s *stream) reportGap(id string, gap bool) error {
	if !gap {
		return nil
	}
	return s.each(Change{ID: id, Gap: true})
}
