package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// AmountOf converts a plan's budget to the type that the store uses.
func AmountOf(b plan.Budget) store.Amount {
	return store.Amount{MicroUSD: int64(math.Round(b.USD * 1e6)), Tokens: b.Tokens}
}

// Dollars returns an amount of money as the store's type. The amount of tokens is zero.
func Dollars(usd float64) store.Amount { return AmountOf(plan.Budget{USD: usd}) }

// BudgetOf converts a budget that a user has given to the type that the store uses.
func BudgetOf(c fleet.Cost) store.Amount { return AmountOf(plan.Budget{USD: c.USD, Tokens: c.Tokens}) }

// Limits are the user's limits on what the attempts of all runs together may spend. A zero amount
// means no limit.
type Limits struct {
	PeriodLimits
	// Accounts has the limits of single accounts, by the name of the account's row in the store,
	// such as "claude/work".
	Accounts map[string]PeriodLimits
}

// Removed is the amount, in millionths of a dollar, that replaces a limit after the user has
// removed it. No attempt can reach this amount. It is not zero, because the engine ignores limits
// of zero. So the engine still checks the limit, and starts the tasks that wait because of the old
// limit.
const Removed = math.MaxInt64 / 4

// budgets computes what attempts may spend, and counts what they have spent.
type budgets struct{ *txContext }

// scope is one of the limits that apply to an attempt, such as the budget of its run.
type scope struct {
	name string // name for the user, such as "the day's budget"
	// id identifies the limit, such as "run ID". For a limit of a day or month, it is the
	// [SpendingID].
	id    string
	limit store.Amount // zero means no limit
	// others is what has been spent or is reserved within this limit. It does not include what was
	// spent by the attempt to which the limit applies.
	others store.Amount
	until  time.Time // when the limit's day or month ends; zero for a limit without a period
}

// spent reports whether the limit s is reached. own is what the attempt to which the limit applies
// has spent itself. The result is false if s.limit is zero, which means no limit.
func (s scope) spent(own store.Amount) bool { return s.others.Add(own).Reaches(s.limit) }

// text returns a text for the user which says that the limit is reached, such as "the day's budget
// of $20.00 is spent".
func (s scope) text() string { return fmt.Sprintf("%s of %s is spent", s.name, s.limit.LimitText()) }

// taskScope returns the budget of a task. What the task's earlier attempts have spent counts
// against this budget.
func taskScope(t store.Task) scope {
	return scope{name: "the task's budget", id: "task " + TaskItemID(t.TaskKey), limit: t.Reserve, others: t.Spent}
}

// runScope returns the budget of a run, for an attempt at the task t. own is what the attempt
// itself has spent. If the task has its own budget for money or for tokens, the run's budget has
// reserved that amount. So the returned scope does not limit the money or the tokens a second time.
func (b *budgets) runScope(run store.Run, t store.Task, own store.Amount) (scope, error) {
	s := scope{name: "the run's budget", id: "run " + run.ID, limit: withoutBudget(t, run.Budget)}
	if !s.limit.Limits() {
		return s, nil
	}
	live, err := b.spending(runSpendingID(run.ID))
	s.others = subtractAmounts(run.Spent.Add(run.Reserved).Add(live), withoutBudget(t, own))
	return s, err
}

// withoutBudget returns the amount a without the parts that the task's own budget limits: without
// the money, the tokens, or both.
func withoutBudget(t store.Task, a store.Amount) (rest store.Amount) {
	if t.Reserve.MicroUSD == 0 {
		rest.MicroUSD = a.MicroUSD
	}
	if t.Reserve.Tokens == 0 {
		rest.Tokens = a.Tokens
	}
	return rest
}

// count adds the cost of an attempt to the sums of its day, its month and its account. If the run
// has a budget, it also adds the cost to the sum of the run's running attempts. It adds only the
// part of the cost that a.Counted does not contain yet, and then adds that part to a.Counted.
func (b *budgets) count(a *store.Attempt, t store.Task, run store.Run) error {
	more := subtractAmounts(a.Spent, a.Counted)
	if more.MicroUSD == 0 && more.Tokens == 0 {
		return nil
	}
	more = store.Amount{MicroUSD: more.MicroUSD, Tokens: more.Tokens}
	day := b.dayOf(*a)
	ids := []string{SpendingID("", day), SpendingID("", day[:7])}
	if a.Account != "" {
		account := accountOf(*a, t)
		ids = append(ids, SpendingID(account, day), SpendingID(account, day[:7]))
	}
	for _, id := range ids {
		if err := b.addSpending(id, more); err != nil {
			return err
		}
	}
	a.Counted = a.Counted.Add(more)
	if !run.Budget.Limits() {
		return nil
	}
	return b.addSpending(runSpendingID(run.ID), withoutBudget(t, more))
}

// uncountLive subtracts what an attempt has spent from the sum of its run's running attempts. It is
// called when the attempt ends, because from then on run.Spent contains the attempt's cost.
func (b *budgets) uncountLive(a store.Attempt, t store.Task, run store.Run) error {
	if !run.Budget.Limits() {
		return nil
	}
	// If this was the last running attempt of the run, delete the stored sum of the run's running
	// attempts, even if subtracting this attempt's cost would not make it zero.
	if run.Active <= 1 {
		live, err := b.spending(runSpendingID(run.ID))
		if err != nil || live == (store.Amount{}) {
			return err
		}
		b.DropItem(store.ItemKey{Kind: SpendingKind, ID: runSpendingID(run.ID)})
		return nil
	}
	return b.addSpending(runSpendingID(run.ID), withoutBudget(t, subtractAmounts(store.Amount{}, a.Counted)))
}

