package workerclient_test

import (
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan"
)

func TestAWorkerOfAServerChangesAccountsAndUsesFallbacks(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one", Agent: "claude", Prompt: "do it", Fallback: []string{"codex"}})
	e := w.worker()
	w.join(e)
	claim := claimOf("k")
	claim.Accounts = []engine.WorkerAccount{{Agent: "claude", Name: "work"}, {Agent: "claude", Name: "spare", Reserve: true}}
	claim.Fallbacks = true
	a, err := e.Claim(t.Context(), claim)
	if err != nil || a.Attempt.Account != "work" || a.Attempt.Fallback != "" {
		t.Fatalf("%+v, %v", a.Attempt, err)
	}
	limited := func(a engine.Assignment) *engine.Assignment {
		t.Helper()
		f := finish(a)
		f.Ending = fleet.Ending{Class: failure.RateLimited, Summary: "429", Diff: []byte(`{"files":[{"path":"login.go"}],"changed":1}`)}
		f.Thread, f.Reset = "t1", time.Now().Add(time.Hour)
		_, next, err := e.FinishAndClaim(t.Context(), f, claim)
		if err != nil || next == nil {
			t.Fatalf("%+v, %v", next, err)
		}
		return next
	}
	second := limited(a)
	if second.Attempt.Account != "spare" || second.Before.Account != "work" || second.Before.Thread != "t1" || second.Before.Diff != nil {
		t.Errorf("continues as %+v after %+v", second.Attempt, second.Before)
	}
	third := limited(*second)
	if third.Attempt.Account != "" || third.Attempt.Fallback != "codex" || third.Before.Account != "spare" || third.Before.Fallback != "" || len(third.Before.Diff) == 0 {
		t.Errorf("continues as %+v after %+v", third.Attempt, third.Before)
	}
	if held := w.join(e); len(held) != 1 || held[0].Attempt.Fallback != "codex" {
		t.Errorf("holds %+v", held)
	}
}
