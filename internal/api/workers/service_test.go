package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/fleet"

	"go.uber.org/goleak"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/workers"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	admin    = credential.Identity{ID: "t-admin", Name: "ada", Role: credential.Admin}
	viewer   = credential.Identity{ID: "t-viewer", Name: "vera", Role: credential.Viewer}
	worker   = credential.Identity{ID: "t-worker", Name: "will", Role: credential.Worker}
	stranger = credential.Identity{ID: "t-stranger", Name: "sam", Role: credential.Worker}
)

// fixture is a workers service with a clock that tests set.
type fixture struct {
	*workers.Service
	t       *testing.T
	ctx     context.Context
	engine  *engine.Engine
	store   store.Store
	service *protocol.Service

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

func onEach(t *testing.T, test func(f *fixture)) {
	for name, open := range map[string]func() (store.Store, error){
		"memory": func() (store.Store, error) { return memory.New(), nil },
		"sqlite": func() (store.Store, error) { return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			f := &fixture{t: t, ctx: context.Background(), store: s, now: time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)}
			ids := new(atomic.Int64)
			f.engine = engine.New(s, engine.Options{
				Now: f.clock, Rand: rand.Float64, Lease: time.Minute, NewID: func() string { return fmt.Sprintf("id%d", ids.Add(1)) },
			})
			f.Service = workers.New(workers.Options{Store: s, Engine: f.engine, Lease: time.Minute, Notice: func(text string) { t.Error(text) }})
			f.service = protocol.New(s, f.engine, f.clock)
			running, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { f.Run(running) })
			defer func() {
				stop()
				all.Wait()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			test(f)
		})
	}
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

// submit submits a run of a project with these tasks and returns the run's id.
func (f *fixture) submit(tasks ...plan.Task) string {
	f.t.Helper()
	return f.submitAt("", tasks...)
}

func (f *fixture) submitAt(place string, tasks ...plan.Task) string {
	f.t.Helper()
	for i := range tasks {
		tasks[i].Labels = append(tasks[i].Labels, "project:app")
	}
	id, err := f.engine.Submit(f.ctx, engine.Submission{Plan: plan.Plan{Name: "p", Tasks: tasks}, Project: "app", OnlyWorker: place})
	return must(f, id, err)
}

func info(name string, labels ...string) coordinator.WorkerInfo {
	return coordinator.WorkerInfo{
		ID: "w-" + name, Name: name, Labels: append([]string{"project:app", "@" + name}, labels...),
		Slots: 4, Version: "1", Host: name + ".example",
	}
}

func (f *fixture) beat(by credential.Identity, name string, held ...coordinator.HeldWork) coordinator.WorkOrders {
	f.t.Helper()
	o, err := f.Beat(f.ctx, by, coordinator.WorkBeat{Worker: info(name), Held: held})
	return must(f, o, err)
}

func (f *fixture) claim(name, key string) coordinator.Work {
	f.t.Helper()
	c, err := f.Claim(f.ctx, worker, coordinator.WorkClaim{Worker: "w-" + name, Labels: info(name).Labels, Key: key})
	return must(f, c, err).Work
}

func held(w coordinator.Work) coordinator.HeldWork {
	return coordinator.HeldWork{WorkKey: coordinator.WorkKey{Attempt: w.Attempt.ID, Token: w.Attempt.Token}}
}

func (f *fixture) nothing(name, key string) {
	f.t.Helper()
	_, err := f.Claim(f.ctx, worker, coordinator.WorkClaim{Worker: "w-" + name, Labels: info(name).Labels, Key: key})
	if code(err) != coordinator.NoTasks {
		f.t.Errorf("want nothing, got %v", err)
	}
}

func code(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return e.Code()
	}
	if err != nil && errors.As(err, new(*engine.ConflictError)) {
		return "conflict"
	}
	return ""
}

