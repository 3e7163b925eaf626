package sweep

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

func TestListeningKnowsSinceWhenHeartbeatsCouldBeReceived(t *testing.T) {
	type sweep struct {
		at                int // time at which the sweep ends, in seconds since the start
		succeeded, online bool
		since             int // what sinceAt must return one second after the sweep, in seconds since the start
	}
	ok := func(at, since int) sweep { return sweep{at, true, true, since} }
	alone := func(at int) sweep { return sweep{at, true, false, at} }
	failed := func(at, since int) sweep { return sweep{at, false, true, since} }
	for name, sweeps := range map[string][]sweep{
		"from the beginning":         {ok(100, 100), ok(101, 100), ok(102, 100)},
		"a short gap is none":        {ok(100, 100), ok(105, 100), ok(110, 100)},
		"a gap":                      {ok(100, 100), ok(106, 106), ok(107, 106)},
		"a database away for long":   {ok(100, 100), failed(101, 100), failed(3000, 3001), failed(3700, 3701), ok(3701, 3701), ok(3702, 3701)},
		"a database away for short":  {ok(100, 100), failed(101, 100), failed(102, 100), ok(104, 100)},
		"nobody is there":            {alone(100), alone(101), alone(102), alone(103), ok(104, 103), ok(105, 103)},
		"a clock that is set back":   {ok(100, 100), ok(101, 100), ok(50, 50), ok(51, 50)},
		"a machine that has slept":   {ok(100, 100), ok(9000, 9000)},
		"one after the other leaves": {ok(100, 100), ok(101, 100), alone(102), alone(103), ok(104, 103)},
	} {
		var w listening
		for i, s := range sweeps {
			w.recordSweep(time.Unix(int64(s.at), 0), s.succeeded, s.online)
			if got := w.sinceAt(time.Unix(int64(s.at+1), 0)).Unix(); got != int64(s.since) {
				t.Errorf("%s: after sweep %d it is since %d, want %d", name, i+1, got, s.since)
			}
		}
	}
}

// testServer runs the sweeps of a Server on a store in memory. The test sets the clock and the
// connections of the workers.
type testServer struct {
	t      *testing.T
	now    time.Time
	away   bool // set while the database cannot be reached
	engine *engine.Engine
	store  *memory.Store
	server *Server
	held   map[string]engine.Assignment // the first assignment of each worker, by the worker's id
	heard  map[string]bool
}

var errAway = errors.New("the database is away")

func newPatrol(t *testing.T, workers ...string) *testServer {
	p := &testServer{t: t, now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), store: memory.New(), held: map[string]engine.Assignment{}, heard: map[string]bool{}}
	p.store.FailCommit = func() (bool, error) {
		if p.away {
			return true, errAway
		}
		return false, nil
	}
	ids := 0
	clock := func() time.Time { return p.now }
	p.engine = engine.New(p.store, engine.Options{Now: clock, Rand: func() float64 { return 0.5 }, NewID: func() string { ids++; return fmt.Sprint("id", ids) }})
	p.server = &Server{Engine: p.engine, Store: p.store, Now: clock, OfflineAfter: 30 * time.Second}
	var tasks []plan.Task
	for _, w := range workers {
		tasks = append(tasks, plan.Task{ID: "of-" + w, Limits: plan.Limits{Retries: 1}})
	}
	if _, err := p.engine.Submit(t.Context(), engine.Submission{Plan: plan.Plan{Tasks: tasks}}); err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		p.heard[w] = true
		p.beat(w)
		a, err := p.engine.Claim(t.Context(), engine.Claim{Worker: w})
		if err != nil {
			t.Fatal(err)
		}
		p.held[w] = a
	}
	return p
}

func (p *testServer) beat(worker string) {
	p.t.Helper()
	var held []engine.HeldAttempt
	if a, ok := p.held[worker]; ok {
		held = append(held, engine.HeldAttempt{Attempt: a.Attempt.ID, Token: a.Attempt.Token})
	}
	_, err := p.engine.Beat(context.Background(), store.Worker{ID: worker, Name: worker}, held)
	if err != nil && !p.away {
		p.t.Fatal(err)
	}
}

