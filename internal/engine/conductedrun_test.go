package engine_test

import (
	"context"
	"testing"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func (f *fixture) conducted(tasks ...plan.Task) string {
	f.t.Helper()
	id, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: tasks}, Conducted: true})
	f.must(err)
	return id
}

func (f *fixture) extend(run, key string, tasks ...plan.Task) error {
	return f.Extend(context.Background(), engine.Extension{Run: run, Key: key, Tasks: tasks})
}

func TestAConductedRunGoesOnUntilItIsConcluded(t *testing.T) {
	f := newFixture(t)
	run := f.conducted()
	for _, id := range []string{"a", "b"} {
		f.must(f.extend(run, id, task(id)))
		a := f.claim()
		if err := f.Conclude(context.Background(), run, store.Complete, ""); !conflict(err) {
			t.Fatalf("concluded with an open task: %v", err)
		}
		f.finish(a, failure.Denied)
		if got := f.runStatus(run); got != store.Running {
			t.Fatalf("the run is %s although nobody has concluded it", got)
		}
	}
	f.must(f.Conclude(context.Background(), run, store.Complete, ""))
	f.must(f.Conclude(context.Background(), run, store.Failed, "too late")) // the run has already ended and keeps its status
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s", got)
	}
	if err := f.extend(run, "c", task("c")); !conflict(err) {
		t.Errorf("a run that has ended was extended: %v", err)
	}
	f.must(f.Reopen(context.Background(), engine.Reopening{Run: run, Who: "sam", Why: "go on"}))
	f.must(f.extend(run, "c", task("c")))
	f.finish(f.claim(), failure.None)
	f.must(f.Conclude(context.Background(), run, store.Failed, "enough"))
	if got := f.runStatus(run); got != store.Failed {
		t.Errorf("the run is %s", got)
	}
}

func TestTheSameExtensionIsMadeOnce(t *testing.T) {
	f := newFixture(t)
	run := f.conducted(task("a"))
	for range 3 {
		f.must(f.extend(run, "k", task("b"), task("c")))
	}
	if err := f.extend(run, "other", task("d"), task("b")); !conflict(err) {
		t.Errorf("a task was added twice: %v", err)
	}
	for range 3 {
		f.finish(f.claim(), failure.None)
	}
	f.nothing()
}

func TestOnlyAConductedRunIsExtendedAndOnlyAnotherRetried(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	if err := f.extend(run, "k", task("b")); !conflict(err) {
		t.Errorf("extended: %v", err)
	}
	if err := f.Conclude(context.Background(), run, store.Complete, ""); !conflict(err) {
		t.Errorf("concluded: %v", err)
	}
	if err := f.Reopen(context.Background(), engine.Reopening{Run: run}); !conflict(err) {
		t.Errorf("opened again: %v", err)
	}
	f.finish(f.claim(), failure.Denied)
	f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "a"}, "", ""))

	led := f.conducted(task("x"))
	f.finish(f.claim(), failure.None)
	f.finish(f.claim(), failure.Denied)
	if err := f.Retry(context.Background(), store.TaskKey{Run: led, Task: "x"}, "", ""); !conflict(err) {
		t.Errorf("a task of a conducted run was retried: %v", err)
	}
}

func TestACancelledConductedRunEnds(t *testing.T) {
	f := newFixture(t)
	idle, busy := f.conducted(), f.conducted(task("a"))
	a := f.claim()
	for _, run := range []string{idle, busy} {
		f.must(f.Cancel(context.Background(), engine.Target{Run: run}, "sam", "enough"))
	}
	if got := f.runStatus(idle); got != store.Cancelled {
		t.Errorf("the idle run is %s", got)
	}
	if err := f.extend(busy, "k", task("b")); !conflict(err) {
		t.Errorf("a run that stops was extended: %v", err)
	}
	f.finish(a, failure.Cancelled)
	if got := f.runStatus(busy); got != store.Cancelled {
		t.Errorf("the busy run is %s", got)
	}
}

func TestAConductedRunGoesOnWithALargerBudget(t *testing.T) {
	f := newFixture(t)
	run, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Budget: plan.Budget{Tokens: 10}}, Conducted: true})
	f.must(err)
	f.must(f.extend(run, "a", task("a")))
	a := f.claim()
	_, err = f.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Progress: fleet.Progress{Spent: store.Amount{Tokens: 11}}})
	f.must(err)
	f.must(f.extend(run, "b", task("b")))
	f.nothing()
	if got := f.status(run, "b"); got != store.Failed {
		t.Fatalf("b is %s although the budget is spent", got)
	}
	f.must(f.Conclude(context.Background(), run, store.Failed, "the budget"))
	f.must(f.Reopen(context.Background(), engine.Reopening{Run: run, Budget: store.Amount{Tokens: 20}}))
	f.must(f.extend(run, "c", task("c")))
	f.finish(f.claim(), failure.None)
}
