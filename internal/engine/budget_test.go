package engine_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func usd(dollars float64) store.Amount { return store.Amount{MicroUSD: int64(dollars * 1e6)} }

// budgeted returns a task with a budget in dollars.
func budgeted(id string, dollars float64) plan.Task {
	t := task(id)
	t.Budget.USD = dollars
	return t
}

// spend ends an attempt that has cost some dollars.
func (f *fixture) spend(a engine.Assignment, class failure.Class, dollars float64) engine.FinishResult {
	f.t.Helper()
	o, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: class, Summary: "I am done."}, Progress: fleet.Progress{Spent: usd(dollars)},
	})
	f.must(err)
	return o
}

// beatSpent reports what a running attempt has cost so far, and returns the engine's order.
func (f *fixture) beatSpent(a engine.Assignment, dollars float64) engine.Order {
	f.t.Helper()
	now := fleet.Progress{Activity: fleet.Activity{State: "running"}, Spent: usd(dollars)}
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Now: now}})
	f.must(err)
	return orders[0]
}

func (f *fixture) row(run, task string) (t store.Task, last store.Attempt) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		if t, err = r.Task(store.TaskKey{Run: run, Task: task}); err == nil && t.LastAttempt != "" {
			last, err = r.Attempt(t.LastAttempt)
		}
		return err
	}))
	return t, last
}

// events returns the reasons of all events of a kind.
func (f *fixture) events(kind string) (list []string) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		all, err := r.Events(0, 10_000)
		for _, e := range all {
			if e.Kind == kind {
				list = append(list, e.Why)
			}
		}
		return err
	}))
	return list
}

func TestAnAttemptMaySpendTheSmallestPartThatIsLeft(t *testing.T) {
	f := newFixture(t)
	f.limits.Day, f.limits.Month = usd(9), usd(8)
	f.submit(plan.Plan{Budget: plan.Budget{USD: 10}, Tasks: []plan.Task{budgeted("a", 3), task("b"), task("c")}})
	a := f.claim()
	if a.Attempt.Limit != usd(3) {
		t.Errorf("the first may spend %+v", a.Attempt.Limit)
	}
	if b := f.claim(); b.Attempt.Limit != usd(7) { // $3 of the run's budget are reserved
		t.Errorf("the second may spend %+v", b.Attempt.Limit)
	}
	f.beatSpent(a, 2)
	if c := f.claim(); c.Attempt.Limit != usd(6) { // of the month, $2 are spent
		t.Errorf("the third may spend %+v", c.Attempt.Limit)
	}
}

func TestWithoutABudgetThereIsNoLimit(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a := f.claim()
	if a.Attempt.Limit != (store.Amount{}) || f.beatSpent(a, 1000).Limit != (store.Amount{}) {
		t.Errorf("it may spend %+v", a.Attempt.Limit)
	}
	if o := f.spend(a, failure.None, 1000); o.Status != store.Complete {
		t.Errorf("the task is %s", o.Status)
	}
}

func TestATaskThatSpentMoreThanItsBudgetIsNotDone(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 0.002)}})
	if o := f.spend(f.claim(), failure.None, 0.00465); o.Status != store.Failed {
		t.Errorf("the task is %s", o.Status)
	}
	row, last := f.row(run, "a")
	if row.Outcome != "budget" || last.Summary != "spent $0.0047 of $0.0020\nI am done." {
		t.Errorf("%s: %q", row.Outcome, last.Summary)
	}
}

func TestATaskThatSpentItsWholeBudgetIsDone(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 2)}})
	if o := f.spend(f.claim(), failure.None, 2); o.Status != store.Complete {
		t.Errorf("the task is %s", o.Status)
	}
}

func TestALaterAttemptMaySpendWhatTheEarlierOnesHaveLeft(t *testing.T) {
	f := newFixture(t)
	one := budgeted("a", 3)
	one.Retries = 5
	run := f.submit(plan.Plan{Tasks: []plan.Task{one}})
	f.spend(f.claim(), failure.VerifyFailed, 2)
	again := f.claim()
	if again.Attempt.Limit != usd(1) {
		t.Errorf("the second attempt may spend %+v", again.Attempt.Limit)
	}
	f.spend(again, failure.VerifyFailed, 1)
	f.nothing()
	if row, _ := f.row(run, "a"); row.Status != store.Failed || row.Outcome != "budget" {
		t.Errorf("the task is %s: %s", row.Status, row.Outcome)
	}
}