// pass lets the time d pass. There is a sweep every second, and every 15 seconds a heartbeat of
// each worker that can reach the server.
func (p *testServer) pass(d time.Duration) {
	p.t.Helper()
	for second := range int(d / time.Second) {
		p.now = p.now.Add(time.Second)
		if second%15 == 0 {
			for w, heard := range p.heard {
				if heard {
					p.beat(w)
				}
			}
		}
		if _, err := p.server.Sweep(context.Background()); err != nil && !p.away {
			p.t.Fatal(err)
		}
	}
}

// runs reports whether the first attempt that a worker got is still running.
func (p *testServer) runs(worker string) (runs bool) {
	p.t.Helper()
	err := p.store.Read(context.Background(), func(r store.Reader) error {
		a, err := r.Attempt(p.held[worker].Attempt.ID)
		runs = a.Status == store.Running
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return runs
}

func TestTheAttemptOfOneSilentWorkerIsLostAfterItsLease(t *testing.T) {
	p := newPatrol(t, "a", "b")
	p.pass(2 * time.Minute)
	p.heard["b"] = false
	p.pass(45 * time.Second)
	if !p.runs("b") {
		t.Error("it was given up before its lease was over")
	}
	p.pass(30 * time.Second)
	if p.runs("b") || !p.runs("a") {
		t.Errorf("a runs: %t, b runs: %t", p.runs("a"), p.runs("b"))
	}
}

func TestNoAttemptIsLostBecauseTheDatabaseWasUnreachableForAnHour(t *testing.T) {
	p := newPatrol(t, "a", "b", "gone")
	p.pass(time.Minute)
	p.away = true
	p.pass(time.Hour)
	p.away = false
	p.heard["b"], p.heard["gone"] = false, false
	p.pass(40 * time.Second)
	p.heard["b"] = true // the worker b reaches the server again only now, later than the others
	p.pass(10 * time.Second)
	if !p.runs("a") || !p.runs("b") || !p.runs("gone") {
		t.Errorf("a: %t, b: %t, gone: %t", p.runs("a"), p.runs("b"), p.runs("gone"))
	}
	p.pass(time.Minute)
	if !p.runs("a") || !p.runs("b") || p.runs("gone") {
		t.Errorf("later: a: %t, b: %t, gone: %t", p.runs("a"), p.runs("b"), p.runs("gone"))
	}
}

func TestNoAttemptIsLostWhenAllWorkersWereOfflineForAnHour(t *testing.T) {
	p := newPatrol(t, "a", "b", "gone")
	p.pass(time.Minute)
	clear(p.heard)
	p.pass(time.Hour)
	p.heard["a"] = true
	p.pass(45 * time.Second)
	p.heard["b"] = true
	p.pass(time.Second)
	if !p.runs("a") || !p.runs("b") || !p.runs("gone") {
		t.Errorf("a: %t, b: %t, gone: %t", p.runs("a"), p.runs("b"), p.runs("gone"))
	}
	p.pass(time.Minute)
	if !p.runs("a") || !p.runs("b") || p.runs("gone") {
		t.Errorf("later: a: %t, b: %t, gone: %t", p.runs("a"), p.runs("b"), p.runs("gone"))
	}
}

func TestNoAttemptIsLostRightAfterTheCoordinatorWasStoppedForAnHour(t *testing.T) {
	p := newPatrol(t, "a", "gone")
	p.pass(time.Minute)
	p.heard["gone"] = false
	p.now = p.now.Add(time.Hour)
	p.pass(50 * time.Second)
	if !p.runs("a") || !p.runs("gone") {
		t.Errorf("a: %t, gone: %t", p.runs("a"), p.runs("gone"))
	}
	p.pass(time.Minute)
	if !p.runs("a") || p.runs("gone") {
		t.Errorf("later: a: %t, gone: %t", p.runs("a"), p.runs("gone"))
	}
}

func TestWorkersOfLocalRunsDoNotCountAsOnline(t *testing.T) {
	now := time.Now()
	local, offline := store.Worker{ID: "place", Seen: now}, store.Worker{ID: "x", Created: now, Seen: now.Add(-time.Minute)}
	if anyOnline([]store.Worker{local, offline}, now.Add(-30*time.Second)) {
		t.Error("somebody is online")
	}
	if !anyOnline([]store.Worker{local, offline, {ID: "y", Created: now, Seen: now.Add(-20 * time.Second)}}, now.Add(-30*time.Second)) {
		t.Error("nobody is online")
	}
}