// applies reports whether a limit may apply to an attempt. If so, the attempt's limit must be
// computed again at each heartbeat of the attempt's worker.
func (b *budgets) applies(a store.Attempt) bool {
	limits := b.userLimits()
	return a.Limit.Limits() || limits.Day.Limits() || limits.Month.Limits() || len(limits.Accounts) > 0
}

// scopes returns all limits that apply to an attempt. a.Counted is what the attempt itself has
// spent.
func (b *budgets) scopes(a store.Attempt, t store.Task, run store.Run) ([]scope, error) {
	ofRun, err := b.runScope(run, t, a.Counted)
	if err != nil {
		return nil, err
	}
	periods, err := b.periodScopes(accountOf(a, t), b.dayOf(a), a.Counted)
	periods = slices.DeleteFunc(periods, func(s scope) bool { return s.limit.MicroUSD == Removed })
	return append([]scope{taskScope(t), ofRun}, periods...), err
}

// limitOf returns what an attempt may spend in total, for money and for tokens separately: the
// smallest amount that others have left of any limit. If they have left nothing, it is 1 (a
// millionth of a dollar, or one token). It is zero only if there is no limit.
func limitOf(scopes []scope) (limit store.Amount) {
	least := func(now, most, others int64) int64 {
		if most <= 0 {
			return now
		}
		left := max(most-others, 1)
		if now == 0 {
			return left
		}
		return min(now, left)
	}
	for _, s := range scopes {
		limit.MicroUSD = least(limit.MicroUSD, s.limit.MicroUSD, s.others.MicroUSD)
		limit.Tokens = least(limit.Tokens, s.limit.Tokens, s.others.Tokens)
	}
	return limit
}

// follow counts what a running attempt has spent, and computes the attempt's limit again. If the
// attempt has reached the limit, follow sets a.StopReason, which tells the worker to interrupt the
// agent. The caller must store a.
func (b *budgets) follow(a *store.Attempt) error {
	changed := a.Spent.MicroUSD != a.Counted.MicroUSD || a.Spent.Tokens != a.Counted.Tokens
	limited := b.applies(*a)
	if !changed && !limited {
		return nil
	}
	t, err := b.task(a.Key())
	if err != nil {
		return err
	}
	run, err := b.run(a.Run)
	if err != nil {
		return err
	}
	if err := b.count(a, t, run); err != nil || !limited {
		return err
	}
	scopes, err := b.scopes(*a, t, run)
	if err != nil {
		return err
	}
	a.Limit = limitOf(scopes)
	if changed {
		if err := b.warn(scopes, *a); err != nil {
			return err
		}
	}
	if a.StopReason != "" || !a.Counted.Reaches(a.Limit) {
		return nil
	}
	a.StopReason = string(failure.OverBudget)
	return b.attemptEvent("attempt.stopping", *a, spentScope(scopes, a.Counted))
}

// spentScope returns the text of the first limit that is reached, or "" if none is reached. own is
// what the attempt itself has spent.
func spentScope(scopes []scope, own store.Amount) string {
	for _, s := range scopes {
		if s.spent(own) {
			return s.text()
		}
	}
	return ""
}

// warnPercent is the percentage of a limit that must be spent before the user is warned.
const warnPercent = 80

// warn appends a warning event for each limit of which at least warnPercent is spent. It appends
// only one event for each limit. After the user has changed the amount of a limit, it may append
// another.
func (b *budgets) warn(scopes []scope, a store.Attempt) error {
	for _, s := range scopes {
		total := s.others.Add(a.Counted)
		part := max(percent(total.MicroUSD, s.limit.MicroUSD), percent(total.Tokens, s.limit.Tokens))
		if part < warnPercent {
			continue
		}
		key := fmt.Sprintf("%s %d %d", s.id, s.limit.MicroUSD, s.limit.Tokens)
		_, err := once(b.txContext, "budget-warning", key, func() (int64, error) {
			e := store.Event{Kind: "budget.warning", Why: fmt.Sprintf("%d %% of %s is spent: %s", part, s.name, total.Of(s.limit))}
			if s.until.IsZero() {
				e.Run, e.Task, e.Attempt = a.Run, a.Task, a.ID
			}
			row := BudgetWarning{Scope: s.id, Name: s.name, Spent: total, Limit: s.limit, Until: s.until}
			return part, b.event(e, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// BudgetWarning is the data of the event budget.warning, which is stored in the event's field Row.
type BudgetWarning struct {
	Scope string       `json:"scope"` // identifies the limit, such as "run ID" or "2026-11-18"
	Name  string       `json:"name"`  // name for the user, such as "the day's budget"
	Spent store.Amount `json:"spent"`
	Limit store.Amount `json:"limit"`
	Until time.Time    `json:"until,omitzero"` // when the limit's day or month ends; zero for a limit without a period
}

func percent(part, whole int64) int64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 100)
}

func subtractAmounts(a, b store.Amount) store.Amount {
	return store.Amount{MicroUSD: a.MicroUSD - b.MicroUSD, Tokens: a.Tokens - b.Tokens}
}
