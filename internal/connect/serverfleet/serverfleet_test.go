package serverfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a fake coordinator. A test defines its answers.
type server struct {
	t     *testing.T
	addr  string
	fleet *Fleet

	mu      sync.Mutex
	routes  map[string]http.HandlerFunc // handlers by method and path, such as "GET /v1/runs"
	asked   []string
	notices []string
	http    *httptest.Server
	via     *http.Transport
}

func newServer(t *testing.T) *server {
	s := &server{t: t, routes: map[string]http.HandlerFunc{}, via: &http.Transport{}}
	s.route("GET /v1/agents", `{"agents":[{"id":"w1","name":"build-1"}]}`)
	s.on("GET /v1/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: hello\nid: 1\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	c, err := coordinator.New("http://"+s.addr, coordinator.Options{Pause: time.Millisecond, Tries: 2, HTTP: &http.Client{Transport: s.via}})
	if err != nil {
		t.Fatal(err)
	}
	s.fleet = New(c, Options{Address: "http://" + s.addr, Project: "web", Notice: s.notice})
	return s
}

func (s *server) start(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	s.http.Start()
}

// stop stops the server and cuts its connections, as if it were killed.
func (s *server) stop() {
	s.http.CloseClientConnections()
	s.http.Close()
	s.via.CloseIdleConnections()
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	do := s.routes[r.Method+" "+r.URL.Path]
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if do == nil {
		http.Error(w, `{"error":{"code":"not_found","message":"nothing is there"}}`, http.StatusNotFound)
		return
	}
	do(w, r)
}

func (s *server) on(route string, do http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes[route] = do
}

func (s *server) route(route, body string) {
	s.on(route, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
}

func (s *server) notice(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, text)
}

func (s *server) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

func (s *server) run(r fleet.Run) {
	text, err := json.Marshal(map[string]fleet.Run{"run": r})
	if err != nil {
		s.t.Fatal(err)
	}
	s.route("GET /v1/runs/r1", string(text))
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	t.Cleanup(cancel)
	return ctx
}

func TestFollowingContinuesWhenTheServerIsBack(t *testing.T) {
	testenv.Integration(t)
	s := newServer(t)
	s.run(fleet.Run{ID: "r1", Status: fleet.Running})
	var seen []fleet.Status
	ctx, started := within(t), make(chan struct{})
	err := s.fleet.Follow(ctx, "r1", time.Millisecond, func(r fleet.Run) error {
		seen = append(seen, r.Status)
		if len(seen) == 1 {
			s.stop()
			go func() { // start the server again while the client waits
				defer close(started)
				for len(s.told()) == 0 && ctx.Err() == nil {
					time.Sleep(5 * time.Millisecond)
				}
				s.run(fleet.Run{ID: "r1", Status: fleet.Complete})
				s.start(s.addr)
			}()
		}
		return nil
	})
	<-started
	if err != nil || !slices.Equal(seen, []fleet.Status{fleet.Running, fleet.Complete}) {
		t.Errorf("saw %v, %v", seen, err)
	}
	if told := s.told(); len(told) != 2 || !strings.Contains(told[0], "unreachable") || !strings.Contains(told[1], "back") {
		t.Errorf("told %q", told)
	}
}

func TestAChangeOnTheStreamIsShownAtOnce(t *testing.T) {
	testenv.Integration(t)
	s := newServer(t)
	s.run(fleet.Run{ID: "r1", Status: fleet.Running})
	ring := make(chan struct{})
	s.on("GET /v1/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: hello\nid: 1\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-ring
		s.run(fleet.Run{ID: "r1", Status: fleet.Complete})
		fmt.Fprint(w, "event: update\nid: 2\ndata: {\"type\":\"runs\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	looks := 0
	// The test passes only with the stream: without it, Follow would poll after a minute.
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	err := s.fleet.Follow(ctx, "r1", 6*time.Second, func(r fleet.Run) error {
		if looks++; looks == 1 {
			close(ring)
		}
		return nil
	})
	if err != nil || looks != 2 {
		t.Errorf("%d looks, %v", looks, err)
	}
}

func TestARefusalOfTheServerEndsFollowing(t *testing.T) {
	s := newServer(t)
	err := s.fleet.Follow(within(t), "r1", time.Millisecond, func(fleet.Run) error { return nil })
	if e, ok := errors.AsType[*coordinator.Error](err); !ok || !e.NotFound() || err.Error() != "nothing is there" {
		t.Errorf("%v", err)
	}
}

func TestErrorsSayWhichServerAndWhatToDo(t *testing.T) {
	s := newServer(t)
	for status, want := range map[int]struct{ text, hint string }{
		401: {"server http://" + s.addr + ": no", "GAFFER_TOKEN"},
		403: {"server http://" + s.addr + ": no", "role"},
		404: {"no", ""},
		409: {"no", ""},
		400: {"no", ""},
		501: {"server http://" + s.addr + ": GET /v1/runs/r1: no (501 x)", ""},
	} {
		s.on("GET /v1/runs/r1", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"code":"x","message":"no"}}`, status)
		})
		_, err := s.fleet.Run(within(t), "r1")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Error() != want.text || !strings.Contains(e.Hint(), want.hint) {
			t.Errorf("%d: %v", status, err)
		}
	}
	s.on("GET /v1/runs/r1", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"code":"not_found","message":"there is no such path: x"}}`, http.StatusNotFound)
	})
	_, err := s.fleet.Run(within(t), "r1")
	if e, ok := errors.AsType[*Error](err); !ok || e.Error() != "server http://"+s.addr+": there is no such path: x" || !strings.Contains(e.Hint(), "a path too much") {
		t.Errorf("%v", err)
	}
	s.stop()
	_, err = s.fleet.Run(within(t), "r1")
	if err == nil || !strings.HasPrefix(err.Error(), "server http://"+s.addr+": cannot be reached: ") {
		t.Errorf("%v", err)
	}
	s.start(s.addr)
}

