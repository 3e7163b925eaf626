package schedulerun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// world is a store that several servers use, with a clock that the test sets.
type world struct {
	t     *testing.T
	store store.Store

	mu      sync.Mutex
	now     time.Time
	ids     int
	notices []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(), now: time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { _ = w.store.Close() }) // ignore the error: the store is in memory
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("id%d", w.ids)
}

func (w *world) engine() *engine.Engine {
	return engine.New(w.store, engine.Options{Now: w.clock, NewID: w.newID, Rand: rand.Float64, Who: "test"})
}

// server returns the schedules of one more process. change may change its options.
func (w *world) server(change func(*Options)) *Schedules {
	e := w.engine()
	o := Options{
		Store: w.store, Engine: e, Now: w.clock, NewID: w.newID, Machine: "mill", User: "ada",
		Start: func(ctx context.Context, s schedule.Schedule, key string) (string, error) {
			return e.Submit(ctx, engine.Submission{Plan: plan.Plan{Name: s.Name, Tasks: []plan.Task{{ID: "a", Prompt: "x"}}}, Key: key, StartedBy: s.StartedBy()})
		},
		EnsureProcess: func(context.Context, string) error { return nil },
		Notice: func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notices = append(w.notices, text)
		},
	}
	if change != nil {
		change(&o)
	}
	return New(o)
}

