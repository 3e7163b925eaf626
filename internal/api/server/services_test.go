package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/server"
	"gaffer/internal/api/viewers"
	"gaffer/internal/api/workers"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// noLanding implements no merges, because the tests have no repository.
type noLanding struct{ server.Landing }

func (noLanding) Merge(context.Context, credential.Identity, fleet.MergeRequest) ([]fleet.MergeResult, error) {
	return nil, protocol.Conflict("conflict", "there is no repository")
}

func (noLanding) UndoMerge(context.Context, credential.Identity, fleet.MergeRequest) (m fleet.MergeResult, err error) {
	return m, protocol.Conflict("conflict", "there is no repository")
}

func (noLanding) Discard(context.Context, credential.Identity, string, string, bool) (r fleet.Review, err error) {
	return r, protocol.Conflict("conflict", "there is no repository")
}

// noNewRuns knows no project, so it starts nothing.
type noNewRuns struct{ server.NewRuns }

var errNoProject = protocol.NothingFound("project_not_found", "there is no project")

func (noNewRuns) Places(context.Context) (p fleet.RunPlaces, err error) { return p, nil }

func (noNewRuns) Programs(context.Context, string) ([]fleet.AgentProgram, error) {
	return nil, errNoProject
}

func (noNewRuns) PlanFiles(context.Context, string) (f fleet.PlanFiles, err error) {
	return f, errNoProject
}

func (noNewRuns) PlanFile(context.Context, string, string) (t fleet.PlanText, err error) {
	return t, errNoProject
}

func (noNewRuns) PlanOfRun(context.Context, string) (t fleet.PlanText, err error) {
	return t, errNoProject
}

func (noNewRuns) Check(context.Context, fleet.RunDraft) (c fleet.PlanCheck, err error) {
	return c, errNoProject
}

func (noNewRuns) Start(context.Context, credential.Identity, fleet.RunDraft) (r fleet.Run, warning string, err error) {
	return r, "", errNoProject
}

// noSchedules has one schedule, whose runs cannot be started.
type noSchedules struct{}

func (noSchedules) List(context.Context, bool) ([]fleet.Schedule, error) {
	return []fleet.Schedule{{Name: "nightly"}}, nil
}

func (noSchedules) Get(_ context.Context, name string) (s fleet.Schedule, err error) {
	if name != "nightly" {
		return s, protocol.NothingFound("not_found", "there is no such schedule")
	}
	return fleet.Schedule{Name: name}, nil
}

func (s noSchedules) Pause(ctx context.Context, name string) (fleet.Schedule, error) {
	return s.Get(ctx, name)
}

func (s noSchedules) Resume(ctx context.Context, name string) (fleet.Schedule, error) {
	return s.Get(ctx, name)
}

func (noSchedules) Run(context.Context, credential.Identity, string) (f fleet.Fire, warning string, err error) {
	return f, "", protocol.Conflict("not_started", "there is no plan")
}

func (noNewRuns) Fork(context.Context, credential.Identity, fleet.ForkRequest) (r fleet.ForkResult, warning string, err error) {
	return r, "", errNoProject
}

func (noNewRuns) Turns(context.Context, string, string) ([]fleet.Turn, error) {
	return nil, errNoProject
}

// another is the key of a second worker's token in whole.tokens.
const another credential.Role = "another worker"

// whole is a coordinator as 'gaffer serve' starts it. It has a database on disk, all services, a
// viewer, and a token of each role.
type whole struct {
	t       *testing.T
	base    string
	store   store.Store
	service *protocol.Service
	log     *transcript
	addr    string
	client  *http.Client
	tokens  map[credential.Role]string
}

