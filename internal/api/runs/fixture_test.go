package runs_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// fixture is a coordinator served over HTTP, with a clock that tests set and a client for
// each role.
type fixture struct {
	t      *testing.T
	ctx    context.Context
	store  store.Store
	engine *engine.Engine
	runs   *runs.Service
	url    string
	token  string // the operator's token
	stop   func() // stops the server
	*coordinator.Client
	as      map[credential.Role]*coordinator.Client
	secrets map[credential.Role]string // token of each role
	file    string                     // log file that all attempts on this machine share; empty for none

	mu  sync.Mutex
	now time.Time
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	f.now = f.now.Add(d)
	f.mu.Unlock()
}

// onEach runs a test on every store.
func onEach(t *testing.T, test func(f *fixture)) {
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"memory": func(*testing.T) (store.Store, error) { return memory.New(), nil },
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
		},
		"postgres": func(t *testing.T) (store.Store, error) { return postgres.Open(t.Context(), pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // all writes have ended, so an error does not matter
			test(newFixture(t, s))
		})
	}
}

func inMemory(t *testing.T) *fixture { return newFixture(t, memory.New()) }

func newFixture(t *testing.T, s store.Store) *fixture {
	f := &fixture{t: t, ctx: context.Background(), store: s, now: time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC), as: map[credential.Role]*coordinator.Client{}, secrets: map[credential.Role]string{}}
	ids := new(atomic.Int64)
	f.engine = engine.New(s, engine.Options{
		Now: f.clock, Rand: mathrand.Float64, Lease: time.Minute, NewID: func() string { return fmt.Sprintf("id%d", ids.Add(1)) },
	})
	f.runs = runs.New(runs.Options{
		Store: s, Engine: f.engine, Now: f.clock, Random: rand.Reader,
		Logs: runs.Logs{Span: logstore.Span, Read: logstore.Read, Done: logstore.Done},
		File: func(store.Run, store.Attempt) (string, bool) { return f.file, f.file != "" },
		Hide: func(run store.Run) bool { return protocol.OwnsRun(run.ID) },

		DefaultBranch: func(run, task string) string { return "gaffer/" + run + "/" + task },
		SearchTime:    time.Hour, // a busy machine must not cut off a search
	})
	f.serve()
	return f
}

// serve serves the services over HTTP until the test ends.
func (f *fixture) serve() {
	d := protocol.New(f.store, f.engine, f.clock)
	book := credential.NewTokenStore(d.Tokens(), f.clock, rand.Reader)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	s, err := server.New(server.Options{
		Protocol: d, Runs: f.runs, Tokens: book, Log: server.NewLog(io.Discard, slog.LevelError), Now: f.clock, Random: rand.Reader,
		Hosts: []string{"127.0.0.1"}, Rate: -1, UnauthenticatedRate: -1,
	})
	f.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	f.stop = sync.OnceFunc(func() {
		stop()
		f.must(<-ended)
	})
	f.t.Cleanup(f.stop)
	f.url = "http://" + l.Addr().String()
	for _, role := range credential.Roles() {
		text, _, err := book.Create(f.ctx, credential.TokenSpec{Role: role, Name: "the " + string(role)})
		f.must(err)
		f.secrets[role] = text
		f.as[role], err = coordinator.New(f.url, coordinator.Options{Token: text, Tries: 1, Timeout: testenv.Patience})
		f.must(err)
		if role == credential.Operator {
			f.token = text
		}
	}
	f.Client = f.as[credential.Operator]
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func must[V any](f *fixture, v V, err error) V {
	f.t.Helper()
	f.must(err)
	return v
}

func text(p plan.Plan) json.RawMessage {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return data
}

// shop returns a plan of two tasks, the second after the first.
func shop() plan.Plan {
	return plan.Plan{Name: "shop", Source: plan.SourceOrchestrate, Tasks: []plan.Task{
		{ID: "api", Name: "The API", Prompt: "build the API", Agent: "claude", Labels: []string{"gpu"}, Limits: plan.Limits{Retries: 1}},
		{ID: "docs", Prompt: "write it down", After: []string{"api"}},
	}}
}

func (f *fixture) submit(p plan.Plan) fleet.Run {
	f.t.Helper()
	run, err := f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", Plan: text(p)})
	return must(f, run, err)
}

// claim claims a task as a worker of the project.
func (f *fixture) claim() engine.Assignment {
	f.t.Helper()
	a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w", Labels: []string{"gpu", "project:web", "@w"}})
	return must(f, a, err)
}

func (f *fixture) finish(a engine.Assignment, end engine.Finish) {
	f.t.Helper()
	end.Attempt, end.Token = a.Attempt.ID, a.Attempt.Token
	_, err := f.engine.Finish(f.ctx, end)
	f.must(err)
}

// write appends words to the log of an attempt. The store keeps the last limit bytes. complete says
// that no more output follows.
func (f *fixture) write(attempt, words string, limit int64, complete bool) {
	f.t.Helper()
	f.must(f.engine.Do(f.ctx, "w", func(s *engine.Tx) error {
		_, at, err := spanIn(f, attempt)
		if err != nil {
			return err
		}
		add := logstore.Append
		if complete {
			add = logstore.End
		}
		_, err = add(s, attempt, at, []byte(words), limit)
		return err
	}))
}

func spanIn(f *fixture, attempt string) (from, to int64, err error) {
	err = f.store.Read(f.ctx, func(r store.Reader) error {
		from, to, err = logstore.Span(r, attempt)
		return err
	})
	return from, to, err
}

// refused fails unless err is a coordinator.Error with this status, and its text contains words.
func (f *fixture) refused(what string, err error, status int, words string) {
	f.t.Helper()
	e, ok := errors.AsType[*coordinator.Error](err)
	if !ok || e.Status != status || !strings.Contains(e.Message, words) {
		f.t.Errorf("%s: error is %v, want %d with %q", what, err, status, words)
	}
}
