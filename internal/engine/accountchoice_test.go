package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// twoAccounts are the accounts of a worker in these tests.
var twoAccounts = []engine.WorkerAccount{{Agent: "claude", Name: "work"}, {Agent: "claude", Name: "home"}}

func (f *fixture) claimWith(worker string, accounts ...engine.WorkerAccount) *engine.Assignment {
	f.t.Helper()
	a, err := f.Claim(context.Background(), engine.Claim{Worker: worker, Accounts: accounts, Fallbacks: true})
	if errors.Is(err, engine.ErrNothing) {
		return nil
	}
	f.must(err)
	return &a
}

// limit ends an attempt because of a rate limit that ends after the given time.
func (f *fixture) limit(a *engine.Assignment, after time.Duration) {
	f.t.Helper()
	_, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.now.Add(after),
		Progress: fleet.Progress{Process: fleet.Process{Thread: "thread of " + a.Attempt.ID}},
	})
	f.must(err)
}

func (f *fixture) expectUse(a *engine.Assignment, task, fallback, account string) {
	f.t.Helper()
	if a == nil {
		f.t.Fatalf("nothing was claimed, want %s", task)
	}
	if a.Task.Task != task || a.Attempt.Fallback != fallback || a.Attempt.Account != account {
		f.t.Fatalf("%s runs with fallback %q and account %q, want %s with %q and %q", a.Task.Task, a.Attempt.Fallback, a.Attempt.Account, task, fallback, account)
	}
}

func TestAnAttemptUsesTheAccountWithTheFewestRunningAttempts(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b"), task("c"), task("d")}})
	first := f.claimWith("w", twoAccounts...)
	f.expectUse(first, "a", "", "work")
	f.expectUse(f.claimWith("w", twoAccounts...), "b", "", "home")
	f.expectUse(f.claimWith("other", twoAccounts...), "c", "", "work")
	f.expectUse(f.claimWith("w", twoAccounts...), "d", "", "home")
}

func TestAnAccountInReserveIsUsedOnlyWhileTheOthersArePaused(t *testing.T) {
	f := newFixture(t)
	list := []engine.WorkerAccount{{Agent: "claude", Name: "key", Reserve: true}, {Agent: "claude", Name: "work"}}
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a := f.claimWith("w", list...)
	f.expectUse(a, "a", "", "work")
	f.expectUse(f.claimWith("w", list...), "b", "", "work")
	f.limit(a, time.Hour)
	f.expectUse(f.claimWith("w", list...), "a", "", "key")
	f.expectUse(f.claimWith("w", list...), "c", "", "key")
}

func TestARateLimitedTaskContinuesAtOnceOnTheNextAccountInTheSameConversation(t *testing.T) {
	f := newFixture(t)
	other := task("other")
	other.Agent = "codex"
	run := f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), other}})
	a := f.claimWith("w", twoAccounts...)
	o, next, err := f.FinishAndClaim(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.now.Add(time.Hour),
		Progress: fleet.Progress{Process: fleet.Process{Thread: "t1"}, Spent: fleet.Amount{Tokens: 7}},
	}, engine.Claim{Worker: "w", Accounts: twoAccounts, Fallbacks: true})
	f.must(err)
	f.expectUse(next, "a", "", "home")
	if o.Status != store.Queued || next.Attempt.Thread != "t1" || next.Attempt.SpentEarlier.Tokens != 7 || next.Task.CountedAttempts != 1 || next.Before.Account != "work" {
		t.Errorf("continues as %+v after %+v", next.Attempt, o)
	}

	f.limit(next, 2*time.Hour)
	got := f.claimWith("w", twoAccounts...)
	f.expectUse(got, "other", "", "")
	f.finish(*got, failure.None)
	if got := f.claimWith("w", twoAccounts...); got != nil {
		t.Fatalf("%s runs while both accounts are paused", got.Task.Task)
	}
	f.sweep(time.Hour + time.Second)
	back := f.claimWith("w", twoAccounts...)
	f.expectUse(back, "a", "", "work")
	if back.Task.CountedAttempts != 1 {
		t.Errorf("%d attempts are counted", back.Task.CountedAttempts)
	}
	f.expect(run, map[string]store.Status{"a": store.Running, "other": store.Complete})
}

