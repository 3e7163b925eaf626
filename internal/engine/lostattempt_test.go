package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// lose claims a task, lets the lease of the attempt expire, and returns the assignment.
func (f *fixture) lose() engine.Assignment {
	f.t.Helper()
	f.sweep(10 * time.Minute) // wait until the delay before the next attempt is over
	a := f.claim()
	f.sweep(time.Minute + time.Second)
	return a
}

func TestALostWorkerCostsATaskNothing(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b", "a")}})
	lost := f.lose()
	if got := f.attempt(lost.Attempt.ID); got.Status != store.Failed || got.Class != failure.Lost {
		t.Errorf("the attempt is %s, %s", got.Status, got.Class)
	}
	f.expect(run, map[string]store.Status{"a": store.Queued, "b": store.Queued})
	if left := f.task(run, "a"); left.CountedAttempts != 0 || left.Tries != 1 || left.Lost != 1 || left.NewConversation {
		t.Errorf("the task is %+v", left)
	}
	f.lose()
	f.sweep(10 * time.Minute)
	f.finish(f.claim(), failure.None)
	f.finish(f.claim(), failure.None)
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s", got)
	}
}

func TestARetryIsLeftAfterALostWorker(t *testing.T) {
	f := newFixture(t)
	p := plan.Task{ID: "a", Agent: "claude", Limits: plan.Limits{Retries: 1}}
	run := f.submit(plan.Plan{Tasks: []plan.Task{p}})
	f.lose()
	f.sweep(10 * time.Minute)
	if o := f.finish(f.claim(), failure.Crashed); o.Status != store.Queued {
		t.Errorf("after one loss and one failure the task is %s", o.Status)
	}
	f.lose()
	f.sweep(10 * time.Minute)
	if o := f.finish(f.claim(), failure.Crashed); o.Status != store.Failed {
		t.Errorf("after its second failure the task is %s: %+v", o.Status, f.task(run, "a"))
	}
}

func TestATaskFailsAfterTooManyLostAttempts(t *testing.T) {
	for name, c := range map[string]struct{ retries, lost int }{
		"five times without retries":    {0, 6},
		"as often as it allows retries": {8, 9},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Retries: c.retries}}, task("b", "a")}})
			for n := 1; n < c.lost; n++ {
				f.lose()
				if got := f.status(run, "a"); got != store.Queued {
					t.Fatalf("after %d lost attempts the task is %s", n, got)
				}
			}
			last := f.lose()
			f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Cancelled})
			if got := f.task(run, "a"); got.Outcome != string(failure.Lost) || got.CountedAttempts != 0 {
				t.Errorf("the task is %+v", got)
			}
			if got := f.attempt(last.Attempt.ID).Summary; !strings.Contains(got, "not heard of") || !strings.Contains(got, "attempts at this task were lost") {
				t.Errorf("the reason is %q", got)
			}

			f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "a"}, "sam", "the machines were at fault"))
			f.lose()
			f.expect(run, map[string]store.Status{"a": store.Queued, "b": store.Queued})
		})
	}
}

func TestATaskThatWasToStopIsNotTriedAgainWhenItsWorkerIsLost(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), {ID: "b", Agent: "claude", Limits: plan.Limits{Timeout: 30 * time.Second}}}})
	f.claim()
	f.claim()
	f.sweep(40 * time.Second) // the deadline of b has passed: its worker is asked to stop it
	f.must(f.Cancel(context.Background(), engine.Target{Run: run, Task: "a"}, "sam", "enough"))
	f.sweep(time.Minute)
	f.expect(run, map[string]store.Status{"a": store.Cancelled, "b": store.Failed})
}
