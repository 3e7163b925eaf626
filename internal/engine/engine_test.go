package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

// fixture is an engine on a store in memory, with a clock that the test sets.
type fixture struct {
	*engine.Engine
	t      *testing.T
	now    time.Time
	store  *memory.Store
	limits engine.Limits // the user's limits
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), store: memory.New()}
	ids := 0
	f.Engine = engine.New(f.store, engine.Options{
		Now: func() time.Time { return f.now }, Rand: func() float64 { return 0.5 }, Lease: time.Minute,
		NewID:  func() string { ids++; return fmt.Sprintf("id%d", ids) },
		Limits: func() engine.Limits { return f.limits }, Zone: time.UTC,
	})
	return f
}

func (f *fixture) submit(p plan.Plan) string {
	f.t.Helper()
	id, err := f.Submit(context.Background(), engine.Submission{Plan: p})
	f.must(err)
	return id
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) claim(labels ...string) engine.Assignment {
	f.t.Helper()
	a, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Labels: labels})
	f.must(err)
	return a
}

func (f *fixture) nothing() {
	f.t.Helper()
	if a, err := f.Claim(context.Background(), engine.Claim{Worker: "w"}); !errors.Is(err, engine.ErrNothing) {
		f.t.Fatalf("claimed %s, %v", a.Task.Task, err)
	}
}

func (f *fixture) finish(a engine.Assignment, class failure.Class) engine.FinishResult {
	f.t.Helper()
	o, err := f.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: class}})
	f.must(err)
	return o
}

func (f *fixture) sweep(after time.Duration) {
	f.t.Helper()
	f.now = f.now.Add(after)
	_, err := f.Sweep(context.Background(), time.Time{})
	f.must(err)
}

func (f *fixture) status(run, task string) (s store.Status) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		t, err := r.Task(store.TaskKey{Run: run, Task: task})
		s = t.Status
		return err
	}))
	return s
}

func (f *fixture) runStatus(run string) (s store.Status) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		row, err := r.Run(run)
		s = row.Status
		return err
	}))
	return s
}

func (f *fixture) expect(run string, want map[string]store.Status) {
	f.t.Helper()
	for task, status := range want {
		if got := f.status(run, task); got != status {
			f.t.Errorf("%s is %s, want %s", task, got, status)
		}
	}
}

func conflict(err error) bool {
	var c *engine.ConflictError
	return errors.As(err, &c)
}

func task(id string, after ...string) plan.Task {
	return plan.Task{ID: id, After: after, Agent: "claude"}
}

func TestTasksStartWhenWhatTheyNeedIsComplete(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b", "a"), task("c", "a", "b")}})
	for _, want := range []string{"a", "b", "c"} {
		a := f.claim()
		if a.Task.Task != want {
			t.Fatalf("%s starts, want %s", a.Task.Task, want)
		}
		f.nothing()
		f.finish(a, failure.None)
	}
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s", got)
	}
}

func TestAWaveStartsWhenTheOneBeforeIsComplete(t *testing.T) {
	f := newFixture(t)
	one, two, last := task("a"), task("b"), task("c")
	one.Wave, two.Wave, last.Wave = 1, 1, 2
	f.submit(plan.Plan{Tasks: []plan.Task{last, one, two}})
	a, b := f.claim(), f.claim()
	f.nothing()
	f.finish(a, failure.None)
	f.nothing()
	f.finish(b, failure.None)
	if c := f.claim(); c.Task.Task != "c" {
		t.Errorf("%s starts", c.Task.Task)
	}
}

func TestAFailureInAWaveCancelsTheLaterOnes(t *testing.T) {
	f := newFixture(t)
	one, two := task("a"), task("b")
	one.Wave, two.Wave = 1, 2
	run := f.submit(plan.Plan{Tasks: []plan.Task{one, two}})
	f.finish(f.claim(), failure.Denied)
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Cancelled})
	if got := f.runStatus(run); got != store.Failed {
		t.Errorf("the run is %s", got)
	}
}

func TestNoMoreTasksRunAtOnceThanTheRunAllows(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Parallel: 2, Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a := f.claim()
	f.claim()
	f.nothing()
	f.finish(a, failure.None)
	f.claim()
	f.nothing()
}

