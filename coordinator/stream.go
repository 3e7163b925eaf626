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

// From is where a stream begins and what of it is wanted.
type From struct {
	After   string // the id of the last change that is known; empty begins with the next one
	Project string // only this project's changes
	Run     string // only this run's changes
	Seen    bool   // also tell when agents were last seen
}

// Seen is the type of a [Change] that is none: its Change has, by the ids of agents,
// when each was last seen; at first of all, then of those for which it has moved.
const Seen = "seen"

// Change is an update of the stream.
type Change struct {
	ID string // to go on after it; empty if the coordinator gives none

	// Gap says that changes may be missing before this one, so that whoever keeps
	// a picture has to fetch it again. It is told as soon as it is known, by itself
	// and with an empty Type if need be. The reasons: the coordinator goes on from
	// somewhere else than was asked for, it gives no ids and the connection tore,
	// its numbers went back, or a change was not to be read.
	Gap bool

	Update
}

// Stream tells every change, in order, until the context ends, tell returns an
// error, or the coordinator refuses. Torn and dead connections are made anew, and
// go on after the last change that was told.
func (c *Client) Stream(ctx context.Context, from From, tell func(Change) error) error {
	via, end := c.apart()
	defer end()
	s := &stream{client: c, via: via, from: from, last: from.After, tell: tell}
	q := s.call()
	for failures := 1; ; failures++ {
		greeted := s.greeted
		err := s.connect(ctx, q)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.told != nil:
			return s.told
		case !temporary(err):
			return fmt.Errorf("%s: %w", q, err)
		case s.greeted > greeted:
			failures = 1
		}
		rest(ctx, max(c.pause(failures, err), s.retry))
	}
}

// stream is what outlives a connection.
type stream struct {
	client  *Client
	via     *http.Client
	from    From
	last    string // id of the last change told, or where the stream began
	greeted int    // connections that said something
	moved   bool   // this connection told a change that was not known
	retry   time.Duration
	tell    func(Change) error
	told    error // what tell returned
}

func (s *stream) call() call {
	query := set(url.Values{}, "project", s.from.Project, "run", s.from.Run, "seen", flag(s.from.Seen))
	return get(query, "v1", "stream")
}

// longestMessage is several times the largest task a coordinator takes.
const longestMessage = 8 << 20

var errSilent = errors.New("the stream fell silent")

// connect reads one connection to its end, at the first address where there is
// one. What tears afterwards tells nothing about the coordinator: it may have had
// enough of a reader that is behind.
func (s *stream) connect(ctx context.Context, q call) error {
	var torn error
	err := s.client.visit(ctx, true, func(ctx context.Context, at *address) error {
		greeted := s.greeted
		err := s.connection(ctx, at, q)
		if s.greeted > greeted && !errors.Is(err, errSilent) {
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
	silence := s.client.opt.Silence
	watchdog := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watchdog.Stop()

	body, err := s.open(ctx, at.URL, q)
	if err != nil {
		return reason(ctx, err)
	}
	s.client.at.answered(at)
	defer body.Close()
	r := newMessages(body, longestMessage, func() { watchdog.Reset(silence) })
	for fresh := true; ; fresh = false {
		m, err := r.next()
		if err != nil {
			return reason(ctx, err)
		}
		watchdog.Stop() // how long the reader takes is not the coordinator's fault
		if s.told = s.handle(m, fresh); s.told != nil {
			return s.told
		}
		watchdog.Reset(silence)
	}
}

func (s *stream) open(ctx context.Context, base *url.URL, q call) (io.ReadCloser, error) {
	req, err := s.client.request(ctx, base, q)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // a compressor would hold changes back
	req.Header.Set("Cache-Control", "no-cache")
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	res, err := s.via.Do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode != http.StatusOK:
		err = s.client.refused(res)
	case kind != "text/event-stream":
		err = badAnswer("the answer is not a stream of events but " + printable(kind))
	default:
		return res.Body, nil
	}
	_ = res.Body.Close() // nothing more is wanted of it
	return nil, err
}

// handle tells what a message says, and what it gives away about others.
func (s *stream) handle(m message, fresh bool) error {
	if m.retry > 0 {
		s.retry = min(m.retry, longestRest)
	}
	gap := false
	if fresh {
		gap = s.greeted > 0 && s.last == "" // nobody can say what happened meanwhile
		s.greeted, s.moved = s.greeted+1, false
	}
	switch m.name {
	case "hello":
		return s.hello(m, gap)
	case "seen":
		return s.seen(m, gap)
	}
	if !s.moved && m.id != "" && m.id == s.last {
		return s.note(m.id, gap) // told before the connection was made anew
	}
	s.moved = true
	gap = gap || m.cut || m.hasID && before(m.id, s.last)
	if m.hasID {
		s.last = m.id
	}
	if m.name != "update" || m.cut {
		return s.note(m.id, gap)
	}
	change := Change{ID: m.id, Gap: gap}
	if json.Unmarshal(m.data, &change.Update) != nil {
		return s.note(m.id, true)
	}
	return s.tell(change)
}

// hello says after which change the stream goes on. That is the one that was asked
// for, unless the coordinator no longer has all that followed it.
func (s *stream) hello(m message, gap bool) error {
	if m.hasID && m.id != s.last {
		gap = gap || s.last != ""
		s.last = m.id
	}
	return s.note(m.id, gap)
}

// seen tells when agents were last seen. That is no change, and nobody goes on
// after it.
func (s *stream) seen(m message, gap bool) error {
	var said struct {
		Time time.Time       `json:"time"`
		Seen json.RawMessage `json:"seen"`
	}
	if m.cut || json.Unmarshal(m.data, &said) != nil {
		return s.note("", gap)
	}
	return s.tell(Change{Gap: gap, Update: Update{Type: Seen, Time: said.Time, Change: said.Seen}})
}

// note tells a gap by itself.
func (s *stream) note(id string, gap bool) error {
	if !gap {
		return nil
	}
	return s.tell(Change{ID: id, Gap: true})
}