// transcript is the server's log. Tests may read it while the server writes it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func startWhole(t *testing.T) *whole {
	t.Helper()
	w := &whole{t: t, base: t.TempDir(), log: &transcript{}, tokens: map[credential.Role]string{}}
	db := must[*sqlite.Store](t)(sqlite.Open(t.Context(), filepath.Join(w.base, "gaffer.db")))
	w.store = db
	e := engine.New(db, engine.Options{Now: time.Now, NewID: rand.Text, Rand: mathrand.Float64})
	w.service = protocol.New(db, e, time.Now)
	runsAPI := runs.New(runs.Options{
		Store: db, Engine: e, Now: time.Now, Random: rand.Reader,
		Logs: runs.Logs{Span: logstore.Span, Read: logstore.Read, Done: logstore.Done},
		Hide: func(run store.Run) bool { return protocol.OwnsRun(run.ID) },
	})
	work := workers.New(workers.Options{Store: db, Engine: e, Notice: func(text string) { t.Error(text) }})
	home := filepath.Join(w.base, "home")
	if err := os.MkdirAll(filepath.Join(home, ".fctry"), 0o755); err != nil {
		t.Fatal(err)
	}
	v := viewers.New(viewers.Options{Home: home, Registry: &shelf{}})
	book := credential.NewTokenStore(w.service.Tokens(), time.Now, rand.Reader)
	for _, role := range credential.Roles() {
		w.tokens[role] = w.newToken(book, role, "the "+string(role))
	}
	w.tokens[another] = w.newToken(book, credential.Worker, "another")
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	s := must[*server.Server](t)(server.New(server.Options{
		Landing: noLanding{}, NewRuns: noNewRuns{}, Schedules: noSchedules{}, Protocol: w.service, Viewer: v, Runs: runsAPI, Work: work, Tokens: book, Log: server.NewLog(w.log, slog.LevelDebug),
		Now: time.Now, Random: rand.Reader, Hosts: []string{"127.0.0.1"}, Rate: -1, UnauthenticatedRate: -1,
	}))
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { work.Run(ctx) })
	all.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{}
	w.addr, w.client = l.Addr().String(), &http.Client{Transport: transport, Timeout: 40 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		all.Wait()
		v.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *whole) newToken(book *credential.TokenStore, role credential.Role, name string) string {
	w.t.Helper()
	text, _, err := book.Create(w.t.Context(), credential.TokenSpec{Role: role, Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// shelf is a viewer's registry of projects in memory.
type shelf struct {
	mu  sync.Mutex
	all []viewers.Entry
}

func (s *shelf) Get(context.Context) ([]viewers.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all, nil
}

func (s *shelf) Put(_ context.Context, change func([]viewers.Entry) ([]viewers.Entry, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := change(append([]viewers.Entry(nil), s.all...))
	if err == nil {
		s.all = all
	}
	return err
}

// said is an HTTP answer whose body was read completely.
type said struct {
	status int
	header http.Header
	body   string
}

func (s said) code() string {
	var f struct{ Error coordinator.Problem }
	if json.Unmarshal([]byte(s.body), &f) != nil {
		return "no JSON: " + s.body
	}
	return f.Error.Code
}

// dig returns the string at a path of member names in the answer's JSON.
func (s said) dig(names ...string) string {
	var value any
	_ = json.Unmarshal([]byte(s.body), &value)
	for _, name := range names {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	text, _ := value.(string)
	return text
}

func (w *whole) ask(role credential.Role, method, path, body string) said {
	w.t.Helper()
	r := must[*http.Request](w.t)(http.NewRequestWithContext(w.t.Context(), method, "http://"+w.addr+path, strings.NewReader(body)))
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+w.tokens[role])
	}
	return w.do(r)
}

// do sends a request and reads the whole answer. It is safe for concurrent use.
func (w *whole) do(r *http.Request) said {
	w.t.Helper()
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Error(err)
		return said{}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return said{resp.StatusCode, resp.Header, string(data)}
}

// good sends a request and fails unless the answer is a success.
func (w *whole) good(role credential.Role, method, path string, body any) said {
	w.t.Helper()
	text, ok := body.(string)
	if !ok {
		text = string(must[[]byte](w.t)(json.Marshal(body)))
	}
	got := w.ask(role, method, path, text)
	if got.status >= 300 {
		w.t.Fatalf("%s %s %s: %d %s", method, path, text, got.status, got.body)
	}
	return got
}

// last returns the number of the last change in the database.
func (w *whole) last() int64 {
	w.t.Helper()
	return must[int64](w.t)(w.service.Last(w.t.Context()))
}

// held is a task of a run that worker w1 has claimed.
type held struct {
	run, home string // home is the path of the viewer's project
	coordinator.WorkKey
}

// begin submits a run with text in all of its strings, and lets worker w1 claim its task.
func (w *whole) begin(name, text string) held {
	w.t.Helper()
	type m = map[string]any
	plan := m{"Name": name, "Tasks": []m{{"ID": "api", "Name": text, "Prompt": text, "Agent": "claude", "Labels": []string{}}}}
	run := w.good(credential.Operator, "POST", "/v1/runs", m{"project": "web", "plan": plan}).dig("run", "id")
	w.good(credential.Worker, "POST", "/v1/work/beat", m{"worker": m{"id": "w1", "name": "w1", "labels": []string{"project:web", "@w1"}, "slots": 4}})
	got := w.good(credential.Worker, "POST", "/v1/work/claim", m{"worker": "w1", "labels": []string{"project:web", "@w1"}, "key": rand.Text()})
	var c coordinator.Claimed
	if err := json.Unmarshal([]byte(got.body), &c); err != nil || c.Work.Attempt.ID == "" {
		w.t.Fatalf("%v: %s", err, got.body)
	}
	return held{run, filepath.Join(w.base, "home"), coordinator.WorkKey{Attempt: c.Work.Attempt.ID, Token: c.Work.Attempt.Token}}
}

// stream reads the stream up to the change with the number lastChange.
func (w *whole) stream(query string, lastChange int64) said {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	r := must[*http.Request](w.t)(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.addr+"/v1/stream"+query, nil))
	r.Header.Set("Authorization", "Bearer "+w.tokens[credential.Viewer])
	resp := must[*http.Response](w.t)(w.client.Do(r)) //nolint:bodyclose // it is closed below
	defer resp.Body.Close()
	got := said{status: resp.StatusCode, header: resp.Header}
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			w.t.Fatalf("the stream ends: %v", err)
		}
		got.body += line
		if seq, ok := strings.CutPrefix(line, "id: "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(seq), 10, 64); err == nil && n >= lastChange {
				return got
			}
		}
	}
}