func TestATaskIsNotAssignedBeforeItsWaveOrBeyondTheRunsLimit(t *testing.T) {
	f := newFixture(t)
	f.heartbeat(store.Worker{ID: "w", Name: "w"})
	assign := func(run, id string) error {
		return f.Do(context.Background(), "tester", func(s *engine.Tx) error {
			_, err := s.Assign(store.TaskKey{Run: run, Task: id}, "w")
			return err
		})
	}
	second := task("second")
	second.Wave = 2
	first := task("first")
	first.Wave = 1
	waves := f.submit(plan.Plan{Tasks: []plan.Task{first, second}})
	limited := f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), task("b")}})
	for run, id := range map[string]string{waves: "second", limited: "b"} {
		if err := assign(run, id); !conflict(err) {
			t.Errorf("task %s: %v", id, err)
		}
	}
	for run, id := range map[string]string{waves: "first", limited: "a"} {
		f.must(assign(run, id))
	}
}

func TestTheHighestPriorityGoesFirst(t *testing.T) {
	f := newFixture(t)
	urgent := task("b")
	urgent.Priority = 5
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), urgent}})
	if got := f.claim().Task.Task; got != "b" {
		t.Errorf("%s goes first", got)
	}
}

func TestATaskGoesOnlyToAWorkerWithItsLabels(t *testing.T) {
	f := newFixture(t)
	special := task("a")
	special.Labels = []string{"gpu", "big"}
	f.submit(plan.Plan{Tasks: []plan.Task{special}})
	f.nothing()
	if a, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Labels: []string{"gpu"}}); err == nil {
		t.Errorf("%s went to a worker with half the labels", a.Task.Task)
	}
	f.claim("big", "gpu", "more")
}

func TestAZombiesWordIsRefused(t *testing.T) {
	f := newFixture(t)
	retried := task("a")
	retried.Retries = 1
	run := f.submit(plan.Plan{Tasks: []plan.Task{retried}})
	zombie := f.claim()
	f.sweep(2 * time.Minute)
	f.sweep(10 * time.Minute)
	second := f.claim()
	_, err := f.Finish(context.Background(), engine.Finish{Attempt: zombie.Attempt.ID, Token: zombie.Attempt.Token})
	if !conflict(err) {
		t.Errorf("the zombie finished: %v", err)
	}
	_, err = f.Finish(context.Background(), engine.Finish{Attempt: second.Attempt.ID, Token: zombie.Attempt.Token})
	if !conflict(err) {
		t.Errorf("the zombie finished the other's attempt: %v", err)
	}
	f.expect(run, map[string]store.Status{"a": store.Running})
	if second.Attempt.Token <= zombie.Attempt.Token {
		t.Errorf("the token did not grow: %d, then %d", zombie.Attempt.Token, second.Attempt.Token)
	}
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: zombie.Attempt.ID, Token: zombie.Attempt.Token}})
	if err != nil || len(orders) != 1 || !orders[0].Gone {
		t.Errorf("the zombie is told %+v, %v", orders, err)
	}
}

func TestTheSameKeyGivesTheSameAnswer(t *testing.T) {
	f := newFixture(t)
	p := plan.Plan{Tasks: []plan.Task{task("a"), task("b")}}
	one, err := f.Submit(context.Background(), engine.Submission{Plan: p, Key: "k"})
	f.must(err)
	two, err := f.Submit(context.Background(), engine.Submission{Plan: p, Key: "k"})
	f.must(err)
	if one != two {
		t.Errorf("two runs: %s and %s", one, two)
	}
	first, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Key: "c"})
	f.must(err)
	again, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Key: "c"})
	f.must(err)
	if first.Attempt.ID != again.Attempt.ID {
		t.Errorf("two attempts: %s and %s", first.Attempt.ID, again.Attempt.ID)
	}
	end := engine.Finish{Attempt: first.Attempt.ID, Token: first.Attempt.Token, Key: "f"}
	said, err := f.Finish(context.Background(), end)
	f.must(err)
	repeated, err := f.Finish(context.Background(), end)
	if err != nil || said != repeated {
		t.Errorf("%+v, then %+v, %v", said, repeated, err)
	}
}

func TestATaskWithoutAnAgentUsesTheAccountOfTheDefaultAgent(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}, {ID: "b"}, {ID: "c", Argv: []string{"true"}}}})
	a := f.claim()
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.now.Add(time.Hour),
	})
	f.must(err)
	if next := f.claim(); next.Task.Task != "c" {
		t.Errorf("%s runs while claude is limited", next.Task.Task)
	}
}

func TestARateLimitPausesTheAccountAndUsesNoAttempt(t *testing.T) {
	f := newFixture(t)
	other := task("other")
	other.Agent = "codex"
	run := f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), task("b"), other}})
	a := f.claim()
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.now.Add(time.Hour),
	})
	f.must(err)
	if got := f.claim(); got.Task.Task != "other" {
		t.Errorf("%s starts in a paused lane", got.Task.Task)
	} else {
		f.finish(got, failure.None)
	}
	f.nothing()
	f.sweep(time.Hour + time.Second)
	again := f.claim()
	if again.Task.Task != "a" || again.Task.CountedAttempts != 1 || again.Attempt.Number != 2 {
		t.Errorf("after the pause: %+v", again.Task)
	}
	f.expect(run, map[string]store.Status{"a": store.Running, "b": store.Queued})
}

