package runquery_test

import (
	"context"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
)

func TestTheCostOfARunThatHasEndedIsReadOnce(t *testing.T) {
	s := &counted{Store: memory.New()}
	e, l, ctx := newEngine(s.Store), runquery.New(s, runquery.Options{}), context.Background()
	run, err := e.Submit(ctx, engine.Submission{Plan: many(1)})
	if err != nil {
		t.Fatal(err)
	}
	attempt := func(microUSD int64, class fleet.Class) {
		t.Helper()
		a, err := e.Claim(ctx, engine.Claim{Worker: "w"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Finish(ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: class}, Progress: fleet.Progress{Spent: store.Amount{MicroUSD: microUSD}}}); err != nil {
			t.Fatal(err)
		}
	}
	costs := func(usd float64, reads int) {
		t.Helper()
		r, err := l.Cost(ctx, fleet.CostQuery{By: fleet.CostByRun})
		if err != nil || (r.Total.USD == nil) != (usd == 0) || r.Total.USD != nil && *r.Total.USD != usd || s.all != reads {
			t.Errorf("total is %+v after %d reads, want %g after %d; %v", r.Total, s.all, usd, reads, err)
		}
	}
	costs(0, 1)
	costs(0, 2) // the run has not ended
	attempt(500_000, failure.Crashed)
	costs(0.5, 3)
	costs(0.5, 3)
	if err := e.Retry(ctx, store.TaskKey{Run: run, Task: "t0"}, "", ""); err != nil {
		t.Fatal(err)
	}
	costs(0.5, 4) // the run was continued
	attempt(250_000, "")
	costs(0.75, 5)
	costs(0.75, 5)
}