func TestATLSErrorHasAHint(t *testing.T) {
	encrypted, plain := httptest.NewTLSServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	defer encrypted.Close()
	defer plain.Close()
	for address, hint := range map[string]string{
		encrypted.URL: "--fingerprint",
		strings.Replace(encrypted.URL, "https:", "http:", 1): "https://",
		strings.Replace(plain.URL, "http:", "https:", 1):     "http://",
	} {
		c, err := coordinator.New(address, coordinator.Options{Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(c, Options{Address: address}).Run(within(t), "r1")
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Hint(), hint) {
			t.Errorf("%v, want %s in its hint", err, hint)
		}
	}
}

func TestARepeatedSubmissionCreatesOneRun(t *testing.T) {
	s := newServer(t)
	var keys []string
	s.on("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var sent coordinator.NewRun
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || sent.Project != "web" || sent.On != "build-1" {
			t.Errorf("%+v, %v", sent, err)
		}
		var p plan.Plan
		if err := json.Unmarshal(sent.Plan, &p); err != nil || p.Tasks[0].Prompt != "do it" || p.Warnings != nil {
			t.Errorf("%+v, %v", p, err)
		}
		if keys = append(keys, sent.Key); len(keys) == 1 {
			http.Error(w, "{}", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, `{"run":{"id":"r1"}}`)
	})
	p := plan.Plan{Name: "x", Tasks: []plan.Task{{ID: "a", Prompt: "do it"}}, Warnings: plan.Problems{{Text: "look"}}}
	id, err := s.fleet.SubmitOn(within(t), p, "build-1")
	if err != nil || id != "r1" || len(keys) != 2 || keys[0] != keys[1] || len(keys[0]) < 20 {
		t.Errorf("%s, %v, keys %q", id, err, keys)
	}
}

func TestAllUnfinishedRunsOfALargeFleetAreListed(t *testing.T) {
	s := newServer(t)
	s.route("GET /v1/runs", `{"runs":[]}`)
	s.route("GET /v1/self", `{"self":{}}`)
	s.route("GET /v1/questions", `{"questions":[]}`)
	for name, list := range map[string]func() error{
		"gaffer ps":     func() error { _, err := s.fleet.Runs(within(t), true, false); return err },
		"gaffer watch":  func() error { _, err := s.fleet.Latest(within(t), 20); return err },
		"gaffer doctor": func() error { _, err := s.fleet.Doctor(within(t)); return err },
	} {
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
		err := list()
		s.mu.Lock()
		if err != nil || !slices.Contains(s.asked, "GET /v1/runs?limit=1000") {
			t.Errorf("%s: %v %q", name, err, s.asked)
		}
		s.mu.Unlock()
	}
}

func TestWorkersAreCalledByTheirNames(t *testing.T) {
	s := newServer(t)
	task := func(worker string) fleet.Task { return fleet.Task{ID: worker, Attempt: &fleet.Attempt{Worker: worker}} }
	s.run(fleet.Run{ID: "r1", Tasks: []fleet.Task{task("w1"), task("w2"), {ID: "c"}}})
	for range 3 {
		r, err := s.fleet.Run(within(t), "r1")
		if err != nil || r.Tasks[0].Attempt.Worker != "build-1" || r.Tasks[1].Attempt.Worker != "w2" {
			t.Fatalf("%+v, %v", r.Tasks, err)
		}
	}
	asked := 0
	for _, route := range s.asked {
		if route == "GET /v1/agents" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for names that do not change", asked)
	}
}

// logServer serves a log that grows, and sometimes breaks the connection.
func logServer(t *testing.T, text string, kept int) *server {
	s := newServer(t)
	torn := 0
	s.on("GET /v1/runs/r1/tasks/a/log", func(w http.ResponseWriter, r *http.Request) {
		from, tail := 0, 0
		fmt.Sscan(r.URL.Query().Get("offset"), &from) //nolint:errcheck // none is 0
		fmt.Sscan(r.URL.Query().Get("tail"), &tail)   //nolint:errcheck // none is 0
		if tail > 0 {
			from = max(from, len(text)-tail)
		}
		from = max(from, kept)
		w.Header().Set(coordinator.LogFrom, fmt.Sprint(from))
		w.Header().Set(coordinator.LogTo, fmt.Sprint(len(text)))
		w.Header().Set(coordinator.LogKept, fmt.Sprint(kept))
		end := len(text)
		if r.URL.Query().Get("follow") == "1" && torn < 3 {
			torn++
			end = min(from+torn*3, end)
		}
		fmt.Fprint(w, text[from:end])
		w.(http.Flusher).Flush()
		if end < len(text) {
			panic(http.ErrAbortHandler)
		}
	})
	s.route("GET /v1/runs/r1/tasks/a", `{"task":{"id":"a","run":"r1","status":"complete","attempt":{"id":"x"}}}`)
	return s
}

func logged(t *testing.T, s *server, tail int, follow bool) string {
	t.Helper()
	var b bytes.Buffer
	task := fleet.Task{Run: "r1", ID: "a", Attempt: &fleet.Attempt{ID: "x", Worker: "build-1"}}
	if err := s.fleet.Log(within(t), task, &b, fleet.LogQuery{Tail: tail, Follow: follow}); err != nil {
		t.Error(err)
	}
	return b.String()
}

func TestALogIsFollowedOverTornConnections(t *testing.T) {
	text := strings.Repeat("line after line\n", 20)
	if got := logged(t, logServer(t, text, 0), -1, true); got != text {
		t.Errorf("%q", got)
	}
	if got := logged(t, logServer(t, text, 0), 2, true); got != "line after line\nline after line\n" {
		t.Errorf("%q", got)
	}
}

func TestTheLastLinesOfALogAreFound(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct {
		log  string
		n    int
		want string
	}{
		"none":                {"a\nb\n", 0, ""},
		"two":                 {"a\nb\nc\n", 2, "b\nc\n"},
		"more than there are": {"a\nb\n", 9, "a\nb\n"},
		"no newline at end":   {"a\nb\nc", 2, "b\nc"},
		"empty lines":         {"a\n\n\n", 2, "\n\n"},
		"empty":               {"", 3, ""},
		"long lines":          {"a\n" + long + "\n" + long + "\nb\n", 2, long + "\nb\n"},
	} {
		if got := logged(t, logServer(t, c.log, 0), c.n, false); got != c.want {
			t.Errorf("%s: %.40q (%d bytes)", name, got, len(got))
		}
	}
}

func TestOutputThatTheServerNoLongerHasIsReported(t *testing.T) {
	s := logServer(t, "gone\nkept\n", 5)
	if got, told := logged(t, s, -1, false), s.told(); got != "kept\n" || len(told) != 1 || !strings.Contains(told[0], "build-1") {
		t.Errorf("%q, told %q", got, told)
	}
}

func TestTheLastWordsOfAnAttemptThatHasEndedAreWaitedFor(t *testing.T) {
	for tail, want := range map[int]string{-1: "first\nlast\n", 1: "last\n"} {
		s := newServer(t)
		s.on("GET /v1/runs/r1/tasks/a/log", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "first\n")
			if r.URL.Query().Get("follow") == "1" {
				fmt.Fprint(w, "last\n") // output that arrived after the first request
			}
		})
		var b bytes.Buffer
		task := fleet.Task{Run: "r1", ID: "a", Attempt: &fleet.Attempt{ID: "x", Status: fleet.Complete}}
		if err := s.fleet.Log(within(t), task, &b, fleet.LogQuery{Tail: tail}); err != nil || b.String() != want {
			t.Errorf("tail %d: %q, %v", tail, b.String(), err)
		}
	}
}