func TestAnAgentAtItsLimitIsInterrupted(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 2)}})
	a := f.claim()
	if o := f.beatSpent(a, 1.9); o.Stop != "" || o.Limit != usd(2) {
		t.Errorf("below its limit: %+v", o)
	}
	if o := f.beatSpent(a, 2.1); o.Stop != "budget" || !o.Interrupt {
		t.Errorf("at its limit: %+v", o)
	}
	if o := f.spend(a, failure.Interrupted, 2.1); o.Status != store.Failed {
		t.Errorf("the task is %s", o.Status)
	}
	if row, _ := f.row(run, "a"); row.Outcome != "budget" {
		t.Errorf("the outcome is %s", row.Outcome)
	}
}

func TestWhatOthersSpendLowersTheLimitOfARunningAttempt(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Budget: plan.Budget{USD: 10}, Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a, b := f.claim(), f.claim()
	f.beatSpent(a, 4)
	if o := f.beatSpent(b, 5); o.Limit != usd(6) || o.Stop != "" {
		t.Errorf("b: %+v", o)
	}
	if o := f.beatSpent(a, 5); o.Limit != usd(5) || o.Stop != "budget" {
		t.Errorf("a: %+v", o)
	}
	f.spend(a, failure.Interrupted, 5)
	if o := f.beatSpent(b, 5); o.Stop != "budget" {
		t.Errorf("b after a has ended: %+v", o)
	}
	f.nothing()
}

func TestTheDaysLimitKeepsTasksWaitingUntilMidnight(t *testing.T) {
	f := newFixture(t)
	f.limits.Day = usd(20)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b"), {ID: "c", Argv: []string{"true"}}}})
	f.spend(f.claim(), failure.None, 20)
	if c := f.claim(); c.Task.Task != "c" { // a command costs nothing
		t.Errorf("%s starts", c.Task.Task)
	} else {
		f.finish(c, failure.None)
	}
	f.nothing()
	f.expect(run, map[string]store.Status{"a": store.Complete, "b": store.Queued})
	var lane store.Account
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		all, err := r.Accounts()
		lane = all[0]
		return err
	}))
	want := store.Account{Name: "budget:day", Until: time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC), Reason: "the day's budget of $20.00 is spent"}
	if !reflect.DeepEqual(lane, want) {
		t.Errorf("the lane is %+v, want %+v", lane, want)
	}
	f.nothing()
	if got := f.events("lane.paused"); len(got) != 1 {
		t.Errorf("the lane was paused %d times", len(got))
	}
	f.sweep(12 * time.Hour)
	if got := f.claim(); got.Task.Task != "b" || got.Attempt.Limit != usd(20) {
		t.Errorf("%s starts with %+v", got.Task.Task, got.Attempt.Limit)
	}
}

func TestAHigherLimitOfTheDayHoldsAtOnce(t *testing.T) {
	f := newFixture(t)
	f.limits.Day = usd(1)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	f.spend(f.claim(), failure.None, 1)
	f.nothing()
	f.limits.Day = usd(3)
	if a := f.claim(); a.Attempt.Limit != usd(2) {
		t.Errorf("it may spend %+v", a.Attempt.Limit)
	}
	if got := f.events("lane.open"); len(got) != 1 {
		t.Errorf("the lane was opened %d times", len(got))
	}
}

func TestATaskThatWasStoppedAtTheDaysLimitGoesOnTheNextDay(t *testing.T) {
	f := newFixture(t)
	f.limits.Day = usd(1)
	run := f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 5)}})
	a := f.claim()
	if o := f.beatSpent(a, 1.2); o.Stop != "budget" {
		t.Errorf("%+v", o)
	}
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.Interrupted}, Progress: fleet.Progress{Process: fleet.Process{Thread: "t1"}},
	})
	f.must(err)
	f.nothing()
	if row, _ := f.row(run, "a"); row.Status != store.Queued || row.CountedAttempts != 0 {
		t.Errorf("the task is %s after %d counted attempts", row.Status, row.CountedAttempts)
	}
	f.sweep(12 * time.Hour)
	again := f.claim()
	if again.Attempt.Thread != "t1" || again.Attempt.Limit != usd(1) {
		t.Errorf("it goes on with %q and may spend %+v", again.Attempt.Thread, again.Attempt.Limit)
	}
}

