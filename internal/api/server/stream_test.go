package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// reader is a client that reads the stream.
type reader struct {
	resp *http.Response
	in   *bufio.Reader
	id   int64 // id of the last event that was read
}

// event is one event of a stream, or a comment.
type event struct {
	id                  int64
	name, data, comment string
}

func follow(w *world, query string, change func(*http.Request)) *reader {
	w.t.Helper()
	r, err := dial(w, query, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func dial(w *world, query string, change func(*http.Request)) (*reader, error) {
	req := w.request("GET", "/v1/stream"+query, "")
	req.Header.Set("Authorization", "Bearer "+w.tokens[credential.Viewer])
	if change != nil {
		change(req)
	}
	resp, err := w.client.Do(req) //nolint:bodyclose // reader.close does
	if err != nil {
		return nil, err
	}
	r := &reader{resp: resp, in: bufio.NewReader(resp.Body)}
	first, err := r.next()
	if err == nil && first.name != "hello" {
		err = fmt.Errorf("%d, the first event is %+v", resp.StatusCode, first)
	}
	if err != nil {
		r.close()
	}
	return r, err
}

func (r *reader) close() { _ = r.resp.Body.Close() }

func (r *reader) next() (e event, err error) {
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n":
			if e.id != 0 {
				r.id = e.id
			}
			return e, nil
		case name == "":
			e.comment = value
		case name == "id":
			if e.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return e, err
			}
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		}
	}
}