func TestAPausedAccountOfOneWorkerDoesNotStopAWorkerWithoutAccounts(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Parallel: 2, Tasks: []plan.Task{task("a"), task("b")}})
	f.limit(f.claimWith("w", twoAccounts[0]), time.Hour)
	if got := f.claimWith("w", twoAccounts[0]); got != nil {
		t.Fatalf("%s runs on a paused account", got.Task.Task)
	}
	got := f.claimWith("old")
	f.expectUse(got, "a", "", "")
	f.limit(got, time.Hour)
	if got := f.claimWith("old"); got != nil {
		t.Fatalf("%s runs while the program's own account is paused", got.Task.Task)
	}
}

func TestAnAccountThatTheUserAddsDuringAPauseIsUsedAtOnce(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), task("b")}})
	f.limit(f.claimWith("w", twoAccounts[0]), time.Hour)
	f.expectUse(f.claimWith("w", twoAccounts...), "a", "", "home")
}

func TestAnAccountThatTheUserHasRemovedDoesNotHoldPlacesForTasksThatCannotStart(t *testing.T) {
	f := newFixture(t)
	other := task("other")
	other.Agent = "codex"
	f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{task("a"), task("b"), other}})
	a := f.claimWith("w", twoAccounts...)
	_, next, err := f.FinishAndClaim(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.now.Add(time.Hour),
	}, engine.Claim{Worker: "w", Accounts: twoAccounts[:1], Fallbacks: true})
	f.must(err)
	f.expectUse(next, "other", "", "")
}

func withFallback(t plan.Task, fallback ...string) plan.Task {
	t.Fallback = fallback
	return t
}

func TestAFallbackContinuesWhileAllAccountsOfTheAgentArePaused(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Parallel: 1, Tasks: []plan.Task{withFallback(task("a"), "codex", "claude:haiku")}})
	a := f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "", "work")
	f.limit(a, 2*time.Hour)
	a = f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "", "home")
	f.limit(a, time.Hour)

	a = f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "codex", "")
	if a.Attempt.Thread != "" || a.Before.Thread == "" {
		t.Errorf("codex continues the conversation %q of claude", a.Attempt.Thread)
	}
	f.limit(a, 2*time.Hour)
	a = f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "claude:haiku", "work")
	f.limit(a, 30*time.Minute)
	a = f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "claude:haiku", "home")
	f.limit(a, 2*time.Hour)
	if a := f.claimWith("w", twoAccounts...); a != nil {
		t.Fatalf("runs as %+v while everything is paused", a.Attempt)
	}

	f.sweep(time.Hour + time.Second)
	a = f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "", "home") // the task's own agent is free again
	if a.Task.CountedAttempts != 1 {
		t.Errorf("%d attempts are counted", a.Task.CountedAttempts)
	}
	f.finish(*a, failure.None)
}

func TestARetryAfterAFallbackUsesTheTasksOwnAgentIfItIsFree(t *testing.T) {
	f := newFixture(t)
	one := withFallback(task("a"), "codex")
	one.Retries = 3
	f.submit(plan.Plan{Tasks: []plan.Task{one}})
	f.limit(f.claimWith("w"), time.Hour)
	a := f.claimWith("w")
	f.expectUse(a, "a", "codex", "")
	f.finish(*a, failure.VerifyFailed)
	again := f.claimWith("w")
	f.expectUse(again, "a", "codex", "")
	f.finish(*again, failure.VerifyFailed)
	f.sweep(time.Hour + time.Second)
	f.expectUse(f.claimWith("w"), "a", "", "")
}

func TestAModelOfTheSameAgentContinuesItsConversation(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withFallback(task("a"), "claude:haiku")}})
	a := f.claimWith("w")
	f.limit(a, time.Hour)
	next := f.claimWith("w")
	f.expectUse(next, "a", "claude:haiku", "")
	if next.Attempt.Thread != "thread of "+a.Attempt.ID {
		t.Errorf("continues %q", next.Attempt.Thread)
	}
}