func TestTheLimitsOfDaysHoldInTheUsersTimeZone(t *testing.T) {
	f := newFixture(t)
	east := time.FixedZone("east", 13*60*60) // noon UTC is one o'clock in the morning of the next day
	e := engine.New(f.store, engine.Options{
		Now: func() time.Time { return f.now }, Rand: func() float64 { return 0 }, NewID: func() string { return "x" + f.now.String() },
		Limits: func() engine.Limits { return engine.Limits{PeriodLimits: engine.PeriodLimits{Day: usd(1)}} }, Zone: east,
	})
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	a, err := e.Claim(context.Background(), engine.Claim{Worker: "w"})
	f.must(err)
	if a.Attempt.Day != "2026-02-02" {
		t.Errorf("the attempt belongs to %s", a.Attempt.Day)
	}
}

func TestTheLimitsOfAnAccountHoldForItsAttemptsAlone(t *testing.T) {
	f := newFixture(t)
	f.limits.Accounts = map[string]engine.PeriodLimits{"claude/work": {Day: usd(1)}}
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	if a := f.claim(); a.Attempt.Limit != (store.Amount{}) {
		t.Errorf("without an account, it may spend %+v", a.Attempt.Limit)
	}
}

func TestTheUserIsWarnedOnceOfEachLimit(t *testing.T) {
	f := newFixture(t)
	f.limits.Day = usd(10)
	f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 10)}})
	a := f.claim()
	f.beatSpent(a, 7.9)
	f.beatSpent(a, 8.1)
	f.beatSpent(a, 8.2)
	f.limits.Day = usd(9)
	f.beatSpent(a, 8.3)
	want := "81 % of the task's budget is spent: $8.10 of $10.00; 81 % of the day's budget is spent: $8.10 of $10.00; 92 % of the day's budget is spent: $8.30 of $9.00"
	if got := strings.Join(f.events("budget.warning"), "; "); got != want {
		t.Errorf("warned of %s", got)
	}
}

func TestARetryWithMoreContinuesTheConversation(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 2), task("b", "a")}})
	a := f.claim()
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.OverBudget},
		Progress: fleet.Progress{Spent: usd(2.5), Process: fleet.Process{Thread: "t1"}},
	})
	f.must(err)
	key := store.TaskKey{Run: run, Task: "a"}
	refused := &engine.BudgetError{}
	if err := f.Retry(context.Background(), key, "me", "again"); !errors.As(err, &refused) || !strings.Contains(refused.Hint(), "gaffer retry "+run+"/a --budget") {
		t.Errorf("a retry without more: %v", err)
	}
	if err := f.RetryWith(context.Background(), engine.Retrying{TaskKey: key, Budget: usd(2.5)}); !errors.As(err, &refused) {
		t.Errorf("a retry with what it has spent: %v", err)
	}
	f.must(f.RetryWith(context.Background(), engine.Retrying{TaskKey: key, Budget: usd(6)}))
	again := f.claim()
	if again.Attempt.Limit != usd(3.5) || again.Attempt.Thread != "t1" {
		t.Errorf("it may spend %+v and continues %q", again.Attempt.Limit, again.Attempt.Thread)
	}
	f.expect(run, map[string]store.Status{"b": store.Queued})
}

func TestARunGoesOnWithALargerBudget(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Budget: plan.Budget{USD: 2}, Tasks: []plan.Task{task("a"), task("b"), task("c", "b"), task("d")}})
	a := f.claim()
	b := f.claim()
	f.spend(a, failure.Interrupted, 0.5)
	f.beatSpent(b, 1.7)
	f.spend(b, failure.Interrupted, 1.7)
	f.nothing()
	f.expect(run, map[string]store.Status{"a": store.Cancelled, "b": store.Failed, "c": store.Cancelled, "d": store.Failed})
	refused := &engine.BudgetError{}
	if err := f.RaiseBudget(context.Background(), engine.Raise{Run: run, Budget: usd(2.1)}); !errors.As(err, &refused) {
		t.Errorf("with less than it has spent: %v", err)
	}
	f.must(f.RaiseBudget(context.Background(), engine.Raise{Run: run, Budget: usd(5)}))
	f.expect(run, map[string]store.Status{"a": store.Cancelled, "b": store.Queued, "c": store.Queued, "d": store.Queued})
	if got := f.claim(); got.Attempt.Limit != usd(2.8) {
		t.Errorf("it may spend %+v", got.Attempt.Limit)
	}
}