func TestABudgetIsReservedBeforeTheStart(t *testing.T) {
	f := newFixture(t)
	tasks := []plan.Task{task("a"), task("b"), task("c")}
	for i := range tasks {
		tasks[i].Budget.Tokens = 60
	}
	run := f.submit(plan.Plan{Budget: plan.Budget{Tokens: 100}, Tasks: tasks})
	a := f.claim()
	f.nothing()
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Progress: fleet.Progress{Spent: store.Amount{Tokens: 30}},
	})
	f.must(err)
	b := f.claim()
	f.finish(b, failure.None)
	f.finish(f.claim(), failure.None)
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s", got)
	}
}

func TestATaskThatNoBudgetAllowsFails(t *testing.T) {
	f := newFixture(t)
	dear := task("a")
	dear.Budget.Tokens = 200
	run := f.submit(plan.Plan{Budget: plan.Budget{Tokens: 100}, Tasks: []plan.Task{dear, task("b", "a"), task("c")}})
	if got := f.claim().Task.Task; got != "c" {
		t.Errorf("%s starts", got)
	}
	f.nothing()
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Cancelled})
}

func TestOnFailureStopCancelsWhatHasNotStarted(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Parallel: 2, OnFailure: plan.Stop, Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a, b := f.claim(), f.claim()
	f.finish(a, failure.Auth)
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Running, "c": store.Cancelled})
	f.finish(b, failure.None)
	if got := f.runStatus(run); got != store.Failed {
		t.Errorf("the run is %s", got)
	}
}

func TestOnFailureStopNowEndsWhatRunsToo(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Parallel: 2, OnFailure: plan.StopNow, Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a, b := f.claim(), f.claim()
	f.finish(a, failure.Auth)
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Running, "c": store.Cancelled})
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: b.Attempt.ID, Token: b.Attempt.Token}})
	if err != nil || orders[0].Stop == "" {
		t.Errorf("the worker of b is told %+v, %v", orders, err)
	}
	f.finish(b, failure.Cancelled)
	f.expect(run, map[string]store.Status{"b": store.Cancelled})
	if got := f.runStatus(run); got != store.Failed {
		t.Errorf("the run is %s", got)
	}
}

func TestATurnEndsOneAttemptAndClaimsTheNext(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), task("b", "a")}})
	a := f.claim()
	end := engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token}
	o, b, err := f.FinishAndClaim(context.Background(), end, engine.Claim{Worker: "w"})
	if err != nil || o.Status != store.Complete || b == nil || b.Task.Task != "b" {
		t.Fatalf("%+v, %+v, %v", o, b, err)
	}
	f.expect(run, map[string]store.Status{"a": store.Complete, "b": store.Running})
	if o, again, err := f.FinishAndClaim(context.Background(), end, engine.Claim{Worker: "w"}); err != nil || o.Status != store.Complete || again == nil || again.Attempt.ID != b.Attempt.ID {
		t.Errorf("a repeated word gives %+v, %v", again, err)
	}
	_, none, err := f.FinishAndClaim(context.Background(), engine.Finish{Attempt: b.Attempt.ID, Token: b.Attempt.Token}, engine.Claim{Worker: "w"})
	if err != nil || none != nil || f.runStatus(run) != store.Complete {
		t.Errorf("after the last: %+v, %v", none, err)
	}
	if _, over, err := f.FinishAndClaim(context.Background(), end, engine.Claim{Worker: "w"}); err != nil || over != nil {
		t.Errorf("a repeated word, when what it gave is over, gives %+v, %v", over, err)
	}
}

// A repeated turn must return the same result. The result of a failed attempt cannot be computed
// from the attempt's row, so the engine must store it.
func TestATurnThatEndedInAFailureIsAnsweredTheSameAgain(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.submit(plan.Plan{Parallel: 1, OnFailure: plan.Continue, Tasks: []plan.Task{task("a"), task("b")}})
	a := f.claim()
	end := engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.Denied}}
	o, next, err := f.FinishAndClaim(ctx, end, engine.Claim{Worker: "w"})
	f.must(err)
	again, same, err := f.FinishAndClaim(ctx, end, engine.Claim{Worker: "w"})
	f.must(err)
	if o.Status != store.Failed || again != o || next == nil || same == nil || same.Attempt.ID != next.Attempt.ID {
		t.Errorf("%+v with %+v, and again %+v with %+v", o, next, again, same)
	}
}

