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
	"gaffer/internal/plan"
)

func held(a engine.Assignment) []engine.HeldAttempt {
	return []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token}}
}

func (f *fixture) attempt(id string) (a store.Attempt) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		a, err = r.Attempt(id)
		return err
	}))
	return a
}

func (f *fixture) task(run, id string) (t store.Task) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		t, err = r.Task(store.TaskKey{Run: run, Task: id})
		return err
	}))
	return t
}

func TestAClaimABeatAndATurnSayHowLongTheLeaseIs(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	a, err := f.Claim(ctx, engine.Claim{Worker: "w", Key: "k"})
	f.must(err)
	f.now = f.now.Add(20 * time.Second)
	again, err := f.Claim(ctx, engine.Claim{Worker: "w", Key: "k"})
	f.must(err)
	if a.Lease != time.Minute || again.Lease != 40*time.Second {
		t.Errorf("leases of a claim and of the same 20 s later: %s, %s", a.Lease, again.Lease)
	}
	orders, err := f.Beat(ctx, store.Worker{ID: "w"}, append(held(a), engine.HeldAttempt{Attempt: "none"}))
	f.must(err)
	if orders[0].Lease != time.Minute || orders[1].Lease != 0 || !orders[1].Gone {
		t.Errorf("orders are %+v", orders)
	}
	finish := engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Key: a.Attempt.ID}
	_, first, err := f.FinishAndClaim(ctx, finish, engine.Claim{Worker: "w", Key: "next"})
	f.must(err)
	f.now = f.now.Add(2 * time.Minute)
	_, same, err := f.FinishAndClaim(ctx, finish, engine.Claim{Worker: "w", Key: "next"})
	f.must(err)
	if first.Lease != time.Minute || same.Attempt.ID != first.Attempt.ID || same.Lease != time.Millisecond {
		t.Errorf("a turn gives %s for %s, and when that is over %s for %s", first.Attempt.ID, first.Lease, same.Attempt.ID, same.Lease)
	}
}

func TestTheTaskOfAReleasedAttemptIsQueuedAtOnceAndUsesNoRetry(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a := f.claim()
	f.must(f.Release(ctx, "thief", held(a)))
	if late := held(a); true {
		late[0].Token++
		f.must(f.Release(ctx, "w", late))
	}
	if got := f.status(run, "a"); got != store.Running {
		t.Fatalf("the task is %s after others have spoken for it", got)
	}
	back := held(a)
	back[0].Now = fleet.Progress{Activity: fleet.Activity{State: "running"}, Spent: store.Amount{Tokens: 7}, Process: fleet.Process{Thread: "talk"}}
	for range 2 {
		f.must(f.Release(ctx, "w", back))
	}
	ended, left := f.attempt(a.Attempt.ID), f.task(run, "a")
	if ended.Class != failure.Released || ended.Exit != -1 || ended.Spent.Tokens != 7 || ended.Thread != "talk" {
		t.Errorf("the attempt is %+v", ended)
	}
	if left.Status != store.Queued || !left.Ready || left.CountedAttempts != 0 || left.Tries != 1 || !left.NotBefore.IsZero() {
		t.Errorf("the task is %+v", left)
	}
	if _, err := f.Finish(ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token}); !conflict(err) {
		t.Errorf("a late end: %v", err)
	}
	next := f.claim()
	if next.Attempt.Number != 2 || next.Before.ID != a.Attempt.ID || engine.Prompt(plan.Task{Prompt: "do"}, next.Before) != "do" {
		t.Errorf("the next attempt is %+v", next)
	}
	if o := f.finish(next, failure.Crashed); o.Status != store.Failed {
		t.Errorf("without retries it is %s", o.Status)
	}
}

func TestACancelledTaskIsNotQueuedAgainWhenItsAttemptIsReleased(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a := f.claim()
	f.must(f.Cancel(context.Background(), engine.Target{Run: run}, "sam", "enough"))
	f.must(f.Release(context.Background(), "w", held(a)))
	if got := f.status(run, "a"); got != store.Cancelled {
		t.Errorf("the task is %s", got)
	}
}

func TestAnAttemptIsNotLostBeforeAWholeLeaseSinceHeartbeatsCouldArrive(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Timeout: 62 * time.Minute, Retries: 1}}}})
	a := f.claim()
	since := f.now.Add(time.Hour)
	for _, c := range []struct {
		at   time.Time
		want store.Status
	}{{since, store.Running}, {since.Add(time.Minute), store.Running}, {since.Add(time.Minute + time.Second), store.Queued}} {
		f.now = c.at
		_, err := f.Sweep(context.Background(), since)
		f.must(err)
		if got := f.status(run, "a"); got != c.want {
			t.Errorf("%s after it could be heard: %s", c.at.Sub(since), got)
		}
	}
	if got := f.attempt(a.Attempt.ID); got.Class != failure.Lost {
		t.Errorf("the attempt is %s", got.Class)
	}
}

