package workers_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/plan"
)

// limitedTo creates a token with limits and returns its identity.
func (f *fixture) limitedTo(name string, l credential.Limits) credential.Identity {
	f.t.Helper()
	book := credential.NewTokenStore(f.service.Tokens(), f.clock, rand.Reader)
	_, row, err := book.Create(f.ctx, credential.TokenSpec{Role: credential.Worker, Name: name, Limits: l})
	f.must(err)
	return row.Identity()
}

func TestSecurityALimitedTokenTakesOnlyTasksOfItsProjects(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one", Labels: []string{"gpu"}}, plan.Task{ID: "two"})
		elsewhere := f.limitedTo("elsewhere", credential.Limits{Projects: []string{"web"}})
		at := coordinator.WorkerInfo{ID: "w-x", Name: "x", Labels: []string{"project:app", "@x"}}
		_, err := f.Beat(f.ctx, elsewhere, coordinator.WorkBeat{Worker: at})
		f.limited("a beat for another project", err)
		_, err = f.Claim(f.ctx, elsewhere, coordinator.WorkClaim{Worker: "w-x", Labels: at.Labels, Key: "1"})
		f.limited("a claim of another project", err)
		_, err = f.Claim(f.ctx, elsewhere, coordinator.WorkClaim{Worker: "w-x", Labels: []string{"gpu", "@w-x"}, Key: "2"})
		if code(err) != coordinator.NoTasks {
			t.Errorf("a claim without a project: %v", err)
		}

		pool := f.limitedTo("pool", credential.Limits{Projects: []string{"app"}, Pools: []string{"gpu"}})
		here := coordinator.WorkerInfo{ID: "w-y", Name: "y", Labels: []string{"project:app", "@y", "gpu"}}
		_, err = f.Beat(f.ctx, pool, coordinator.WorkBeat{Worker: here})
		f.must(err)
		given, err := f.Claim(f.ctx, pool, coordinator.WorkClaim{Worker: "w-y", Labels: here.Labels, Key: "1"})
		f.must(err)
		if given.Work.Task.Task != "one" {
			t.Errorf("it was given %s", given.Work.Task.Task)
		}
		_, err = f.Claim(f.ctx, pool, coordinator.WorkClaim{Worker: "w-y", Labels: here.Labels, Key: "2"})
		if code(err) != coordinator.NoTasks {
			t.Errorf("a task that is of no pool: %v", err)
		}
		_, err = f.Claim(f.ctx, pool, coordinator.WorkClaim{Worker: "w-y", Labels: append(here.Labels, "prod"), Key: "3"})
		f.limited("a label of another pool", err)
	})
}

// A new token with the same name may act for the workers of the old token, but only within its own
// limits.
func TestSecurityALimitedTokenDoesNotSpeakForAttemptsBeyondItsLimits(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one"})
		f.beat(worker, "mill")
		w := f.claim("mill", "k")
		key := held(w).WorkKey
		by := f.limitedTo(worker.Name, credential.Limits{Projects: []string{"web"}})
		at := coordinator.WorkerInfo{ID: "w-mill", Name: "mill", Labels: []string{"project:web", "@mill"}}
		ctx, cancel := context.WithTimeout(f.ctx, 30*time.Second)
		defer cancel()
		for what, ask := range map[string]func() error{
			"beat": func() error {
				_, err := f.Beat(ctx, by, coordinator.WorkBeat{Worker: at, Held: []coordinator.HeldWork{held(w)}})
				return err
			},
			"ask": func() error {
				_, err := f.Ask(ctx, by, coordinator.WorkQuestion{WorkKey: key, Ref: "r", Text: "?"})
				return err
			},
			"held": func() error { _, err := f.Held(ctx, by, "w-mill"); return err },
			"log": func() error {
				_, err := f.Log(ctx, by, coordinator.LogPiece{WorkKey: key, Data: []byte("x")})
				return err
			},
			"release": func() error {
				return f.Release(ctx, by, coordinator.WorkRelease{Worker: "w-mill", Attempts: []coordinator.HeldWork{held(w)}})
			},
			"finish": func() error {
				_, err := f.Turn(ctx, by, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: key}})
				return err
			},
		} {
			f.limited(what, ask())
		}
		f.beat(worker, "mill", held(w)) // the worker still has the attempt
	})
}

func (f *fixture) limited(what string, err error) {
	f.t.Helper()
	if err == nil || code(err) != "limited" {
		f.t.Errorf("%s: %v, want a refusal that names the limits", what, err)
	}
}

func TestSecurityAWorkerIsGivenTasksOfTheAgentsThatItAllowsAlone(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.submit(plan.Task{ID: "one", Agent: "gemini", Priority: 5}, plan.Task{ID: "two", Agent: "codex"}, plan.Task{ID: "three", Agent: "command", Argv: []string{"true"}})
		f.beat(worker, "mill")
		claim := coordinator.WorkClaim{Worker: "w-mill", Labels: info("mill").Labels, Agents: []string{"claude", "codex"}, Key: "1"}
		given, err := f.Claim(f.ctx, worker, claim)
		f.must(err)
		if given.Work.Task.Task != "two" {
			t.Errorf("it was given %s", given.Work.Task.Task)
		}
		claim.Key = "2"
		next, err := f.Turn(f.ctx, worker, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: held(given.Work).WorkKey}, Claim: &claim})
		f.must(err)
		if next.Work != nil {
			t.Errorf("it was given %s when it had finished", next.Work.Task.Task)
		}
	})
}