func TestATurnForAnAttemptThatHasEndedOtherwiseComesTooLate(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	a := f.claim()
	end := engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token}
	f.must(f.Release(ctx, "w", held(a)))
	if _, next, err := f.FinishAndClaim(ctx, end, engine.Claim{Worker: "w"}); !conflict(err) || next != nil {
		t.Errorf("gives %+v, %v", next, err)
	}
	b := f.claim()
	stranger := engine.Finish{Attempt: b.Attempt.ID, Token: b.Attempt.Token + 1}
	if _, next, err := f.FinishAndClaim(ctx, stranger, engine.Claim{Worker: "w"}); !conflict(err) || next != nil {
		t.Errorf("somebody else's word gives %+v, %v", next, err)
	}
}

func TestAClaimMadeAgainIsNotGivenWhatIsOver(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a, err := f.Claim(ctx, engine.Claim{Worker: "w", Key: "k"})
	f.must(err)
	again, err := f.Claim(ctx, engine.Claim{Worker: "w", Key: "k"})
	if err != nil || again.Attempt.ID != a.Attempt.ID {
		t.Errorf("%+v, %v", again, err)
	}
	f.finish(a, failure.None)
	if over, err := f.Claim(ctx, engine.Claim{Worker: "w", Key: "k"}); !errors.Is(err, engine.ErrNothing) {
		t.Errorf("%+v, %v", over, err)
	}
}

func TestACancelEndsWhatWaitsAtOnceAndWhatRunsWhenItHasEnded(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b", "a")}})
	a := f.claim()
	f.must(f.Cancel(context.Background(), engine.Target{Run: run}, "sam", "enough"))
	f.expect(run, map[string]store.Status{"a": store.Running, "b": store.Cancelled})
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token}})
	if err != nil || orders[0].Stop == "" {
		t.Errorf("the worker is told %+v, %v", orders, err)
	}
	f.finish(a, failure.None)
	f.expect(run, map[string]store.Status{"a": store.Cancelled})
	if got := f.runStatus(run); got != store.Cancelled {
		t.Errorf("the run is %s", got)
	}
	if err := f.Cancel(context.Background(), engine.Target{Run: run}, "sam", ""); !conflict(err) {
		t.Errorf("cancelled again: %v", err)
	}
}

func TestARetryBringsBackWhatTheFailureCancelled(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b", "a"), task("c", "b")}})
	f.finish(f.claim(), failure.Denied)
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Cancelled, "c": store.Cancelled})
	if err := f.Retry(context.Background(), store.TaskKey{Run: run, Task: "b"}, "sam", ""); !conflict(err) {
		t.Errorf("b is retried although a failed: %v", err)
	}
	f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "a"}, "sam", "allowed now"))
	for range 3 {
		f.finish(f.claim(), failure.None)
	}
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s", got)
	}
}

func TestAQuestionIsAnsweredByTheUserOrExpires(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a := f.claim()
	ask := engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "overwrite?", Options: []string{"yes", "no"}, Within: 30 * time.Second, Default: "no"}
	first, err := f.Ask(context.Background(), ask)
	f.must(err)
	second, err := f.Ask(context.Background(), ask)
	f.must(err)
	f.must(f.Answer(context.Background(), engine.Answer{Question: first, Text: "yes", Who: "sam"}))
	if err := f.Answer(context.Background(), engine.Answer{Question: first, Text: "no", Who: "kim"}); !conflict(err) {
		t.Errorf("answered twice: %v", err)
	}
	f.sweep(31 * time.Second)
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		one, err := r.Question(first)
		f.must(err)
		two, err := r.Question(second)
		if one.Answer != "yes" || one.By != "sam" || two.Answer != "no" || two.By != "the deadline" || !two.Closed {
			t.Errorf("%+v\n%+v", one, two)
		}
		return err
	}))
}

func TestAnAttemptPastItsDeadlineIsAskedToEndAndRetried(t *testing.T) {
	f := newFixture(t)
	slow := task("a")
	slow.Timeout, slow.Retries = 30*time.Second, 1
	run := f.submit(plan.Plan{Tasks: []plan.Task{slow}})
	a := f.claim()
	f.sweep(31 * time.Second)
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token}})
	if err != nil || orders[0].Stop != string(failure.TimedOut) {
		t.Fatalf("the worker is told %+v, %v", orders, err)
	}
	if o := f.finish(a, failure.Cancelled); o.Status != store.Queued || o.RetryAt.IsZero() {
		t.Errorf("what follows is %+v", o)
	}
	f.expect(run, map[string]store.Status{"a": store.Queued})
}