func (f *fixture) sweep() {
	f.t.Helper()
	_, err := f.engine.Sweep(f.ctx, time.Time{})
	f.must(err)
}

func (f *fixture) task(run, id string) (t store.Task) {
	f.t.Helper()
	f.must(f.store.Read(f.ctx, func(r store.Reader) (err error) {
		t, err = r.Task(store.TaskKey{Run: run, Task: id})
		return err
	}))
	return t
}

func TestAWorkerClaimsBeatsAndFinishes(t *testing.T) {
	onEach(t, func(f *fixture) {
		run := f.submit(plan.Task{ID: "one", Prompt: "do it", Limits: plan.Limits{Timeout: time.Hour}})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		if w.Task.Task != "one" || w.Run.ID != run || w.Run.Project != "app" || w.Attempt.Number != 1 || w.LeaseMS != 60_000 || w.Attempt.DeadlineInMS != 3_600_000 {
			t.Errorf("%+v", w)
		}
		var spec plan.Task
		if err := json.Unmarshal(w.Task.Spec, &spec); err != nil || spec.Prompt != "do it" {
			t.Errorf("spec %s, %v", w.Task.Spec, err)
		}
		if task, err := f.service.CurrentTask(f.ctx, "w-mill"); err != nil || task.ID != run+".one" {
			t.Errorf("before it has said so: %+v, %v", task, err)
		}
		h := held(w)
		h.Now = coordinator.WorkNow{Progress: fleet.Progress{Activity: fleet.Activity{State: "running", Doing: "reading"}, Process: fleet.Process{PID: 7, Log: "/logs/one"}}, AgeMS: 2000}
		o := f.beat(worker, "mill", h)
		if len(o.Orders) != 1 || o.Orders[0].Gone || o.Orders[0].LeaseMS != 60_000 || o.LeaseMS != 60_000 || o.Seq == 0 {
			t.Errorf("%+v", o)
		}
		a, err := f.service.Agent(f.ctx, "w-mill")
		f.must(err)
		if a.ClaudeStatus != coordinator.Running || a.CurrentTaskID != run+".one" || a.WorkerStatus != coordinator.Online || !strings.Contains(string(a.Meta), "mill.example") {
			t.Errorf("%+v", a)
		}
		if task, err := f.service.CurrentTask(f.ctx, "w-mill"); err != nil || task.ID != run+".one" || task.AssignedAgentID != "w-mill" {
			t.Errorf("%+v, %v", task, err)
		}
		turn := coordinator.WorkTurn{
			Finish: coordinator.WorkFinish{WorkKey: h.WorkKey, Ending: fleet.Ending{Summary: "done"}},
			Claim:  &coordinator.WorkClaim{Worker: "w-mill", Labels: info("mill").Labels},
		}
		for range 2 {
			done, err := f.Turn(f.ctx, worker, turn)
			f.must(err)
			if done.Outcome.Status != "complete" || done.Work != nil {
				t.Errorf("%+v", done)
			}
		}
		if o := f.beat(worker, "mill", h); !o.Orders[0].Gone {
			t.Errorf("after the end: %+v", o)
		}
	})
}

func TestAClaimAndATurnMayBeSaidTwice(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"}, plan.Task{ID: "two"}, plan.Task{ID: "three"})
		f.beat(worker, "mill")
		one := f.claim("mill", "k")
		if again := f.claim("mill", "k"); again.Attempt.ID != one.Attempt.ID || again.Attempt.Token != one.Attempt.Token {
			t.Errorf("%+v and %+v", one, again)
		}
		turn := coordinator.WorkTurn{
			Finish: coordinator.WorkFinish{WorkKey: held(one).WorkKey},
			Claim:  &coordinator.WorkClaim{Worker: "w-mill", Labels: info("mill").Labels},
		}
		first, err := f.Turn(f.ctx, worker, turn)
		f.must(err)
		f.pass(20 * time.Second)
		second, err := f.Turn(f.ctx, worker, turn)
		f.must(err)
		if first.Work == nil || second.Work == nil || first.Work.Attempt.ID != second.Work.Attempt.ID || second.Work.LeaseMS != 40_000 {
			t.Errorf("%+v and %+v", first.Work, second.Work)
		}
		if n := len(f.heldBy("mill")); n != 1 {
			t.Errorf("holds %d", n)
		}
	})
}

