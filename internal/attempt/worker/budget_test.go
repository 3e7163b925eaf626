package worker_test

import (
	"os"
	"strings"
	"testing"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// startBudgetTest starts a task with a budget.
func startBudgetTest(t *testing.T, like, steps string, budget plan.Budget) *steerTest {
	program := agent.Custom{Like: like, Argv: []string{testenv.Program(t), "fake-agent", "--protocol", like}}
	return startSteerTest(t, program, plan.Task{Prompt: steps, Limits: plan.Limits{Budget: budget}})
}

// overBudget waits until the task has failed because of its budget, and returns its last attempt.
func (k *steerTest) overBudget() store.Attempt {
	k.t.Helper()
	k.until(k.run, "a", store.Failed)
	all := k.attempts(k.run, "a")
	last := all[len(all)-1]
	if last.Class != failure.OverBudget {
		k.t.Fatalf("attempt %d ended with %q: %s", last.Number, last.Class, last.Summary)
	}
	return last
}

func TestAnAgentIsInterruptedWhenItHasSpentItsTokens(t *testing.T) {
	eachSteerable(t, func(t *testing.T, like string) {
		k := startBudgetTest(t, like, "fake: say begun\nfake: spend 900 200\nfake: hang", plan.Budget{Tokens: 1000})
		last := k.overBudget()
		if !strings.HasPrefix(last.Summary, "spent 1100 of 1000 tokens") || last.Thread == "" {
			t.Errorf("conversation %q: %q", last.Thread, last.Summary)
		}
		k.must(k.RetryWith(t.Context(), engine.Retrying{TaskKey: k.key(), Budget: store.Amount{Tokens: 5000}}))
		k.worker.Wake()
		k.until(k.run, "a", store.Running)
		k.logHas("There is more now")
		if next := k.attempts(k.run, "a")[1]; next.Thread != last.Thread || next.Limit.Tokens != 3900 {
			t.Errorf("it goes on in conversation %q with %+v, want %q", next.Thread, next.Limit, last.Thread)
		}
	})
}

func TestAProgramWithoutTurnsIsStoppedWhenItsBudgetIsSpent(t *testing.T) {
	t.Parallel()
	program := agent.Custom{Like: "opencode", Argv: []string{"sh", "-c", `printf '%s\n' '{"type":"step_finish","sessionID":"s","part":{"cost":0.5,"tokens":{"input":10,"output":1}}}'; exec sleep 600`}}
	k := startSteerTest(t, program, plan.Task{Prompt: "work", Limits: plan.Limits{Budget: plan.Budget{USD: 0.4}}})
	if last := k.overBudget(); !strings.HasPrefix(last.Summary, "spent $0.50 of $0.40") {
		t.Errorf("%q", last.Summary)
	}
}

func TestTheCostOfClaudeIsKnownWhileItWorks(t *testing.T) {
	t.Parallel()
	k := startBudgetTest(t, "claude", "fake: spend 10 10 0.3\nfake: spend 20 20 0.6\nfake: hang", plan.Budget{USD: 2})
	testenv.WaitFor(t, "the cost", func() (cost int64) {
		for _, a := range k.attempts(k.run, "a") {
			cost = a.Spent.MicroUSD
		}
		return cost
	}, func(cost int64) bool { return cost == 600_000 })
}

func TestAProgramThatEndsAtItsLimitIsOverItsBudget(t *testing.T) {
	t.Parallel()
	k := startBudgetTest(t, "claude", "fake: write DIR/kept kept\nfake: spend 100 10 0.00465\nfake: say never", plan.Budget{USD: 0.002})
	if last := k.overBudget(); !strings.HasPrefix(last.Summary, "spent $0.0047 of $0.0020\nReached maximum budget ($0.002)") {
		t.Errorf("%q", last.Summary)
	}
	if _, err := os.Stat(k.dir + "/kept"); err != nil {
		t.Error(err)
	}
}

func TestSuccessThatCostTooMuchIsOverTheBudget(t *testing.T) {
	t.Parallel()
	k := startBudgetTest(t, "claude", "fake: usage 100 10 0.00465\nfake: say All is done.", plan.Budget{USD: 0.002})
	if last := k.overBudget(); last.Summary != "spent $0.0047 of $0.0020\nAll is done." {
		t.Errorf("%q", last.Summary)
	}
}