func (w *world) add(s *Schedules, change func(*schedule.Schedule)) {
	w.t.Helper()
	n := schedule.Schedule{
		Name: "night", Cron: "0 * * * *", Zone: "UTC", Missed: fleet.MissedRunOnce, Overlap: fleet.OverlapAllow, Project: "/p", Args: []string{"plan.yaml"},
	}
	if change != nil {
		change(&n)
	}
	if _, err := s.Add(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

// step lets a server look once, and waits for the runs that it starts.
func (w *world) step(s *Schedules) {
	w.t.Helper()
	var all sync.WaitGroup
	if err := s.Step(w.t.Context(), func(work func()) { all.Go(work) }); err != nil {
		w.t.Fatal(err)
	}
	all.Wait()
}

// runs returns the runs in the store.
func (w *world) runs() (list []store.Run) {
	w.t.Helper()
	err := w.store.Read(w.t.Context(), func(r store.Reader) (err error) {
		list, err = r.Runs()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// statuses returns the status of each fire of a schedule.
func (w *world) statuses(s *Schedules, name string) (list []string) {
	w.t.Helper()
	v, err := s.Get(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range v.Fires {
		list = append(list, f.Planned.Format("15:04 ")+string(f.Status))
	}
	return list
}

func TestARunStartsAtItsPlannedTime(t *testing.T) {
	w := newWorld(t)
	s := w.server(nil)
	w.add(s, nil)
	w.pass(59 * time.Minute)
	w.step(s)
	if n := len(w.runs()); n != 0 {
		t.Fatalf("%d runs before the time", n)
	}
	w.pass(time.Minute)
	w.step(s)
	w.step(s)
	runs := w.runs()
	if len(runs) != 1 || runs[0].StartedBy != "schedule night" {
		t.Fatalf("%+v", runs)
	}
	v, err := s.Get(t.Context(), "night")
	if err != nil || len(v.Fires) != 1 || v.Fires[0].Run != runs[0].ID || v.Fires[0].RunStatus != fleet.Running || v.Fires[0].Holder != "" {
		t.Errorf("%+v, %v", v.Fires, err)
	}
	if len(v.Next) != 3 || !v.Next[0].Equal(w.clock().Add(time.Hour)) {
		t.Errorf("next: %v", v.Next)
	}
}

// However the processes crash, there must be one run for each planned time.
func TestEachPlannedTimeHasOneRunHoweverServersCrash(t *testing.T) {
	for seed := range uint64(testenv.Count(5, 20, 300)) {
		random := rand.New(rand.NewPCG(seed, 1))
		chance := func() bool { return random.IntN(3) == 0 } // called by one goroutine at a time
		w := newWorld(t)
		crashing := func(o *Options) {
			start := o.Start
			o.Start = func(ctx context.Context, s schedule.Schedule, key string) (string, error) {
				if chance() {
					runtime.Goexit() // dies before the run exists
				}
				run, err := start(ctx, s, key)
				if chance() {
					runtime.Goexit() // dies before the run is recorded
				}
				return run, err
			}
		}
		w.add(w.server(nil), nil)
		ctx, cancel := context.WithCancel(t.Context())
		for range 24 * 12 {
			w.pass(5 * time.Minute)
			s := w.server(crashing)
			err := s.Step(ctx, func(work func()) {
				if chance() {
					return // dies after the decision
				}
				var done sync.WaitGroup
				done.Go(work)
				done.Wait()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		w.pass(time.Minute)
		last := w.server(nil)
		w.step(last)
		perKey := map[string]int{}
		for _, r := range w.runs() {
			perKey[r.Created.Truncate(time.Hour).Format("02 15")]++
		}
		v, err := last.Get(t.Context(), "night")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(w.runs()); n != 24 || len(v.Fires) != 24 || slices.ContainsFunc(v.Fires, func(f fleet.Fire) bool { return f.Status != fleet.FireStarted || f.Run == "" }) {
			t.Errorf("seed %d: %d runs for 24 planned times: %v\n%+v", seed, n, perKey, v.Fires)
		}
	}
}

func TestManyServersAtOnceStartOneRun(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		shared := memory.New()
		startAtOnce(t, func() (store.Store, error) { return shared, nil })
	})
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "gaffer.db")
		startAtOnce(t, func() (store.Store, error) { return sqlite.Open(t.Context(), file) })
	})
	t.Run("postgres", func(t *testing.T) {
		testenv.Integration(t)
		url := pgtest.Database(t)
		startAtOnce(t, func() (store.Store, error) { return postgres.Open(t.Context(), url) })
	})
}

// startAtOnce lets four servers look at the same moment, again and again. Each of them opens the
// store itself, as a process does.
func startAtOnce(t *testing.T, open func() (store.Store, error)) {
	w := newWorld(t)
	var servers []*Schedules
	for range 4 {
		opened, err := open()
		if err != nil {
			t.Fatal(err)
		}
		w.store = opened
		t.Cleanup(func() { _ = opened.Close() }) // ignore the error: the test has read what it needs
		servers = append(servers, w.server(nil))
	}
	w.add(servers[0], nil)
	for hour := range 5 {
		w.pass(time.Hour)
		var all sync.WaitGroup
		for _, s := range servers {
			all.Go(func() {
				if err := s.Step(t.Context(), func(work func()) { all.Go(work) }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(w.runs()); n != hour+1 {
			t.Fatalf("%d runs after %d planned times", n, hour+1)
		}
	}
}

func TestAFailedStartIsRecordedAndStopsNoOther(t *testing.T) {
	w := newWorld(t)
	s := w.server(func(o *Options) {
		start := o.Start
		o.Start = func(ctx context.Context, n schedule.Schedule, key string) (string, error) {
			if n.Name == "broken" {
				return "", errors.New("plan.yaml does not exist")
			}
			return start(ctx, n, key)
		}
	})
	w.add(s, func(n *schedule.Schedule) { n.Name = "broken" })
	w.add(s, func(n *schedule.Schedule) { n.Name = "fine" })
	for range 2 {
		w.pass(time.Hour)
		w.step(s)
	}
	if diff := cmp.Diff([]string{"02:00 failed", "03:00 failed"}, w.statuses(s, "broken")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"02:00 started", "03:00 started"}, w.statuses(s, "fine")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	since := time.Time{}
	notStarted := func(project string) (list []string) {
		err := w.store.Read(t.Context(), func(r store.Reader) error {
			fires, err := NotStarted(r, project, since)
			for _, f := range fires {
				list = append(list, fmt.Sprintf("%s %s %s: %s", f.Schedule, f.Planned.UTC().Format("15:04"), f.Status, f.Why))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return list
	}
	const why = " failed: plan.yaml does not exist"
	if diff := cmp.Diff([]string{"broken 02:00" + why, "broken 03:00" + why}, notStarted("")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	since = w.now
	if diff := cmp.Diff([]string{"broken 03:00" + why}, notStarted("")); diff != "" || notStarted("/elsewhere") != nil {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var kinds []string
	err := w.store.Read(t.Context(), func(r store.Reader) error {
		events, err := r.Events(0, 1000)
		for _, e := range events {
			if strings.HasPrefix(e.Kind, "schedule.") {
				kinds = append(kinds, e.Kind+" "+e.Why)
			}
		}
		return err
	})
	slices.Sort(kinds)
	want := []string{"schedule.failed plan.yaml does not exist", "schedule.failed plan.yaml does not exist", "schedule.started ", "schedule.started "}
	if diff := cmp.Diff(want, kinds); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestARunThatHasNotEndedDelaysTheNext(t *testing.T) {
	w := newWorld(t)
	s := w.server(nil)
	w.add(s, func(n *schedule.Schedule) { n.Overlap = fleet.OverlapQueue })
	for range 3 {
		w.pass(time.Hour)
		w.step(s)
	}
	want := []string{"02:00 started", "03:00 waiting", "04:00 skipped"}
	if diff := cmp.Diff(want, w.statuses(s, "night")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if err := w.engine().Cancel(t.Context(), engine.Target{Run: w.runs()[0].ID}, "over", "ada"); err != nil {
		t.Fatal(err)
	}
	w.step(s)
	want[1] = "03:00 started"
	if diff := cmp.Diff(want, w.statuses(s, "night")); diff != "" || len(w.runs()) != 2 {
		t.Errorf("%d runs (-want +got)\n%s", len(w.runs()), diff)
	}
}

func TestAnExportedScheduleIsStartedOnlyByItsCommand(t *testing.T) {
	w := newWorld(t)
	s := w.server(nil)
	w.add(s, nil)
	if v, err := s.Export(t.Context(), "night", "cron"); err != nil || v.Exporter != "cron" {
		t.Fatalf("%+v, %v", v, err)
	}
	if fires, err := s.Fire(t.Context(), "night"); err != nil || len(fires) != 0 {
		t.Errorf("before the time: %v, %v", fires, err)
	}
	w.pass(time.Hour)
	w.step(s)
	if n := len(w.runs()); n != 0 {
		t.Fatalf("the server has started %d runs", n)
	}
	for i := range 2 {
		fires, err := s.Fire(t.Context(), "night")
		if err != nil || len(fires) != 1-i {
			t.Errorf("call %d: %v, %v", i+1, fires, err)
		}
	}
	w.pass(3 * time.Hour)
	if _, err := s.Export(t.Context(), "night", ""); err != nil {
		t.Fatal(err)
	}
	w.step(s)
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs: the times of the export count as missed", n)
	}
}

func TestARemovedScheduleCanBeRestored(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.server(nil), t.Context()
	w.add(s, nil)
	var missing *NotFoundError
	var conflict *ConflictError
	if err := s.Remove(ctx, "night"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "night"); !errors.As(err, &missing) {
		t.Errorf("after its removal: %v", err)
	}
	w.pass(3 * time.Hour)
	w.step(s)
	w.add(s, func(n *schedule.Schedule) { n.Cron = "@daily" })
	if _, err := s.Restore(ctx, "night"); !errors.As(err, &conflict) {
		t.Errorf("while the name is taken: %v", err)
	}
	w.pass(time.Second)
	if err := s.Remove(ctx, "night"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(ctx, true); err != nil || len(list) != 2 || list[0].State != fleet.ScheduleRemoved {
		t.Errorf("%v, %v", list, err)
	}
	if v, err := s.Restore(ctx, "night"); err != nil || v.Cron != "@daily" || v.State != fleet.ScheduleActive {
		t.Errorf("%+v, %v", v, err)
	}
	w.step(s)
	if n := len(w.runs()); n != 0 {
		t.Errorf("%d runs for times of the removal", n)
	}
	if err := s.Remove(ctx, "night"); err != nil {
		t.Fatal(err)
	}
	w.pass(schedule.RestoreWithin + time.Hour)
	if _, err := s.Restore(ctx, "night"); !errors.As(err, &missing) {
		t.Errorf("after a month: %v", err)
	}
}

func TestOnlyTheMachineAndUserOfAScheduleStartIt(t *testing.T) {
	w := newWorld(t)
	w.add(w.server(nil), nil)
	w.pass(time.Hour)
	other := w.server(func(o *Options) { o.Machine = "loom" })
	another := w.server(func(o *Options) { o.User = "bob" })
	w.step(other)
	w.step(another)
	var conflict *ConflictError
	if _, err := other.RunNow(t.Context(), "night", "ada"); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if _, err := another.Fire(t.Context(), "night"); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if n := len(w.runs()); n != 0 {
		t.Errorf("%d runs", n)
	}
}

func TestTheUserCanStartARunAtOnce(t *testing.T) {
	w := newWorld(t)
	ensured := ""
	s := w.server(func(o *Options) {
		o.EnsureProcess = func(_ context.Context, run string) error { ensured = run; return nil }
	})
	w.add(s, nil)
	f, err := s.RunNow(t.Context(), "night", "ada")
	if err != nil || f.Status != fleet.FireStarted || f.By != "ada" || f.Run == "" || ensured != f.Run {
		t.Errorf("%+v, %v, process for %q", f, err, ensured)
	}
	broken := w.server(func(o *Options) {
		o.Start = func(context.Context, schedule.Schedule, string) (string, error) { return "", errors.New("no") }
	})
	if f, err := broken.RunNow(t.Context(), "night", "ada"); err == nil || f.Status != fleet.FireFailed || f.Why != "no" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAServerThatStopsGivesTheFireBack(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopping := w.server(func(o *Options) {
		o.Start = func(ctx context.Context, _ schedule.Schedule, _ string) (string, error) {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}
	})
	w.add(stopping, nil)
	w.pass(time.Hour)
	var all sync.WaitGroup
	if err := stopping.Step(ctx, func(work func()) { all.Go(work) }); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	w.step(w.server(nil))
	if diff := cmp.Diff([]string{"02:00 started"}, w.statuses(stopping, "night")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestARunWithoutAProcessGetsOneAgainLater(t *testing.T) {
	w := newWorld(t)
	calls := 0
	s := w.server(func(o *Options) {
		o.EnsureProcess = func(context.Context, string) error {
			if calls++; calls == 1 {
				return errors.New("no process")
			}
			return nil
		}
	})
	w.add(s, nil)
	w.pass(time.Hour)
	w.step(s)
	s.ensureProcesses(t.Context())
	if calls != 1 || !slices.ContainsFunc(w.notices, func(text string) bool { return strings.Contains(text, "no process") }) {
		t.Fatalf("%d calls, %v", calls, w.notices)
	}
	for run, r := range s.retries {
		s.retries[run] = retry{time.Now(), r.wait} // the wait is over
	}
	s.ensureProcesses(t.Context())
	if calls != 2 || len(s.retries) != 0 {
		t.Errorf("%d calls, %v", calls, s.retries)
	}
}

// A source without open items, or whose items another run has taken, is no failure: nobody is
// notified.
func TestAPlanWithNothingToDoIsSkipped(t *testing.T) {
	for name, why := range map[string]error{
		"no item":     &NothingError{Why: "gh:ada/shop: no open item"},
		"items taken": fmt.Errorf("submit: %w", &engine.ItemsHeldError{}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.server(func(o *Options) {
				o.Start = func(context.Context, schedule.Schedule, string) (string, error) { return "", why }
			})
			w.add(s, func(n *schedule.Schedule) { n.Name = "nightly" })
			w.pass(time.Hour)
			w.step(s)
			if diff := cmp.Diff([]string{"02:00 skipped"}, w.statuses(s, "nightly")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