// The answer must be stored with the request, because the outcome cannot be computed from the
// attempt later.
func TestATurnThatFailsIsAnsweredTheSameAfterTheTaskHasGoneOn(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one", Limits: plan.Limits{Retries: 1}})
		f.beat(worker, "mill")
		turn := coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(f.claim("mill", "k")).WorkKey, Ending: fleet.Ending{Class: "crash"}}}
		first, err := f.Turn(f.ctx, worker, turn)
		f.must(err)
		f.pass(time.Hour)
		_, err = f.engine.Sweep(f.ctx, f.clock())
		f.must(err)
		f.claim("mill", "k2") // the task is running again
		second, err := f.Turn(f.ctx, worker, turn)
		f.must(err)
		if first.Outcome.Status != "queued" || second.Outcome.Status != "queued" {
			t.Errorf("%+v and %+v", first.Outcome, second.Outcome)
		}
	})
}

func (f *fixture) heldBy(name string) []coordinator.Work {
	f.t.Helper()
	list, err := f.Held(f.ctx, worker, "w-"+name)
	return must(f, list, err)
}

func TestAGivenUpAttemptIsNotReturnedForTheSameKey(t *testing.T) {
	onEach(t, func(f *fixture) {
		run := f.submit(plan.Task{ID: "one", Limits: plan.Limits{Retries: 3}})
		f.beat(worker, "mill")
		one := f.claim("mill", "k")
		f.pass(2 * time.Minute)
		f.sweep()
		f.nothing("mill", "k")
		if list := f.heldBy("mill"); len(list) != 0 {
			t.Errorf("holds %+v", list)
		}
		f.pass(time.Hour)
		f.sweep()
		again := f.claim("mill", "k2")
		if again.Attempt.ID == one.Attempt.ID || again.Before == nil || again.Before.Class != "lost" || again.Before.Worker != "w-mill" {
			t.Errorf("%+v", again)
		}
		_, err := f.Turn(f.ctx, worker, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(one).WorkKey}})
		if code(err) != "conflict" {
			t.Errorf("a late word: %v", err)
		}
		if task := f.task(run, "one"); task.Status != store.Running || task.RunningAttempt != again.Attempt.ID {
			t.Errorf("%+v", task)
		}
	})
}

func TestATokenMayActOnlyForItsOwnWorkers(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"}, plan.Task{ID: "two"})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		key := held(w).WorkKey
		for _, who := range []credential.Identity{stranger, viewer, admin} {
			want := who.Role == credential.Admin
			for what, ask := range map[string]func() error{
				"beat": func() error {
					_, err := f.Beat(f.ctx, who, coordinator.WorkBeat{Worker: info("mill"), Held: []coordinator.HeldWork{held(w)}})
					return err
				},
				"ask": func() error {
					_, err := f.Ask(f.ctx, who, coordinator.WorkQuestion{WorkKey: key, Ref: "r", Text: "?"})
					return err
				},
				"held": func() error { _, err := f.Held(f.ctx, who, "w-mill"); return err },
				"wait": func() error { _, err := f.Wait(f.ctx, who, "w-mill", -1); return err },
				"log": func() error {
					_, err := f.Log(f.ctx, who, coordinator.LogPiece{WorkKey: key, Data: []byte("x")})
					return err
				},
			} {
				if err := ask(); (err == nil) != want || err != nil && code(err) != "forbidden" {
					t.Errorf("%s by %s: %v", what, who.Name, err)
				}
			}
		}
		for what, err := range map[string]error{
			"claim":   second(f.Claim(f.ctx, stranger, coordinator.WorkClaim{Worker: "w-mill", Labels: info("mill").Labels, Key: "x"})),
			"turn":    second(f.Turn(f.ctx, stranger, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: key}})),
			"release": f.Release(f.ctx, stranger, coordinator.WorkRelease{Worker: "w-mill", Attempts: []coordinator.HeldWork{held(w)}}),
		} {
			if code(err) != "forbidden" {
				t.Errorf("%s: %v", what, err)
			}
		}
		o, err := f.Beat(f.ctx, stranger, coordinator.WorkBeat{Worker: info("other"), Held: []coordinator.HeldWork{held(w)}})
		f.must(err)
		if len(o.Orders) != 1 || !o.Orders[0].Gone {
			t.Errorf("what another worker holds: %+v", o)
		}
		wrong := key
		wrong.Token++
		if _, err := f.Log(f.ctx, worker, coordinator.LogPiece{WorkKey: wrong}); code(err) != "not_owner" {
			t.Errorf("another token of the attempt: %v", err)
		}
	})
}