// updates reads until it has n updates. It returns their ids.
func (r *reader) updates(n int) (ids []int64, err error) {
	for len(ids) < n {
		e, err := r.next()
		if err != nil {
			return ids, err
		}
		if e.name == "update" {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}

func count(from, to int64) (all []int64) {
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

func TestTheStreamSendsEveryChangeWithItsRow(t *testing.T) {
	w := start(t, nil)
	r := follow(w, "", nil)
	defer r.close()
	w.ask(credential.Admin, "POST", "/v1/tasks", `{"title":"<b>"}`)
	e, err := r.next()
	if err != nil || e.name != "update" || e.id != 1 {
		t.Fatalf("%+v, %v", e, err)
	}
	got := reply{body: e.data}
	if got.field("type") != "tasks" || got.field("change", "title") != "<b>" || got.field("time") == nil || strings.Contains(e.data, "<") {
		t.Errorf("data %s", e.data)
	}
}

func TestAReaderWhoComesBackGetsWhatItMissed(t *testing.T) {
	for name, back := range map[string]func(string) (string, func(*http.Request)){
		"with the header": func(id string) (string, func(*http.Request)) {
			return "", func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
		},
		"with the query": func(id string) (string, func(*http.Request)) { return "?last_event_id=" + id, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			w.service.tell(500, "", "") // more changes than one page, before any client reads
			r := follow(w, "", nil)
			if r.id != 500 {
				t.Fatalf("hello has the id %d", r.id)
			}
			w.service.tell(3, "", "")
			if ids, err := r.updates(3); err != nil || !slices.Equal(ids, count(501, 503)) {
				t.Fatalf("%v, %v", ids, err)
			}
			r.close()
			w.service.tell(2, "", "")
			query, change := back("1")
			r = follow(w, query, change)
			defer r.close()
			if ids, err := r.updates(504); err != nil || !slices.Equal(ids, count(2, 505)) {
				t.Fatalf("%d events, %v", len(ids), err)
			}
		})
	}
}

func TestANumberThatTheStreamNeverGaveIsRefusedOrStartsAtTheEnd(t *testing.T) {
	w := start(t, nil)
	for _, id := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		w.wants(id, w.ask(credential.Viewer, "GET", "/v1/stream?last_event_id="+id, ""), 400, "invalid_request")
	}
	w.service.tell(2, "", "")
	r := follow(w, "?last_event_id=7000", nil)
	defer r.close()
	w.service.tell(1, "", "")
	if ids, err := r.updates(1); err != nil || ids[0] != 3 {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestAReaderMayFollowOneRunOrProject(t *testing.T) {
	w := start(t, nil)
	run, project := follow(w, "?run=r1", nil), follow(w, "?project=%2Fp", nil)
	defer run.close()
	defer project.close()
	w.service.tell(1, "r1", "/q")
	w.service.tell(1, "r2", "/p")
	w.service.tell(1, "", "")
	w.service.tell(1, "r1", "/p")
	for r, want := range map[*reader][]int64{run: {1, 4}, project: {2, 4}} {
		if ids, err := r.updates(2); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%v, %v, want %v", ids, err, want)
		}
	}
}

func TestAQuietStreamPings(t *testing.T) {
	w := start(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	r := follow(w, "", nil)
	defer r.close()
	for range 3 {
		if e, err := r.next(); err != nil || e.comment != "ping" {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

func TestAStreamEndsWhenItsTokenIsRevoked(t *testing.T) {
	w := start(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	r := follow(w, "", nil)
	defer r.close()
	if _, err := w.book.Revoke(t.Context(), "the viewer"); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := r.next(); err != nil {
			break
		}
	}
}

func TestEveryReaderGetsEachChangeOnceAndInOrderWheneverItComesAndGoes(t *testing.T) {
	const changes, readers = 3000, 40
	// The buffer is small, so that clients that reconnect are often served from the database.
	w := start(t, func(o *Options) { o.Buffer = 20_000 })
	first := *w
	w.serve(func(o *Options) { o.Buffer = 20_000 }) // another coordinator on the same service
	both := []*world{&first, w}

	var group sync.WaitGroup
	for n := range readers {
		group.Go(func() {
			luck := mathrand.New(mathrand.NewPCG(7, uint64(n)))
			last := int64(0)
			for last < changes {
				r, err := dial(both[luck.IntN(2)], fmt.Sprintf("?last_event_id=%d", last), nil)
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + luck.IntN(changes/2) {
					e, err := r.next()
					if err != nil || e.name == "behind" {
						break // the client is disconnected
					}
					if e.name == "update" {
						if e.id != last+1 {
							t.Errorf("reader %d: %d after %d", n, e.id, last)
							r.close()
							return
						}
						last = e.id
					}
					if last == changes {
						break
					}
				}
				r.close()
			}
		})
	}
	for range changes / 30 {
		w.service.tell(30, "", "")
		time.Sleep(time.Millisecond) // sets the pace of the changes; no other goroutine depends on it
	}
	group.Wait()
	testenv.WaitFor(t, "all readers have left", w.server.hub.followers, func(n int) bool { return n == 0 })
}

func TestChangesAreReadOnceForAllReaders(t *testing.T) {
	const readers, changes = 1000, 50
	w := start(t, nil)
	all := make([]*reader, readers)
	for i := range all {
		all[i] = follow(w, "", nil)
	}
	w.service.mu.Lock()
	before := w.service.reads
	w.service.mu.Unlock()
	var group sync.WaitGroup
	for i, r := range all {
		group.Go(func() {
			defer r.close()
			if ids, err := r.updates(changes); err != nil || !slices.Equal(ids, count(1, changes)) {
				t.Errorf("reader %d: %v, %v", i, ids, err)
			}
		})
	}
	for range changes {
		w.service.tell(1, "", "")
	}
	group.Wait()
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	if reads := w.service.reads - before; reads > changes+1 {
		t.Errorf("%d readings of %d changes", reads, changes)
	}
}

func TestAReaderWhoIsTooSlowIsCutOffAndTheOthersNeverWait(t *testing.T) {
	testenv.Integration(t)
	w := start(t, func(o *Options) { o.Buffer, o.Send = 1_000_000, 5*time.Second })
	quick := follow(w, "", nil)
	defer quick.close()

	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/stream?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", w.tokens[credential.Viewer], w.addr)
	testenv.WaitFor(t, "both follow", w.server.hub.followers, func(n int) bool { return n == 2 })

	// Send in total more than the kernel buffers for a client that reads nothing. Each batch fits
	// the buffer, so that a client that reads late stays connected.
	big := strings.Repeat("x", 10_000)
	for i := int64(0); i < 2000; i += 10 {
		w.service.mu.Lock()
		for range 10 {
			w.service.change("events", "", "", big)
		}
		w.service.mu.Unlock()
		if ids, err := quick.updates(10); err != nil || !slices.Equal(ids, count(i+1, i+10)) {
			t.Fatalf("%v, %v, want %d and on", ids, err, i+1)
		}
	}
	testenv.WaitFor(t, "one stream that is cut off", w.server.metrics.cut.Load, func(n int64) bool { return n == 1 })
	testenv.WaitFor(t, "one stream that is left", w.server.hub.followers, func(n int) bool { return n == 1 })
	// When the slow client reads again, it gets the first changes and the end of the stream, not
	// the last changes.
	data, _ := io.ReadAll(conn)
	if !bytes.Contains(data, []byte("id: 1\n")) || bytes.Contains(data, []byte("id: 2000\n")) {
		t.Errorf("it has the first: %v, and the last: %v", bytes.Contains(data, []byte("id: 1\n")), bytes.Contains(data, []byte("id: 2000\n")))
	}
	r := follow(w, "?last_event_id=1990", nil)
	defer r.close()
	if ids, err := r.updates(10); err != nil || !slices.Equal(ids, count(1991, 2000)) {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestChangesOfOneNumberStayTogether(t *testing.T) {
	update := func(seq int64) Update { return Update{Seq: seq} }
	frames := encodeFrames([]Update{update(1), update(1), update(2)})
	with := func(f frame) bool { return bytes.HasPrefix(f.data, []byte("id: ")) }
	if with(frames[0]) || !with(frames[1]) || !with(frames[2]) {
		t.Errorf("%v", frames)
	}
	h := newHub(nil, slog.New(slog.DiscardHandler), len(frames[2].data))
	h.publish(frames, 2)
	if got := h.after(0, func(frame) bool { return true }); !got.behind || len(h.frames) != 1 || h.droppedUpTo != 1 {
		t.Errorf("%+v, %d kept above %d", got, len(h.frames), h.droppedUpTo)
	}
}

func TestTheStreamContinuesAfterAnOutageOfTheDatabase(t *testing.T) {
	w := start(t, nil)
	r := follow(w, "", nil)
	defer r.close()
	w.service.fall(errTest)
	w.service.tell(1, "", "")
	testenv.WaitFor(t, "a line about the trouble", w.log.String, func(text string) bool { return strings.Contains(text, "changes cannot be read") })
	w.service.fall(nil)
	if ids, err := r.updates(1); err != nil || ids[0] != 1 {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestStoppingNotifiesTheStreamsAndFinishesRequestsInProgress(t *testing.T) {
	w := start(t, nil)
	w.service.slow = make(chan struct{})
	r := follow(w, "", nil)
	defer r.close()
	answered := make(chan reply, 1)
	go func() { answered <- w.ask(credential.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"a"}`) }()
	testenv.WaitFor(t, "both are under way", w.server.metrics.inProgress.Load, func(n int64) bool { return n == 2 })
	w.stop()
	for {
		e, err := r.next()
		if err != nil {
			t.Fatalf("the stream ended without a word: %v", err)
		}
		if e.name == "bye" {
			break
		}
	}
	if c, err := net.Dial("tcp", w.addr); err == nil {
		_ = c.Close()
		testenv.Wait(t, "a closed port", func() error {
			c, err := net.Dial("tcp", w.addr)
			if err != nil {
				return nil
			}
			_ = c.Close()
			return errors.New("the server accepts connections")
		})
	}
	close(w.service.slow)
	if got := <-answered; got.status != 200 {
		t.Errorf("the request under way: %d %s", got.status, got.body)
	}
	<-w.ended
}

func TestStoppingWaitsOnlySoLong(t *testing.T) {
	w := start(t, func(o *Options) { o.Grace = 50 * time.Millisecond })
	w.service.slow = make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		req := w.request("POST", "/v1/agents/heartbeat", `{"agent_id":"a"}`)
		req.Header.Set("Authorization", "Bearer "+w.tokens[credential.Worker])
		resp, err := w.client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		failed <- err
	}()
	testenv.WaitFor(t, "it is under way", w.server.metrics.inProgress.Load, func(n int64) bool { return n == 1 })
	w.stop()
	<-w.ended
	if <-failed == nil {
		t.Error("it was answered")
	}
}

func TestAServerWithoutStreamClientsReadsNoChanges(t *testing.T) {
	d := newStandIn(time.Now)
	h := newHub(d, slog.New(slog.DiscardHandler), 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.run(ctx) }()
	d.tell(10, "", "")
	if _, err := h.join(ctx); err != nil {
		t.Fatal(err)
	}
	d.tell(1, "", "")
	testenv.Wait(t, "one change after the tenth", func() error {
		if got := h.after(10, func(frame) bool { return true }); got.behind || len(got.data) == 0 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	h.leave()
	d.tell(1, "", "")
	testenv.WaitFor(t, "the hub to stop reading", func() bool {
		h.mu.RLock()
		defer h.mu.RUnlock()
		return h.awake
	}, func(awake bool) bool { return !awake })
	cancel()
	<-done
	if d.reads > 2 {
		t.Errorf("%d readings", d.reads)
	}
}