func TestAReaderThatIsGoneEndsALog(t *testing.T) {
	s := logServer(t, "some\ntext\n", 0)
	task := fleet.Task{Run: "r1", ID: "a", Attempt: &fleet.Attempt{ID: "x"}}
	if err := s.fleet.Log(within(t), task, broken{}, fleet.LogQuery{Tail: -1, Follow: true}); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("%v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestTasksThatNoWorkerCanTakeAreMarked(t *testing.T) {
	gpu := WorkerOf(coordinator.Agent{WorkerStatus: coordinator.Online, Meta: json.RawMessage(`{"labels":["gpu","project:web","@a"],"slots":2}`)})
	away := WorkerOf(coordinator.Agent{WorkerStatus: coordinator.Offline, Meta: json.RawMessage(`{"labels":["mac","project:web","@b"]}`)})
	stranger := WorkerOf(coordinator.Agent{WorkerStatus: coordinator.Online, Meta: json.RawMessage(`{"labels":"project:web","slots":"many"}`)})
	p := plan.Plan{Tasks: []plan.Task{{ID: "any"}, {ID: "gpu", Labels: []string{"gpu"}}, {ID: "mac", Labels: []string{"mac"}}, {ID: "again", Labels: []string{"mac"}}}}
	for _, c := range []struct {
		workers []Worker
		on      string
		want    []string
	}{
		{[]Worker{gpu, away}, "", []string{"mac"}},
		{[]Worker{gpu}, "a", []string{"mac"}},
		{[]Worker{gpu}, "b", []string{"", "gpu", "mac"}},
		{[]Worker{stranger}, "", []string{"", "gpu", "mac"}},
	} {
		if got := MissingLabels(c.workers, p, "web", c.on); !slices.Equal(got, c.want) {
			t.Errorf("on %q: %q, want %q", c.on, got, c.want)
		}
	}
}

func TestAnOlderServerIsNotSentAnAnswerThatIsToLast(t *testing.T) {
	s := newServer(t)
	s.on("GET /v1/grants", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"code":"not_found","message":"there is no such path; see /v1/openapi.json"}}`)
	})
	answered := 0
	s.on("POST /v1/questions/q/answer", func(w http.ResponseWriter, _ *http.Request) {
		answered++
		fmt.Fprint(w, `{"ok":true}`)
	})
	err := s.fleet.Answer(t.Context(), "q", fleet.Reply{Text: "allow", Scope: fleet.GrantRun})
	if e, ok := errors.AsType[*Error](err); !ok || answered != 0 || !strings.Contains(e.Error(), "is older than this gaffer") || !strings.Contains(e.Hint(), "without a scope") {
		t.Errorf("%v, and %d answers were sent", err, answered)
	}
	if err := s.fleet.Answer(t.Context(), "q", fleet.Reply{Text: "allow"}); err != nil || answered != 1 {
		t.Errorf("for once: %v, %d", err, answered)
	}
}