func TestAWorkerReturnsWithANewTokenOfTheSameNameAndRole(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		for name, by := range map[string]credential.Identity{
			"of another role":   {ID: "t-new", Root: "t-new", Name: worker.Name, Role: credential.Viewer},
			"of another name":   {ID: "t-new", Root: "t-new", Name: "willy", Role: credential.Worker},
			"made from another": {ID: "t-new", Root: "t-root", Name: worker.Name, Role: credential.Worker},
		} {
			if _, err := f.Held(f.ctx, by, "w-mill"); code(err) != "forbidden" {
				t.Errorf("a token %s: %v", name, err)
			}
		}
		rotated := credential.Identity{ID: "t-new", Root: "t-new", Name: worker.Name, Role: worker.Role}
		if list, err := f.Held(f.ctx, rotated, "w-mill"); err != nil || len(list) != 1 || list[0].Attempt.ID != w.Attempt.ID {
			t.Errorf("the worker holds %+v, %v", list, err)
		}
		f.beat(rotated, "mill", held(w))
		if _, err := f.Turn(f.ctx, rotated, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(w).WorkKey}}); err != nil {
			t.Error(err)
		}
		f.beat(worker, "mill") // the token is valid until it is revoked
	})
}

func TestAWorkerThatStopsIsOfflineAndItsNameFreeAtOnce(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		_, err := f.Beat(f.ctx, worker, coordinator.WorkBeat{Worker: info("mill"), Gone: true})
		f.must(err)
		all, err := f.service.Agents(f.ctx)
		f.must(err)
		if len(all) != 1 || all[0].WorkerStatus != coordinator.Offline || f.clock().Sub(all[0].LastSeen) < coordinator.OfflineAfter {
			t.Errorf("the workers are %+v", all)
		}
		double := coordinator.WorkBeat{Worker: info("mill")}
		double.Worker.ID = "w-another"
		_, err = f.Beat(f.ctx, worker, double)
		f.must(err)
	})
}

func second[A any](_ A, err error) error { return err }

func TestAWorkerHasNoPlaceButItsOwn(t *testing.T) {
	onEach(t, func(f *fixture) {
		run := f.submitAt("barn", plan.Task{ID: "one"})
		f.beat(worker, "mill")
		f.nothing("mill", "k")
		for _, label := range []string{"@barn", "a,b", " "} {
			b := coordinator.WorkBeat{Worker: info("mill", label)}
			if _, err := f.Beat(f.ctx, worker, b); code(err) != "invalid_request" {
				t.Errorf("a beat with %q: %v", label, err)
			}
			c := coordinator.WorkClaim{Worker: "w-mill", Labels: info("mill", label).Labels, Key: "x" + label}
			if _, err := f.Claim(f.ctx, worker, c); code(err) != "invalid_request" {
				t.Errorf("a claim with %q: %v", label, err)
			}
		}
		f.beat(worker, "barn")
		if w := f.claim("barn", "k"); w.Run.ID != run || w.Run.Place != "barn" {
			t.Errorf("%+v", w)
		}
		taken := coordinator.WorkBeat{Worker: info(run)}
		if _, err := f.Beat(f.ctx, worker, taken); code(err) != "invalid_request" {
			t.Errorf("a worker called like a run: %v", err)
		}
	})
}

