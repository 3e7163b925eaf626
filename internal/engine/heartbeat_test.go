package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func (f *fixture) do(do func(s *engine.Tx) error) {
	f.t.Helper()
	f.must(f.Do(context.Background(), "tester", do))
}

func (f *fixture) heartbeat(said store.Worker) (w store.Worker) {
	f.t.Helper()
	f.do(func(s *engine.Tx) (err error) {
		w, err = s.ClientHeartbeat(said)
		return err
	})
	return w
}

// give claims a task for a client of the coordinator protocol, and returns nil if no task can
// start.
func (f *fixture) give(worker string, labels ...string) (a *engine.Assignment) {
	f.t.Helper()
	f.do(func(s *engine.Tx) (err error) {
		a, err = s.ClaimForClient(engine.Claim{Worker: worker, Labels: labels, Only: true})
		return err
	})
	return a
}

func (f *fixture) kinds(kind string) (n int) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		events, err := r.Events(0, 1000)
		for _, e := range events {
			if e.Kind == kind {
				n++
			}
		}
		return err
	}))
	return n
}

func TestAHeartbeatIsAnEventOnlyIfMoreThanTheTimeHasChanged(t *testing.T) {
	f := newFixture(t)
	said := store.Worker{ID: "a", Name: "dev", Status: "idle", Meta: json.RawMessage(`{"x":1}`), Owner: "token"}
	first := f.heartbeat(said)
	if !first.Created.Equal(f.now) || !first.Updated.Equal(f.now) || first.Owner != "token" {
		t.Errorf("the first is %+v", first)
	}
	f.now = f.now.Add(15 * time.Second)
	said.Owner = "thief"
	said.Now.Doing = "Bash: make"
	again := f.heartbeat(said)
	if again.Now.Doing != "Bash: make" {
		t.Errorf("it does %q", again.Now.Doing)
	}
	if !again.Seen.Equal(f.now) || !again.StatusReported.Equal(f.now) || !again.Updated.Equal(first.Updated) || !again.Created.Equal(first.Created) || again.Owner != "token" {
		t.Errorf("the same again is %+v", again)
	}
	if n := f.kinds("worker.changed"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	for i, change := range []func(w *store.Worker){
		func(w *store.Worker) { w.Status = "running" },
		func(w *store.Worker) { w.Task = "r.t" },
		func(w *store.Worker) { w.Meta = json.RawMessage(`{"x":2}`) },
		func(w *store.Worker) { w.Name = "other" },
		func(w *store.Worker) { w.Version = "2" },
	} {
		change(&said)
		f.heartbeat(said)
		if n := f.kinds("worker.changed"); n != i+2 {
			t.Errorf("change %d: %d events", i, n)
		}
	}
}

func TestAHeartbeatThatSaysNothingOfTheStatusKeepsTheLastOneWithItsAge(t *testing.T) {
	f := newFixture(t)
	f.heartbeat(store.Worker{ID: "a", Name: "dev", Status: "running", Task: "x", Meta: json.RawMessage(`1`)})
	began := f.now
	f.now = f.now.Add(time.Minute)
	w := f.heartbeat(store.Worker{ID: "a"})
	if w.Status != "running" || !w.StatusReported.Equal(began) || !w.Seen.Equal(f.now) || w.Name != "dev" || string(w.Meta) != "1" || w.Task != "" {
		t.Errorf("worker is %+v", w)
	}
}

func TestAHeartbeatExtendsTheLeasesOfWhatTheWorkerWasGiven(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "one", Limits: plan.Limits{Retries: 9}}, {ID: "two", Limits: plan.Limits{Retries: 9}}, {ID: "three", Limits: plan.Limits{Retries: 9}}}})
	f.heartbeat(store.Worker{ID: "a"})
	f.heartbeat(store.Worker{ID: "b"})
	one, two, three := f.give("a"), f.give("a"), f.give("b")
	_, err := f.Finish(context.Background(), engine.Finish{Attempt: two.Attempt.ID, Token: two.Attempt.Token})
	f.must(err)
	for range 5 {
		f.now = f.now.Add(30 * time.Second)
		if w := f.heartbeat(store.Worker{ID: "a"}); !slices.Equal(w.HeldAttempts, []string{one.Attempt.ID}) {
			t.Errorf("a holds %v", w.HeldAttempts)
		}
		_, err := f.Sweep(context.Background(), time.Time{})
		f.must(err)
	}
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		held, err := r.Attempt(one.Attempt.ID)
		lost, err2 := r.Attempt(three.Attempt.ID)
		if held.Status != store.Running || lost.Class != failure.Lost {
			t.Errorf("of the one that beats: %s; of the one that does not: %s", held.Status, lost.Class)
		}
		return errors.Join(err, err2)
	}))
	if w := f.heartbeat(store.Worker{ID: "b"}); len(w.HeldAttempts) > 0 {
		t.Errorf("b holds %v, which it has lost", w.HeldAttempts)
	}
}