// slow is a store that starts each write much later than it was called.
type slow struct {
	store.Store
	meanwhile func()
}

func (s slow) Write(ctx context.Context, change func(*store.Tx) error) error {
	s.meanwhile()
	return s.Store.Write(context.WithoutCancel(ctx), change)
}

func TestASweepThatWaitedTooLongEndsNoAttempt(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	f.claim()
	ctx, cancel := context.WithCancel(context.Background())
	late := engine.New(slow{f.store, func() {
		f.now = f.now.Add(time.Hour) // an hour without heartbeats passes before the write starts
		cancel()
	}}, engine.Options{
		Now: func() time.Time { return f.now }, Rand: func() float64 { return 0.5 }, NewID: func() string { return "id" }, Lease: time.Minute,
	})
	if _, err := late.Sweep(ctx, f.now); !errors.Is(err, context.Canceled) {
		t.Errorf("the sweep ended with %v", err)
	}
	if got := f.status(run, "a"); got != store.Running {
		t.Errorf("the task is %s", got)
	}
}

func TestADeadlineHoldsEvenIfHeartbeatsCouldNotArrive(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Timeout: time.Minute}}}})
	a := f.claim()
	f.now = f.now.Add(time.Hour)
	for range 2 {
		_, err := f.Sweep(context.Background(), f.now)
		f.must(err)
	}
	if got := f.attempt(a.Attempt.ID); got.Status != store.Running || got.StopReason != string(failure.TimedOut) {
		t.Errorf("the attempt is %s and is to stop because of %q", got.Status, got.StopReason)
	}
}

func TestABeatKeepsWhatItDoesNotSay(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	beat := func(said store.Worker) (w store.Worker) {
		said.ID = "w"
		_, err := f.Beat(ctx, said, nil)
		f.must(err)
		f.must(f.store.Read(ctx, func(r store.Reader) (err error) {
			w, err = r.Worker("w")
			return err
		}))
		return w
	}
	if w := beat(store.Worker{Slots: 2}); !w.Created.IsZero() || w.Slots != 2 || !w.Seen.Equal(f.now) {
		t.Errorf("one without a name is %+v", w)
	}
	if n := f.kinds("worker.changed"); n != 0 {
		t.Errorf("%d events of one without a name", n)
	}
	first := beat(store.Worker{Name: "build-1", Labels: "gpu", Status: "idle", Version: "1", Meta: []byte(`{"host":"x"}`)})
	if !first.Created.Equal(f.now) || first.Slots != 2 {
		t.Errorf("one with a name is %+v", first)
	}
	f.now = f.now.Add(15 * time.Second)
	again := beat(store.Worker{Owner: "thief"})
	if !again.Seen.Equal(f.now) || again.Name != "build-1" || again.Labels != "gpu" || again.Version != "1" || again.Status != "idle" ||
		string(again.Meta) != `{"host":"x"}` || !again.StatusReported.Equal(first.StatusReported) || again.Owner != "" {
		t.Errorf("what is not said has become %+v", again)
	}
	if n := f.kinds("worker.changed"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	beat(store.Worker{Status: "running"})
	if n := f.kinds("worker.changed"); n != 2 {
		t.Errorf("%d events after a change, want 2", n)
	}
}

func TestAConversationIsNotCarriedToAnotherWorker(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Retries: 9}}}})
	for i, c := range []struct {
		worker string
		want   int64
	}{{"w", 0}, {"w", 5}, {"other", 0}} {
		a, err := f.Claim(context.Background(), engine.Claim{Worker: c.worker})
		f.must(err)
		if a.Attempt.SpentEarlier.Tokens != c.want {
			t.Errorf("attempt %d carries %d tokens", i+1, a.Attempt.SpentEarlier.Tokens)
		}
		h := held(a)
		h[0].Now = fleet.Progress{Activity: fleet.Activity{State: "running"}, Spent: store.Amount{Tokens: 5}}
		f.must(f.Release(context.Background(), c.worker, h))
	}
}