func TestTwoWorkersThatAreThereHaveTwoNames(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		double := coordinator.WorkBeat{Worker: info("mill")}
		double.Worker.ID = "w-another"
		if _, err := f.Beat(f.ctx, worker, double); code(err) != "name_taken" {
			t.Errorf("%v", err)
		}
		f.pass(coordinator.OfflineAfter)
		_, err := f.Beat(f.ctx, worker, double)
		f.must(err)
		if _, err := f.Beat(f.ctx, worker, coordinator.WorkBeat{Worker: info("mill")}); code(err) != "name_taken" {
			t.Errorf("the first again: %v", err)
		}
	})
}

func TestAWorkerThatClaimsBeforeItBeatsIsItsTokens(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"})
		c := coordinator.WorkClaim{Worker: "w-new", Labels: []string{"project:app"}, Key: "k"}
		_, err := f.Claim(f.ctx, worker, c)
		f.must(err)
		if _, err := f.Claim(f.ctx, stranger, c); code(err) != "forbidden" {
			t.Errorf("%v", err)
		}
	})
}

// The first heartbeat creates the worker's row. Before that, another client must not register the
// worker's id, which is the public id of the run.
func TestNoClientMayUseTheIDOfARunsWorkerBeforeItsFirstHeartbeat(t *testing.T) {
	onEach(t, func(f *fixture) {
		run := f.submit(plan.Task{ID: "one"})
		mine := coordinator.WorkBeat{Worker: info("mill")}
		mine.Worker.ID = run
		for what, err := range map[string]error{
			"beat":    second(f.Beat(f.ctx, worker, mine)),
			"claim":   second(f.Claim(f.ctx, worker, coordinator.WorkClaim{Worker: run, Labels: info("mill").Labels, Key: "k"})),
			"release": f.Release(f.ctx, worker, coordinator.WorkRelease{Worker: run}),
			"held":    second(f.Held(f.ctx, worker, run)),
		} {
			if code(err) != "forbidden" {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := f.engine.Beat(f.ctx, store.Worker{ID: run, Slots: 1}, nil)
		f.must(err)
		if err := second(f.Beat(f.ctx, worker, mine)); code(err) != "forbidden" {
			t.Errorf("after its first beat: %v", err)
		}
	})
}

func TestTheReportedCostIsLimited(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		for said, want := range map[coordinator.Amount]store.Amount{
			{}:                         {},
			{MicroUSD: 7, Tokens: 9}:   {MicroUSD: 7, Tokens: 9},
			{MicroUSD: -7, Tokens: -9}: {},
			{MicroUSD: math.MaxInt64, Tokens: math.MinInt64}: {MicroUSD: 1e15},
			{MicroUSD: 1e15, Tokens: 1e15 + 1}:               {MicroUSD: 1e15, Tokens: 1e15},
		} {
			run := f.submit(plan.Task{ID: "one"})
			w := f.claim("mill", fmt.Sprint("k", said))
			turn := coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(w).WorkKey, Progress: fleet.Progress{Spent: said}}}
			f.must(second(f.Turn(f.ctx, worker, turn)))
			f.must(f.store.Read(f.ctx, func(r store.Reader) error {
				rows, err := r.AttemptsOf(run)
				if len(rows) != 1 || rows[0].Spent != want {
					t.Errorf("%+v: %+v", said, rows)
				}
				return err
			}))
		}
	})
}

