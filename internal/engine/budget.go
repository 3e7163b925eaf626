package engine

import (
	"errors"
	"math"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// AmountOf converts a plan's budget to the type that the store uses.
func AmountOf(b plan.Budget) store.Amount {
	return store.Amount{MicroUSD: int64(math.Round(b.USD * 1e6)), Tokens: b.Tokens}
}

// errNoBudget is returned for a task that cannot start because it might exceed the run's budget.
var errNoBudget = errors.New("not within the budget")

// overBudget handles a task that cannot start because it might exceed the run's budget. While other
// tasks of the run are running, the task waits: they may use less than the budget that is reserved
// for them. If none is running, the task fails. overBudget returns errNoBudget, or an error of the
// store.
func (c *claims) overBudget(t store.Task, run store.Run) error {
	if run.Active > 0 {
		if err := c.schedule.setReady(t, false, "the budget is reserved by others"); err != nil {
			return err
		}
		return errNoBudget
	}
	t.Outcome = string(failure.OverBudget)
	if err := c.schedule.setStatus(&t, store.Failed, "the run's budget does not allow it"); err != nil {
		return err
	}
	if err := c.propagation.statusChanged(t); err != nil {
		return err
	}
	return errNoBudget
}

func withinBudget(run store.Run, more store.Amount) bool {
	total := run.Spent.Add(run.Reserved).Add(more)
	return (run.Budget.MicroUSD == 0 || total.MicroUSD <= run.Budget.MicroUSD) &&
		(run.Budget.Tokens == 0 || total.Tokens <= run.Budget.Tokens)
}

func subtractAmounts(a, b store.Amount) store.Amount {
	return store.Amount{MicroUSD: a.MicroUSD - b.MicroUSD, Tokens: a.Tokens - b.Tokens}
}
