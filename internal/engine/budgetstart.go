package engine

import (
	"errors"
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// errNoBudget means that a task cannot start because its budget or the run's budget does not allow
// it, or that a worker gets no task because a spending limit of the user is reached.
var errNoBudget = errors.New("not within the budget")

// overBudget handles a task that cannot start because it might exceed the run's budget. While other
// tasks of the run are running, the task waits: they may use less than the budget that is reserved
// for them. If none is running, the task fails. overBudget returns errNoBudget, or an error of the
// store.
func (c *claims) overBudget(t store.Task, run store.Run) error {
	if run.Active > 0 {
		if err := c.states.setReady(t, false, "the budget is reserved by others"); err != nil {
			return err
		}
		return errNoBudget
	}
	return c.failOverBudget(t, "the run's budget does not allow it")
}

// failOverBudget sets the status of a task that cannot start to failed, because a budget does not
// allow the task. It returns errNoBudget, or an error of the store.
func (c *claims) failOverBudget(t store.Task, why string) error {
	t.Outcome = string(failure.OverBudget)
	if err := c.states.setStatus(&t, store.Failed, why); err != nil {
		return err
	}
	if err := c.propagation.statusChanged(t); err != nil {
		return err
	}
	return errNoBudget
}

// reserveOf returns the part of the run's budget that is reserved for the next attempt at a task:
// what is left of the task's own budget. It is zero if the task has no budget.
func reserveOf(t store.Task) store.Amount {
	left := func(budget, spent int64) int64 {
		if budget == 0 {
			return 0
		}
		return max(budget-spent, 0)
	}
	return store.Amount{MicroUSD: left(t.Reserve.MicroUSD, t.Spent.MicroUSD), Tokens: left(t.Reserve.Tokens, t.Spent.Tokens)}
}

// withinBudget reports whether enough of a run's budget is left to reserve the amount in the
// parameter more for another attempt.
func withinBudget(run store.Run, more store.Amount) bool {
	total := run.Spent.Add(run.Reserved).Add(more)
	return (run.Budget.MicroUSD == 0 || total.MicroUSD <= run.Budget.MicroUSD) &&
		(run.Budget.Tokens == 0 || total.Tokens <= run.Budget.Tokens)
}

// costsNothing reports whether a task starts no agent, and so spends nothing.
func costsNothing(t store.Task) bool { return slices.Contains(freeAccounts(), t.Account) }

// freeAccounts returns the values that [store.Task.Account] has for tasks that start no agent.
func freeAccounts() []string { return []string{plan.CommandAgent, plan.PickAgent} }

// mayStart returns nil if the budgets of a task and its run allow another attempt. If not, it
// returns a [*BudgetError] that says which budget is too small.
func (b *budgets) mayStart(run store.Run, t store.Task) error {
	if s := taskScope(t); s.spent(store.Amount{}) {
		return &BudgetError{Run: run.ID, Task: t.Task, Limit: t.Reserve, Spent: t.Spent}
	}
	if costsNothing(t) && !t.Reserve.Limits() {
		return nil
	}
	ofRun, err := b.runScope(run, t, store.Amount{})
	if err != nil {
		return err
	}
	if ofRun.spent(store.Amount{}) || !withinBudget(run, reserveOf(t)) {
		return &BudgetError{Run: run.ID, Limit: run.Budget, Spent: run.Spent}
	}
	return nil
}

// mayStartNow reports whether the budgets of a task and its run allow another attempt.
func (b *budgets) mayStartNow(run store.Run, t store.Task) (bool, error) {
	err := b.mayStart(run, t)
	var refused *BudgetError
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// BudgetError reports that a budget does not allow another attempt.
type BudgetError struct {
	Run, Task    string // Task is empty if the run's budget is too small
	Limit, Spent store.Amount
}

func (e *BudgetError) Error() string {
	if e.Task != "" {
		return fmt.Sprintf("task %s: its budget is spent: %s", e.Task, e.Spent.Of(e.Limit))
	}
	return fmt.Sprintf("run %s: its budget does not allow another attempt: %s spent", e.Run, e.Spent.Of(e.Limit))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*BudgetError) Conflict() bool { return true }

// Hint tells the user which command continues the work with a larger budget.
func (e *BudgetError) Hint() string {
	flag := "--budget USD"
	if e.Limit.MicroUSD == 0 {
		flag = "--tokens N"
	}
	if e.Task != "" {
		return fmt.Sprintf("'gaffer retry %s/%s %s' goes on with a larger budget", fleet.ShortRun(e.Run), e.Task, flag)
	}
	return fmt.Sprintf("'gaffer resume %s %s' goes on with a larger budget", fleet.ShortRun(e.Run), flag)
}