func TestAQuestionIsAnsweredThroughTheNextBeat(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"}, plan.Task{ID: "two"})
		f.beat(worker, "mill")
		w, other := f.claim("mill", "k"), f.claim("mill", "l")
		q := coordinator.WorkQuestion{WorkKey: held(w).WorkKey, Ref: "tool-1", Text: "May I?", Options: []string{"yes", "no"}}
		id, err := f.Ask(f.ctx, worker, q)
		f.must(err)
		if again, err := f.Ask(f.ctx, worker, q); err != nil || again != id {
			t.Errorf("asked again it is %s, not %s, %v", again, id, err)
		}
		h := held(w)
		h.Asking = []string{id}
		f.beat(worker, "mill", h)
		if a, _ := f.service.Agent(f.ctx, "w-mill"); a.ClaudeStatus != coordinator.Waiting {
			t.Errorf("%+v", a)
		}
		f.must(f.engine.Answer(f.ctx, engine.Answer{Question: id, Text: "yes", Who: "ada"}))
		foreign := held(other)
		foreign.Asking = []string{id}
		o := f.beat(worker, "mill", h, foreign)
		if got := o.Orders[0].Answers; len(got) != 1 || got[0].ID != id || got[0].Answer != "yes" {
			t.Errorf("%+v", o)
		}
		if got := o.Orders[1].Answers; len(got) != 0 {
			t.Errorf("another attempt is told %+v", got)
		}
		q.Ref = ""
		if _, err := f.Ask(f.ctx, worker, q); code(err) != "invalid_request" {
			t.Errorf("without a ref: %v", err)
		}
	})
}

func TestAReleasedTaskIsQueuedAtOnce(t *testing.T) {
	onEach(t, func(f *fixture) {
		run := f.submit(plan.Task{ID: "one"})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		for range 2 {
			f.must(f.Release(f.ctx, worker, coordinator.WorkRelease{Worker: "w-mill", Attempts: []coordinator.HeldWork{held(w)}}))
		}
		if task := f.task(run, "one"); task.Status != store.Queued || !task.Ready || task.CountedAttempts != 0 {
			t.Errorf("%+v", task)
		}
		if len(f.heldBy("mill")) != 0 {
			t.Error("it is held")
		}
		f.beat(worker, "barn")
		f.claim("barn", "k")
	})
}

func TestOutputIsAcceptedAfterTheEndOfItsAttempt(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		key := held(w).WorkKey
		send := func(offset int64, text string, done bool) (int64, error) {
			return f.Log(f.ctx, worker, coordinator.LogPiece{WorkKey: key, Offset: offset, Data: []byte(text), Done: done})
		}
		if next, err := send(0, "hello ", false); err != nil || next != 6 {
			t.Errorf("%d, %v", next, err)
		}
		if _, err := send(9, "?", false); code(err) != coordinator.LogGap {
			t.Errorf("a gap: %v", err)
		}
		_, err := f.Turn(f.ctx, worker, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: key}})
		f.must(err)
		if next, err := send(6, "world", true); err != nil || next != 11 {
			t.Errorf("%d, %v", next, err)
		}
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			text, err := logstore.Read(r, w.Attempt.ID, 0, 100)
			done, _ := logstore.Done(r, w.Attempt.ID)
			if string(text) != "hello world" || !done {
				t.Errorf("%q %v", text, done)
			}
			return err
		}))
	})
}