// A local run and a coordinator may use the same database. The engine of the local run must not end
// attempts that the coordinator has assigned.
func TestAnEngineOfThisMachineGivesUpNothingOfACoordinator(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	ahead := f.now.Add(10 * time.Minute) // the local engine's clock is 10 minutes ahead of the coordinator's
	ids := 0
	local := engine.New(f.store, engine.Options{
		Now: func() time.Time { return ahead }, Rand: func() float64 { return 0 }, Lease: 100 * 365 * 24 * time.Hour, Endless: true,
		NewID: func() string { ids++; return fmt.Sprint("local-", ids) },
	})
	late := task("late")
	late.Timeout = time.Minute
	f.submit(plan.Plan{Tasks: []plan.Task{task("far"), late}})
	far := f.claim()
	mine, err := local.Claim(ctx, engine.Claim{Worker: "here"})
	f.must(err)
	ahead = ahead.Add(2 * time.Minute)
	if more, err := local.Sweep(ctx, time.Time{}); err != nil || more {
		t.Errorf("%v, %v", more, err)
	}
	if a := f.attempt(far.Attempt.ID); a.Status != store.Running || a.StopReason != "" {
		t.Errorf("what a coordinator gave is %s, %q", a.Status, a.StopReason)
	}
	if a := f.attempt(mine.Attempt.ID); a.Status != store.Running || a.StopReason != string(failure.TimedOut) {
		t.Errorf("its own, past its deadline, is %s, %q", a.Status, a.StopReason)
	}
	f.sweep(2 * time.Minute)
	if got := f.attempt(far.Attempt.ID).Class; got != failure.Lost {
		t.Errorf("the coordinator's own sweep makes it %q", got)
	}
}

func TestDelayedTasksThatCannotStartDoNotBlockOtherDelayedTasks(t *testing.T) {
	f := newFixture(t)
	var tasks []plan.Task
	for i := range 120 {
		one := task(fmt.Sprintf("t%03d", i))
		one.Retries = 3
		tasks = append(tasks, one)
	}
	f.submit(plan.Plan{Parallel: 1, Tasks: tasks})
	for range tasks {
		f.finish(f.claim(), failure.APIError)
	}
	f.sweep(time.Hour) // the delays of all tasks are over, but Parallel allows only one task to be ready
	busy := f.claim()
	other := task("other")
	other.Retries = 3
	run := f.submit(plan.Plan{Tasks: []plan.Task{other}})
	f.finish(f.claim(), failure.APIError)
	f.now = f.now.Add(time.Hour)
	_, err := f.Beat(context.Background(), store.Worker{ID: busy.Attempt.Worker}, held(busy))
	f.must(err)
	sweeps := 0
	for more := true; more && sweeps < 10; sweeps++ {
		more, err = f.Sweep(context.Background(), f.now)
		f.must(err)
	}
	if sweeps == 10 {
		t.Error("a sweep finds something to do again and again")
	}
	if a := f.claim(); a.Task.Run != run {
		t.Errorf("%+v is claimed", a.Task.TaskKey)
	}
}

func TestANeedThatIsNamedTwiceIsMetOnce(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b", "a", "a")}})
	f.finish(f.claim(), failure.None)
	f.finish(f.claim(), failure.None)
	f.expect(run, map[string]store.Status{"a": store.Complete, "b": store.Complete})
}

func TestThePauseOfAnAccountIsLimitedAndNeverShortened(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	limited := func(a engine.Assignment, reset time.Time) {
		t.Helper()
		_, err := f.Finish(context.Background(), engine.Finish{
			Attempt: a.Attempt.ID, Token: a.Attempt.Token, Key: a.Attempt.ID, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: reset,
		})
		f.must(err)
	}
	a, b, c := f.claim(), f.claim(), f.claim()
	for _, step := range []struct {
		of    engine.Assignment
		reset time.Time
		want  time.Duration
	}{
		{a, time.Unix(5e11, 0), 8 * 24 * time.Hour},
		{b, f.now.Add(5 * time.Hour), 5 * time.Hour},
		{c, time.Time{}, 5 * time.Hour},
	} {
		limited(step.of, step.reset)
		var lane store.Account
		f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
			lane, err = r.Account(step.of.Task.Account)
			return err
		}))
		if got := lane.Until.Sub(f.now); got != step.want {
			t.Errorf("paused for %s, want %s", got, step.want)
		}
	}
}

func TestWhatALostAttemptHasSpentIsNotForgotten(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a := f.claim()
	h := held(a)
	h[0].Now = fleet.Progress{Activity: fleet.Activity{State: "running", Said: f.now}, Spent: store.Amount{Tokens: 5010}}
	_, err := f.Beat(context.Background(), store.Worker{ID: a.Attempt.Worker}, h)
	f.must(err)
	f.finish(a, failure.Lost)
	if got := f.attempt(a.Attempt.ID).Spent.Tokens; got != 5010 {
		t.Errorf("the attempt has spent %d", got)
	}
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		row, err := r.Run(run)
		if row.Spent.Tokens != 5010 {
			t.Errorf("the run has spent %d", row.Spent.Tokens)
		}
		return err
	}))
}
