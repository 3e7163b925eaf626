package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// block is one event or one comment of a stream of server-sent events. In the stream, it ends at an
// empty line.
type block struct {
	event, id, data, comment string
}

// feed is an open stream of events.
type feed struct {
	s      *script
	blocks chan block // closed when the stream ends
}

// listen opens the coordinator's event stream and reads its first event, which must have the type
// hello. The stream is closed when the test ends.
func (s *script) listen(query, lastID string) *feed {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/stream"+query, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if !strings.Contains(query, "token=") {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	transport := &http.Transport{DisableCompression: true}
	s.Cleanup(transport.CloseIdleConnections)
	res, err := transport.RoundTrip(req) //nolint:bodyclose // the goroutine that reads the body closes it
	if err != nil {
		cancel()
		s.Fatalf("GET /v1/stream: %v", err)
	}
	f := &feed{s: s, blocks: make(chan block)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.read(ctx, res)
	}()
	s.Cleanup(func() { cancel(); <-done })
	kind := res.Header.Get("Content-Type")
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		s.Fatalf("GET /v1/stream: status %d and content type %q, want 200 and text/event-stream", res.StatusCode, kind)
	}
	hello := f.next()
	if hello.event != "hello" || !json.Valid([]byte(hello.data)) {
		s.Fatalf("the stream begins with %+v, want event hello with JSON", hello)
	}
	if lastID != "" && hello.id != "" && hello.id != lastID {
		s.Fatalf("the stream goes on after %s, want %s", hello.id, lastID)
	}
	return f
}

func (f *feed) read(ctx context.Context, res *http.Response) {
	defer res.Body.Close()
	defer close(f.blocks)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	var b block
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && b != block{}:
			select {
			case f.blocks <- b:
			case <-ctx.Done():
				return
			}
			b = block{}
		case field == "" && value != "":
			b.comment = value
		case field == "event":
			b.event = value
		case field == "id":
			b.id = value
		case field == "data":
			b.data += value
		}
	}
}

// next waits for the next block of the stream and returns it.
func (f *feed) next() block {
	f.s.Helper()
	select {
	case b, ok := <-f.blocks:
		if !ok {
			f.s.Fatal("the stream ended")
		}
		return b
	case <-time.After(f.s.Patience):
		f.s.Fatalf("the stream said nothing for %s", f.s.Patience)
	}
	return block{}
}

// update waits for the next event of the type update, and decodes its data. It skips comments. It
// ends the test if an event of another type arrives.
func (f *feed) update() (block, object) {
	f.s.Helper()
	b := f.next()
	for b.comment != "" && b.event == "" {
		b = f.next()
	}
	if b.event != "update" {
		f.s.Fatalf("the stream has %+v, want an update", b)
	}
	var o object
	if err := json.Unmarshal([]byte(b.data), &o); err != nil {
		f.s.Fatalf("update %s: %v in %.500s", b.id, err, b.data)
	}
	shape{"type": "text", "time": "time", "change": "object"}.check(f.s, "update "+b.id, o)
	return b, o
}

// until reads updates until one has the wanted type and is about the wanted object. The parameter
// kind is that type, and row is the id of that object. until returns the ids of all updates that it
// has read, and the change in the last one.
func (f *feed) until(kind, row string) ([]string, object) {
	f.s.Helper()
	var ids []string
	for range 1000 {
		b, o := f.update()
		ids = append(ids, b.id)
		change := object(o["change"].(map[string]any))
		if o["type"] == kind && change["id"] == row {
			return ids, change
		}
	}
	f.s.Fatalf("no update of type %s for %s among 1000", kind, row)
	return nil, nil
}