func TestAWaitingWorkerIsNotifiedOfWhatConcernsIt(t *testing.T) {
	testenv.Integration(t)
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		first, err := f.Wait(f.ctx, worker, "w-mill", -1)
		f.must(err)
		if !first.Wake || !first.Attend {
			t.Errorf("at first: %+v", first)
		}
		testenv.Wait(t, "a wait that ends without news", func() error { // retried, because it fails if the store is slow
			short, cancel := context.WithTimeout(f.ctx, 2*time.Second)
			defer cancel()
			news, err := f.Wait(short, worker, "w-mill", first.Seq)
			if news.Wake || news.Attend {
				t.Errorf("when nothing happens: %+v, %v", news, err)
			}
			return err
		})
		news := f.told(first.Seq, func() { f.submit(plan.Task{ID: "gpu", Labels: []string{"gpu"}}); f.submit(plan.Task{ID: "one"}) })
		if !news.Wake || news.Attend {
			t.Errorf("a task: %+v", news)
		}
		w := f.claim("mill", "k")
		news = f.told(news.Seq, func() {
			_, err := f.engine.Send(f.ctx, fleet.Message{Run: w.Run.ID, Task: "one", Text: "hello"})
			f.must(err)
		})
		if news.Wake || !news.Attend {
			t.Errorf("a message: %+v", news)
		}
		news = f.told(news.Seq, func() {
			f.must(f.engine.Cancel(f.ctx, engine.Target{Run: w.Run.ID, Task: "one"}, "ada", "enough"))
		})
		if news.Wake || !news.Attend {
			t.Errorf("an order: %+v", news)
		}
	})
}

// told calls change, and returns the news that worker mill gets after a change number.
func (f *fixture) told(after int64, change func()) coordinator.WorkNews {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, testenv.Patience)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(change)
	news, err := f.Wait(ctx, worker, "w-mill", after)
	if ctx.Err() != nil {
		f.t.Error("nobody was told")
	}
	return must(f, news, err)
}

func TestATaskForOtherWorkersWakesNoWorker(t *testing.T) {
	testenv.Integration(t)
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		first, err := f.Wait(f.ctx, worker, "w-mill", -1)
		f.must(err)
		f.submit(plan.Task{ID: "gpu", Labels: []string{"gpu"}})
		f.submitAt("barn", plan.Task{ID: "barn"})
		var last int64
		f.must(f.store.Read(f.ctx, func(r store.Reader) (err error) { last, err = r.LastSeq(); return err }))
		for end, seq := time.Now().Add(testenv.Patience), first.Seq; seq < last; {
			ctx, cancel := context.WithTimeout(f.ctx, time.Second)
			news, err := f.Wait(ctx, worker, "w-mill", first.Seq)
			if late := ctx.Err() != nil; err != nil && !late || news.Wake || news.Attend || time.Now().After(end) {
				t.Fatalf("%+v, %v, want up to %d", news, err, last)
			}
			cancel()
			seq = news.Seq
		}
	})
}

func TestTheReportedDiffIsLimited(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.beat(worker, "mill")
		for text, want := range map[string]string{
			``:        "<nil>",
			`"words"`: "<nil>",
			`{"files":[{"path":"a","added":2,"removed":1}],"changed":7,"added":2,"removed":1}`: "&{[{a 2 1}] 7 2 1}",
			`{"files":null,"changed":0,"later":[]}`:                                            "&{[] 0 0 0}",
		} {
			run := f.submit(plan.Task{ID: "one"})
			w := f.claim("mill", "k"+text)
			turn := coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(w).WorkKey, Ending: fleet.Ending{Diff: json.RawMessage(text)}}}
			_, err := f.Turn(f.ctx, worker, turn)
			f.must(err)
			f.must(f.store.Read(f.ctx, func(r store.Reader) error {
				rows, err := r.AttemptsOf(run)
				if len(rows) != 1 || fmt.Sprint(runquery.AttemptOf(rows[0]).Diff) != want {
					t.Errorf("%s: %+v", text, rows)
				}
				return err
			}))
		}
		f.submit(plan.Task{ID: "one"})
		w := f.claim("mill", "long")
		long := json.RawMessage(`"` + strings.Repeat("x", coordinator.MaxWorkDiff) + `"`)
		_, err := f.Turn(f.ctx, worker, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(w).WorkKey, Ending: fleet.Ending{Diff: long}}})
		if err == nil || !strings.Contains(err.Error(), "finish.diff") {
			t.Errorf("one that is too long: %v", err)
		}
	})
}