func TestAnOlderWorkerGetsNoFallback(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withFallback(task("a"), "codex")}})
	f.limit(f.claimWith("w"), time.Hour)
	f.nothing() // the fixture's worker does not say that it knows fallbacks
	f.expectUse(f.claimWith("w"), "a", "codex", "")
}

func TestAWorkerForSomeAgentsTakesATaskAsItsFallbackOnlyWhileTheTasksAgentIsPaused(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withFallback(task("a"), "codex")}})
	onlyCodex := engine.Claim{Worker: "codex-only", Agents: []string{"codex"}, Fallbacks: true}
	if a, err := f.Claim(context.Background(), onlyCodex); !errors.Is(err, engine.ErrNothing) {
		t.Fatalf("took %s, %v", a.Task.Task, err)
	}
	f.limit(f.claimWith("w"), time.Hour)
	a, err := f.Claim(context.Background(), onlyCodex)
	f.must(err)
	f.expectUse(&a, "a", "codex", "")
}

func TestCandidatesAndCommandsHaveNoFallback(t *testing.T) {
	f := newFixture(t)
	candidate, command := withFallback(task("a"), "codex"), withFallback(plan.Task{ID: "b", Argv: []string{"true"}}, "codex")
	candidate.Candidate = "pick"
	f.submit(plan.Plan{Tasks: []plan.Task{candidate, command}})
	a := f.claimWith("w")
	if b := f.claimWith("w"); len(a.Task.Agents) > 0 || len(b.Task.Agents) > 0 {
		t.Errorf("agents %q and %q", a.Task.Agents, b.Task.Agents)
	}
}

func TestARepeatedClaimGetsTheSameAccount(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	r := engine.Claim{Worker: "w", Accounts: twoAccounts, Fallbacks: true, Key: "k"}
	first, err := f.Claim(context.Background(), r)
	f.must(err)
	r.Accounts = slices.Clone(twoAccounts[1:])
	again, err := f.Claim(context.Background(), r)
	f.must(err)
	if again.Attempt.ID != first.Attempt.ID || again.Attempt.Account != "work" {
		t.Errorf("got %+v, then %+v", first.Attempt, again.Attempt)
	}
}

func TestAnAccountWhoseLoginIsRefusedIsLeftOutWhileAnotherIsFree(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b"), task("c")}})
	a := f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "", "work")
	if o := f.finish(*a, failure.Auth); o.Status != store.Queued {
		t.Errorf("the task is %s", o.Status)
	}
	again := f.claimWith("w", twoAccounts...)
	f.expectUse(again, "a", "", "home")
	if again.Task.CountedAttempts != 1 {
		t.Errorf("%d attempts are counted", again.Task.CountedAttempts)
	}
	f.expectUse(f.claimWith("w", twoAccounts...), "b", "", "home")

	f.finish(*again, failure.Auth) // now no account is left
	f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Running, "c": store.Queued})
	c := f.claimWith("w", twoAccounts...)
	f.expectUse(c, "c", "", "home") // it fails too, so that the user sees the reason, and does not wait
	f.finish(*c, failure.Auth)
	f.expect(run, map[string]store.Status{"c": store.Failed})
}

func TestARefusedLoginWaitsForAnAccountAtItsRateLimit(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{task("a")}})
	f.limit(f.claimWith("w", twoAccounts...), 10*time.Minute)
	a := f.claimWith("w", twoAccounts...)
	f.expectUse(a, "a", "", "home")
	f.finish(*a, failure.Auth)
	if a := f.claimWith("w", twoAccounts...); a != nil {
		t.Fatalf("runs with account %s", a.Attempt.Account)
	}
	f.sweep(11 * time.Minute)
	f.expectUse(f.claimWith("w", twoAccounts...), "a", "", "work")
}

func TestARefusedLoginOfTheProgramsOwnAccountPausesNothing(t *testing.T) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{task("a"), task("b")}})
	f.finish(*f.claimWith("w"), failure.Auth)
	f.expect(run, map[string]store.Status{"a": store.Failed})
	f.expectUse(f.claimWith("w"), "b", "", "")
}