func TestAMessageDoesNotContinueATaskWhoseBudgetIsSpent(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 1)}})
	f.spend(f.claim(), failure.None, 1.5)
	_, err := f.Send(context.Background(), fleet.Message{Run: run, Task: "a", Text: "go on"})
	refused := &engine.BudgetError{}
	if !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}

func TestALostAttemptKeepsWhatItHasReported(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{budgeted("a", 5)}})
	f.beatSpent(f.claim(), 2)
	f.sweep(time.Hour)
	f.sweep(time.Hour)
	if again := f.claim(); again.Attempt.Limit != usd(3) {
		t.Errorf("the next attempt may spend %+v", again.Attempt.Limit)
	}
}

func TestAnAccountWhoseBudgetIsSpentIsLeftOutUntilTheNextDay(t *testing.T) {
	f := newFixture(t)
	f.limits.Accounts = map[string]engine.PeriodLimits{"claude/work": {Day: usd(1)}}
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	claim := func() engine.Assignment {
		t.Helper()
		a, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Accounts: []engine.WorkerAccount{{Agent: "claude", Name: "work"}, {Agent: "claude", Name: "spare"}}})
		f.must(err)
		return a
	}
	a := claim()
	if a.Attempt.Account != "work" || a.Attempt.Limit != usd(1) {
		t.Fatalf("the first attempt uses %q, and may spend %+v", a.Attempt.Account, a.Attempt.Limit)
	}
	f.spend(a, failure.RateLimited, 1)
	if b := claim(); b.Attempt.Account != "spare" || b.Attempt.Limit.Limits() {
		t.Errorf("the second attempt uses %q, and may spend %+v", b.Attempt.Account, b.Attempt.Limit)
	}
}

func TestAnAccountWhoseLimitIsRaisedIsUsedAgain(t *testing.T) {
	for name, limits := range map[string]map[string]engine.PeriodLimits{
		"a higher limit":  {"claude/work": {Day: usd(3)}},
		"a removed limit": {"claude/work": {Day: store.Amount{MicroUSD: engine.Removed}}},
	} {
		f := newFixture(t)
		f.limits.Accounts = map[string]engine.PeriodLimits{"claude/work": {Day: usd(1)}}
		f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
		claim := engine.Claim{Worker: "w", Accounts: []engine.WorkerAccount{{Agent: "claude", Name: "work"}}}
		a, err := f.Claim(context.Background(), claim)
		f.must(err)
		f.spend(a, failure.None, 1)
		if b, err := f.Claim(context.Background(), claim); !errors.Is(err, engine.ErrNothing) {
			t.Fatalf("%s: %s starts although the limit is reached: %v", name, b.Task.Task, err)
		}
		f.limits.Accounts = limits
		f.sweep(time.Second)
		if b, err := f.Claim(context.Background(), claim); err != nil || b.Attempt.Account != "work" {
			t.Errorf("%s: %+v, %v", name, b.Attempt.Account, err)
		}
		if got := f.events("lane.open"); len(got) != 1 {
			t.Errorf("%s: the account was opened %d times", name, len(got))
		}
	}
}

func TestALimitOfTheDayDoesNotShortenALongerPauseOfAnAccount(t *testing.T) {
	f := newFixture(t)
	f.limits.Accounts = map[string]engine.PeriodLimits{"claude/work": {Day: usd(1)}}
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	claim := engine.Claim{Worker: "w", Accounts: []engine.WorkerAccount{{Agent: "claude", Name: "work"}}}
	a, err := f.Claim(context.Background(), claim)
	f.must(err)
	f.beatSpent(a, 1)
	end := f.now.Add(72 * time.Hour)
	_, err = f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Progress: fleet.Progress{Spent: usd(1)}, Reset: end,
	})
	f.must(err)
	_, err = f.Claim(context.Background(), claim)
	if !errors.Is(err, engine.ErrNothing) {
		t.Fatal(err)
	}
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		account, err := r.Account("claude/work")
		if !account.Until.Equal(end) || account.Reason != string(failure.RateLimited) {
			t.Errorf("the account is paused until %s: %s", account.Until, account.Reason)
		}
		return err
	}))
}