var streamPromises = []requirement{
	{"the stream says hello and then every kind of change", func(s *script) {
		f := s.listen("", "")
		agent := s.newAgent("live")
		_, change := f.until("agents", agent)
		s.equal("the change", change, object{"id": agent, "claude_status": "idle"})
		channel := s.newChannel("live")
		_, change = f.until("channels", channel)
		s.equal("the change", change, object{"name": "live-" + s.mark})
		task := s.newTask(object{"channel_id": channel})
		_, change = f.until("tasks", task)
		s.equal("the change", change, object{"status": "queued"})
		s.claims(agent, channel, task)
		_, change = f.until("tasks", task)
		s.equal("the change", change, object{"status": "in_progress", "assigned_agent_id": agent})
		input := s.asUser("POST", "/v1/tasks/inputs", object{"task_id": task, "agent_id": agent, "kind": "text", "text": "x"}).want(201).one("input", inputShape)
		f.until("inputs", input["id"].(string))
		event := s.asWorker("POST", "/v1/events", object{"agent_id": agent, "task_id": task, "type": "live"}).want(201).one("event", eventShape)
		f.until("events", event["id"].(string))
		s.heartbeat(agent, "running", object{"current_task_id": task})
		_, change = f.until("agents", agent)
		s.equal("the change", change, object{"claude_status": "running"})
	}},
	{"the stream takes its token from the address too", func(s *script) {
		f := s.listen("?token="+url.QueryEscape(s.Token), "")
		f.until("agents", s.newAgent("browser"))
	}},
	{"the numbers of the stream only grow", func(s *script) {
		f := s.listen("", "")
		var last int64
		for i := range 5 {
			ids, _ := f.until("agents", s.newAgent("grow-"+strconv.Itoa(i)))
			for _, id := range ids {
				n, err := strconv.ParseInt(id, 10, 64)
				if err != nil || n <= last {
					s.Fatalf("id %q after %d: %v", id, last, err)
				}
				last = n
			}
		}
	}},
	{"the stream continues after the event id in the header", func(s *script) {
		replayed(s, func(id string) *feed { return s.listen("", id) })
	}},
	{"the stream continues after the event id in the address", func(s *script) {
		replayed(s, func(id string) *feed { return s.listen("?last_event_id="+url.QueryEscape(id), "") })
	}},
	{"all readers of the stream get the same changes", func(s *script) {
		one, two := s.listen("", ""), s.listen("", "")
		first := s.newAgent("same-first")
		one.until("agents", first)
		two.until("agents", first)
		row := s.newAgent("same")
		heard, _ := one.until("agents", row)
		also, _ := two.until("agents", row)
		if !slices.Equal(heard, also) {
			s.Errorf("one heard %q, the other %q", heard, also)
		}
	}},
	{"the stream pings", func(s *script) {
		f := s.listen("", "")
		if s.Advance != nil {
			s.Advance(16 * time.Second)
		}
		for {
			if b := f.next(); b.comment != "" {
				if !strings.Contains(b.comment, "ping") {
					s.Errorf("the comment is %q, want ping", b.comment)
				}
				return
			}
		}
	}},
}

// replayed checks that a client can continue the event stream after a given change. It opens a
// stream, makes several changes, and reads them from the stream. Then it passes the id of the first
// of these changes to the parameter again. This function opens a second stream, which begins after
// that change and must contain the same later changes.
func replayed(s *script, again func(id string) *feed) {
	f := s.listen("", "")
	channel := s.newChannel("replay")
	start, _ := f.until("channels", channel)
	for range 3 {
		s.newTask(object{"channel_id": channel})
	}
	last := s.newTask(object{"channel_id": channel, "title": "the last"})
	lived, _ := f.until("tasks", last)

	second := again(start[len(start)-1])
	heard, change := second.until("tasks", last)
	s.equal("the replayed change", change, object{"title": "the last"})
	if !slices.Equal(heard, lived) {
		s.Fatalf("after %s the numbers are %q, want those heard before, %q", start[len(start)-1], heard, lived)
	}
	next := s.newTask(object{"channel_id": channel})
	want, _ := f.until("tasks", next)
	got, _ := second.until("tasks", next)
	if !slices.Equal(got, want) {
		s.Errorf("after the replay the numbers are %q, want %q", got, want)
	}
}