func TestAClaimLeavesWhatAWorkerSaysOfItselfAlone(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "one"}}})
	before := f.heartbeat(store.Worker{ID: "a", Status: "idle"})
	f.now = f.now.Add(time.Second)
	a := f.give("a")
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		w, err := r.Worker("a")
		w.HeldAttempts = nil
		if fmt.Sprint(w) != fmt.Sprint(before) || a == nil {
			t.Errorf("the worker is %v, was %v", w, before)
		}
		return err
	}))
}

func TestAClaimForSomeLabelsOnlyTakesNoOtherTasks(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "free"}, {ID: "more", Labels: []string{"x", "y"}}, {ID: "mine", Labels: []string{"x"}}}})
	f.heartbeat(store.Worker{ID: "a"})
	if a := f.give("a", "x"); a.Task.Task != "mine" {
		t.Errorf("claimed %s", a.Task.Task)
	}
	if a := f.give("a", "x"); a != nil {
		t.Errorf("claimed %s", a.Task.Task)
	}
}

func TestAFinalFailureIsNotTriedAgain(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "one", Limits: plan.Limits{Retries: 9}}}})
	a := f.claim()
	o, err := f.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.Crashed}, Final: true})
	if err != nil || o.Status != store.Failed {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAnOrderedRunTriesATaskAgainBeforeTheNext(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	run, err := f.Submit(ctx, engine.Submission{Conducted: true, Ordered: true})
	f.must(err)
	add := func(id string, priority int) {
		f.must(f.Extend(ctx, engine.Extension{Run: run, Tasks: []plan.Task{{ID: id, Priority: priority, Limits: plan.Limits{Retries: 9}}}}))
	}
	add("third", -3)
	add("first", -1)
	add("second", -2)
	a := f.claim()
	f.nothing()
	f.now = f.now.Add(2 * time.Minute)
	_, err = f.Sweep(ctx, time.Time{})
	f.must(err)
	for _, want := range []string{"first", "second", "third"} {
		if a = f.claim(); a.Task.Task != want {
			t.Errorf("claimed %s, want %s", a.Task.Task, want)
		}
		_, err := f.Finish(ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token})
		f.must(err)
	}
}

func TestTheWorkerOfOneRunLeavesAndReturnsWithTheRun(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	said := store.Worker{ID: "r1", Name: "here", Status: "running"}
	beat := func() (w store.Worker) {
		_, err := f.Beat(ctx, said, nil)
		f.must(err)
		f.must(f.store.Read(ctx, func(r store.Reader) error {
			w, err = r.Worker("r1")
			return err
		}))
		return w
	}
	for _, run := range []string{"r1", "r2"} { // the worker r1 works only for the run r1; nevertheless, its name is also the OnlyWorker of r2
		_, err := f.Submit(ctx, engine.Submission{ID: run, OnlyWorker: "r1", Plan: plan.Plan{Tasks: []plan.Task{{ID: "one"}}}})
		f.must(err)
	}
	if w := beat(); !w.Left.IsZero() {
		t.Errorf("before: %+v", w)
	}
	f.must(f.Cancel(ctx, engine.Target{Run: "r2"}, "", ""))
	if w := beat(); !w.Left.IsZero() {
		t.Errorf("when another run has ended: %+v", w)
	}
	events := f.kinds("worker.changed")
	f.must(f.Cancel(ctx, engine.Target{Run: "r1"}, "", ""))
	if n := f.kinds("worker.changed"); n != events+1 {
		t.Errorf("%d events tell that it is gone", n-events)
	}
	if w := beat(); !w.Left.Equal(f.now) { // the worker sends a last heartbeat after its run has ended
		t.Errorf("after the end: %+v", w)
	}
	f.must(f.Retry(ctx, store.TaskKey{Run: "r1", Task: "one"}, "", ""))
	if w := beat(); !w.Left.IsZero() {
		t.Errorf("when it goes on: %+v", w)
	}
}

// A short attempt ends before its worker sends a heartbeat about it.
func TestAnAttemptThatEndsBeforeItsFirstHeartbeatKeepsWhatItsWorkerReports(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "one"}}})
	a := f.claim("w")
	want := fleet.Progress{
		Process: fleet.Process{Thread: "t1", Log: "one.log", LogFrom: 7, Sandbox: "bubblewrap"},
		Context: fleet.Context{Tokens: 500, Window: 1000}, Spent: fleet.Amount{Tokens: 500}, Compacted: "by itself", Compactions: 1,
	}
	_, err := f.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Progress: want})
	f.must(err)
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		got, err := r.Attempt(a.Attempt.ID)
		if got.Progress != want {
			t.Errorf("the progress is %+v, want %+v", got.Progress, want)
		}
		return err
	}))
}
