package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// The identities that tests use as clients.
var (
	admin    = credential.Identity{ID: "t-admin", Name: "ada", Role: credential.Admin}
	operator = credential.Identity{ID: "t-operator", Name: "olga", Role: credential.Operator}
	viewer   = credential.Identity{ID: "t-viewer", Name: "vera", Role: credential.Viewer}
	worker   = credential.Identity{ID: "t-worker", Name: "will", Role: credential.Worker}
	stranger = credential.Identity{ID: "t-stranger", Name: "sam", Role: credential.Worker}
)

// fixture is a service with a clock that tests set.
type fixture struct {
	*protocol.Service
	t      *testing.T
	ctx    context.Context
	engine *engine.Engine
	store  store.Store
	open   func() store.Store // opens the same database again
	ids    *atomic.Int64

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
	for name, database := range map[string]func(t *testing.T) func() (store.Store, error){
		"memory": func(*testing.T) func() (store.Store, error) {
			s := memory.New()
			return func() (store.Store, error) { return s, nil }
		},
		"sqlite": func(t *testing.T) func() (store.Store, error) {
			path := filepath.Join(t.TempDir(), "gaffer.db")
			return func() (store.Store, error) { return sqlite.Open(t.Context(), path) }
		},
		"postgres": func(t *testing.T) func() (store.Store, error) {
			url := pgtest.Database(t)
			return func() (store.Store, error) { return postgres.Open(t.Context(), url) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := database(t)
			test(newFixture(t, func() store.Store {
				s, err := open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
				return s
			}))
		})
	}
}

// inMemory returns a fixture on an in-memory store, for tests that do not depend on the database.
func inMemory(t *testing.T) *fixture {
	return newFixture(t, func() store.Store { return memory.New() })
}

func newFixture(t *testing.T, open func() store.Store) *fixture {
	f := &fixture{
		t: t, ctx: context.Background(), store: open(), open: open, ids: new(atomic.Int64), now: time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC),
	}
	f.engine = f.engineOn(f.store)
	f.Service = protocol.New(f.store, f.engine, f.clock)
	return f
}

func (f *fixture) engineOn(s store.Store) *engine.Engine {
	return engine.New(s, engine.Options{
		Now: f.clock, Rand: rand.Float64, Lease: time.Minute, NewID: func() string { return fmt.Sprintf("id%d", f.ids.Add(1)) },
	})
}

// another returns a second service on the same database, as a second coordinator has it.
func (f *fixture) another() *protocol.Service {
	s := f.open()
	return protocol.New(s, f.engineOn(s), f.clock)
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

func (f *fixture) channel(name string) coordinator.Channel {
	f.t.Helper()
	c, err := f.AddChannel(f.ctx, operator, coordinator.Channel{Name: name})
	return must(f, c, err)
}

func (f *fixture) task(channel coordinator.Channel, title string) coordinator.Task {
	f.t.Helper()
	t, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: channel.ID, Title: title})
	return must(f, t, err)
}

// agent registers an idle agent with the worker's token.
func (f *fixture) agent(id string) coordinator.Agent {
	f.t.Helper()
	return f.beat(coordinator.Heartbeat{AgentID: id, ClaudeStatus: coordinator.Idle})
}

func (f *fixture) beat(h coordinator.Heartbeat) coordinator.Agent {
	f.t.Helper()
	a, err := f.Heartbeat(f.ctx, worker, h)
	return must(f, a, err)
}

func (f *fixture) claim(agent, channel string) coordinator.Task {
	f.t.Helper()
	t, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: agent, Channel: channel})
	return must(f, t, err)
}

func (f *fixture) sweep() {
	f.t.Helper()
	for {
		more, err := f.engine.Sweep(f.ctx, time.Time{})
		f.must(err)
		if !more {
			return
		}
	}
}

// refused fails unless err has the kind and the code. kind names the error method that must return
// true, such as "not found".
func (f *fixture) refused(err error, kind, code string) {
	f.t.Helper()
	var coded interface{ Code() string }
	if !errors.As(err, &coded) || coded.Code() != code {
		f.t.Errorf("error is %v, want code %s", err, code)
	}
	var (
		notFound interface{ NotFound() bool }
		conflict interface{ Conflict() bool }
		invalid  interface{ Invalid() bool }
		denied   interface{ Denied() bool }
	)
	got := ""
	switch {
	case errors.As(err, &notFound) && notFound.NotFound():
		got = "not found"
	case errors.As(err, &conflict) && conflict.Conflict():
		got = "conflict"
	case errors.As(err, &invalid) && invalid.Invalid():
		got = "invalid"
	case errors.As(err, &denied) && denied.Denied():
		got = "denied"
	}
	if got != kind {
		f.t.Errorf("error %v is %q, want %q", err, got, kind)
	}
}

// beatEngine sends the heartbeat of a worker that uses the engine directly, without this protocol.
func (f *fixture) beatEngine(id string) {
	f.t.Helper()
	_, err := f.engine.Beat(f.ctx, store.Worker{ID: id, Slots: 4}, nil)
	f.must(err)
}

func memoryOf(f *fixture) *memory.Store { return f.store.(*memory.Store) }
