package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

func bead(id, ledger string, after ...string) plan.Task {
	return plan.Task{ID: id, After: after, Dispatch: &plan.Dispatch{Bead: id, Ledger: ledger}}
}

// held checks that err is a BeadHeldError, and that the task which holds the bead belongs to the
// run.
func (f *fixture) held(err error, run string) {
	f.t.Helper()
	held := (*engine.BeadHeldError)(nil)
	if !errors.As(err, &held) || held.By.Run != run {
		f.t.Errorf("%v, want held by %s", err, run)
	}
}

func (f *fixture) dispatch(t plan.Task) (string, error) {
	return f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{t}}})
}

func TestABeadHasOneTaskAtATime(t *testing.T) {
	f := newFixture(t)
	first := f.submit(plan.Plan{Tasks: []plan.Task{bead("bd-1", "/a/state")}})
	_, err := f.dispatch(bead("bd-1", "/a/state"))
	f.held(err, first)
	for _, other := range []plan.Task{bead("bd-1", "/b/state"), bead("bd-10", "/a/state")} {
		_, err := f.dispatch(other)
		f.must(err)
	}
	f.finish(f.claim(), failure.None)
	second, err := f.dispatch(bead("bd-1", "/a/state"))
	f.must(err)
	_, err = f.dispatch(bead("bd-1", "/a/state"))
	f.held(err, second)
}

func TestAttemptsAtABeadAreCountedOn(t *testing.T) {
	f := newFixture(t)
	task := bead("bd-1", "/s")
	task.Retries, task.Dispatch.Earlier = 1, 3 // Earlier is 3: other tools have recorded three attempts at the bead
	run, err := f.dispatch(task)
	f.must(err)
	for range 2 {
		f.finish(f.claim(), failure.VerifyFailed)
	}
	task.Dispatch.Earlier = 4 // other tools have recorded fewer attempts than the 3 + 2 that the first run has counted
	again, err := f.dispatch(task)
	f.must(err)
	for run, want := range map[string]int{run: 3, again: 5} {
		if got := f.dispatched(run, "bd-1").Earlier; got != want {
			t.Errorf("run %s counts on from %d, want %d", run, got, want)
		}
	}
}

func (f *fixture) dispatched(run, task string) (d plan.Dispatch) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		t, err := r.Task(store.TaskKey{Run: run, Task: task})
		if err != nil {
			return err
		}
		return json.Unmarshal(t.Spec, &struct{ Dispatch *plan.Dispatch }{&d})
	}))
	return d
}

func TestATaskWhoseBeadWasDispatchedAgainIsNotRetried(t *testing.T) {
	f := newFixture(t)
	old := f.submit(plan.Plan{Tasks: []plan.Task{bead("bd-1", "/s"), bead("bd-2", "/s", "bd-1")}})
	f.finish(f.claim(), failure.Denied)
	newer, err := f.dispatch(bead("bd-2", "/s"))
	f.must(err)
	f.finish(f.claim(), failure.Denied)
	newest, err := f.dispatch(bead("bd-2", "/s"))
	f.must(err)
	f.held(f.Retry(context.Background(), store.TaskKey{Run: newer, Task: "bd-2"}, "", ""), newest)
	f.must(f.Retry(context.Background(), store.TaskKey{Run: old, Task: "bd-1"}, "", ""))
	if got := f.status(old, "bd-2"); got != store.Cancelled {
		t.Errorf("bd-2, which another run has, is %s", got)
	}
}

func TestOnlyOneOfManyConcurrentDispatchesOfABeadSucceeds(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all sync.WaitGroup
	results := make(chan error, 16)
	for range cap(results) {
		all.Go(func() {
			e := engine.New(s, engine.Options{Now: time.Now, NewID: rand.Text, Rand: func() float64 { return 0 }})
			_, err := e.Submit(t.Context(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{bead("bd-1", "/s")}}})
			results <- err
		})
	}
	all.Wait()
	close(results)
	had := 0
	for err := range results {
		held := (*engine.BeadHeldError)(nil)
		switch {
		case err == nil:
			had++
		case !errors.As(err, &held):
			t.Error(err)
		}
	}
	if had != 1 {
		t.Errorf("%d have it", had)
	}
}
