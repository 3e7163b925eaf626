package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

// Dollars returns an amount of money.
func Dollars(usd float64) store.Amount { return AmountOf(plan.Budget{USD: usd}) }

// BudgetOf converts a budget that a user has given to the type that the store uses.
func BudgetOf(c fleet.Cost) store.Amount { return AmountOf(plan.Budget{USD: c.USD, Tokens: c.Tokens}) }

// Limits are the user's limits of what attempts of all runs may spend. A zero amount means no limit.
type Limits struct {
	PeriodLimits
	// Accounts has the limits of single accounts, by the name of the account's row in the store, such
	// as "claude/work".
	Accounts map[string]PeriodLimits
}

// Removed is a limit that no attempt reaches. It stands for a limit that the user has removed: the
// engine lets the tasks start that wait because of the old one.
const Removed = math.MaxInt64 / 4

// PeriodLimits limit what may be spent in a day and in a month. An attempt belongs to the day on
// which it started.
type PeriodLimits struct{ Day, Month store.Amount }

// BudgetLane is the prefix of the names of accounts that are paused because a limit of the user is
// reached. See [fleet.Lane].
const BudgetLane = fleet.BudgetLane

// SpendingKind is the kind of store items that hold what attempts have spent: in a day, in a month,
// and in a run that has a budget. [SpendingID] returns the id of the item of a day or month.
const SpendingKind = "spending"

// Spending is the data of an item of kind [SpendingKind].
type Spending struct {
	Spent store.Amount `json:"spent"`
}

// SpendingID returns the id of the item that holds what was spent in a period. The period is a day
// such as 2026-11-18, or a month such as 2026-11. The account is the name of an account's row, or
// empty for the sum of all accounts.
func SpendingID(account, period string) string {
	if account == "" {
		return period
	}
	return account + " " + period
}

// runSpendingID is the id of the item that holds what the running attempts of a run have spent, apart
// from those whose tasks have a budget: that is reserved anyway.
func runSpendingID(run string) string { return "run " + run }

// DayOf returns the day of a time, such as 2026-11-18. Its first seven characters are the month.
func DayOf(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

// budgets computes what attempts may spend, and counts what they have spent.
type budgets struct{ *txContext }

func (b *budgets) zone() *time.Location { return cmp.Or(b.opts.Zone, time.Local) }

// userLimits returns the user's limits of days and months.
func (b *budgets) userLimits() Limits {
	if b.opts.Limits == nil {
		return Limits{}
	}
	return b.opts.Limits()
}

// scope is one of the limits that apply to an attempt.
type scope struct {
	name  string       // such as "the day's budget"
	id    string       // identifies the limit in warnings
	limit store.Amount // zero means no limit
	// others is what has been spent or is reserved in this scope, without what the attempt itself has
	// spent.
	others store.Amount
	until  time.Time // when the limit starts anew; zero if it does not
}

// spent reports whether nothing of the scope's limit is left. own is what the attempt has spent.
func (s scope) spent(own store.Amount) bool { return s.others.Add(own).Reaches(s.limit) }

// text says that the limit is reached, such as "the day's budget of $20.00 is spent".
func (s scope) text() string { return fmt.Sprintf("%s of %s is spent", s.name, s.limit.LimitText()) }

// taskScope is the budget of a task. What its earlier attempts have spent is gone.
func taskScope(t store.Task) scope {
	return scope{name: "the task's budget", id: "task " + TaskItemID(t.TaskKey), limit: t.Reserve, others: t.Spent}
}

// runScope is the budget of a run. own is what the attempt itself has spent. Where the task has a
// budget, that part is reserved for it, and the run's budget needs no further check.
func (b *budgets) runScope(run store.Run, t store.Task, own store.Amount) (scope, error) {
	s := scope{name: "the run's budget", id: "run " + run.ID, limit: withoutBudget(t, run.Budget)}
	if !s.limit.Limits() {
		return s, nil
	}
	live, err := b.spending(runSpendingID(run.ID))
	s.others = subtractAmounts(run.Spent.Add(run.Reserved).Add(live), withoutBudget(t, own))
	return s, err
}

// withoutBudget returns the parts of an amount, money and tokens, that the task's budget does not
// limit.
func withoutBudget(t store.Task, a store.Amount) (rest store.Amount) {
	if t.Reserve.MicroUSD == 0 {
		rest.MicroUSD = a.MicroUSD
	}
	if t.Reserve.Tokens == 0 {
		rest.Tokens = a.Tokens
	}
	return rest
}

// periodScopes returns the user's limits for a day and its month, and those of an account. own is
// what the attempt itself has spent of it.
func (b *budgets) periodScopes(account, day string, own store.Amount) (list []scope, err error) {
	limits := b.userLimits()
	add := func(account, period, name string, limit store.Amount, until time.Time) error {
		if !limit.Limits() {
			return nil
		}
		spent, err := b.spending(SpendingID(account, period))
		list = append(list, scope{name: name, id: SpendingID(account, period), limit: limit, others: subtractAmounts(spent, own), until: until})
		return err
	}
	start, err := time.ParseInLocation(time.DateOnly, day, b.zone())
	if err != nil {
		return nil, fmt.Errorf("day %s: %w", day, err)
	}
	nextDay := time.Date(start.Year(), start.Month(), start.Day()+1, 0, 0, 0, 0, b.zone())
	nextMonth := time.Date(start.Year(), start.Month()+1, 1, 0, 0, 0, 0, b.zone())
	of := limits.Accounts[account]
	err = errors.Join(
		add("", day, "the day's budget", limits.Day, nextDay),
		add("", day[:7], "the month's budget", limits.Month, nextMonth),
		add(account, day, "the day's budget for "+account, of.Day, nextDay),
		add(account, day[:7], "the month's budget for "+account, of.Month, nextMonth),
	)
	return list, err
}

// spending returns a sum of what attempts have spent. A sum that does not exist is zero.
func (b *budgets) spending(id string) (store.Amount, error) { return spendingOf(b.Tx, id) }

func spendingOf(r ItemReader, id string) (store.Amount, error) {
	item, err := r.Item(store.ItemKey{Kind: SpendingKind, ID: id})
	if errors.Is(err, store.ErrNotFound) {
		return store.Amount{}, nil
	}
	if err != nil {
		return store.Amount{}, err
	}
	var s Spending
	if err := json.Unmarshal(item.Data, &s); err != nil {
		return s.Spent, fmt.Errorf("spending %s: %w", id, err)
	}
	return s.Spent, nil
}

func (b *budgets) setSpending(id string, spent store.Amount) error {
	data, err := json.Marshal(Spending{Spent: store.Amount{MicroUSD: max(spent.MicroUSD, 0), Tokens: max(spent.Tokens, 0)}})
	if err != nil {
		return fmt.Errorf("spending %s: %w", id, err)
	}
	b.PutItem(store.Item{ItemKey: store.ItemKey{Kind: SpendingKind, ID: id}, Data: data, Made: b.now})
	return nil
}

// addSpending adds to a sum, or does nothing if there is nothing to add.
func (b *budgets) addSpending(id string, more store.Amount) error {
	if more.MicroUSD == 0 && more.Tokens == 0 {
		return nil
	}
	spent, err := b.spending(id)
	if err != nil {
		return err
	}
	return b.setSpending(id, spent.Add(more))
}

// ItemReader returns store items, in a transaction or in a read-only snapshot.
type ItemReader interface {
	Item(key store.ItemKey) (store.Item, error)
}

// CostLimits returns the user's limits for the day and the month of a time, and what was spent of
// them.
func CostLimits(r ItemReader, limits Limits, now time.Time, zone *time.Location) (list []fleet.CostLimit, err error) {
	day := DayOf(now, zone)
	start := now.In(zone)
	nextDay := time.Date(start.Year(), start.Month(), start.Day()+1, 0, 0, 0, 0, zone)
	nextMonth := time.Date(start.Year(), start.Month()+1, 1, 0, 0, 0, 0, zone)
	add := func(account, period, key string, limit store.Amount, until time.Time) error {
		if !limit.Limits() || limit.MicroUSD == Removed {
			return nil
		}
		spent, err := spendingOf(r, SpendingID(account, key))
		left := subtractAmounts(limit, spent)
		list = append(list, fleet.CostLimit{
			Period: period, Key: key, Account: account, Spent: costOf(spent), Limit: costOf(limit), Until: until,
			Left: costOf(store.Amount{MicroUSD: max(left.MicroUSD, 0), Tokens: max(left.Tokens, 0)}),
		})
		return err
	}
	err = errors.Join(add("", "day", day, limits.Day, nextDay), add("", "month", day[:7], limits.Month, nextMonth))
	for _, account := range slices.Sorted(maps.Keys(limits.Accounts)) {
		of := limits.Accounts[account]
		err = errors.Join(err, add(account, "day", day, of.Day, nextDay), add(account, "month", day[:7], of.Month, nextMonth))
	}
	return list, err
}

func costOf(a store.Amount) fleet.Cost { return fleet.Cost{USD: a.USD(), Tokens: a.Tokens} }

// dayOf returns the day to which the cost of an attempt belongs. An older version has not stored it.
func (b *budgets) dayOf(a store.Attempt) string { return cmp.Or(a.Day, DayOf(a.Started, b.zone())) }

// count adds what an attempt has spent, and was not counted yet, to the sums of its day, its month,
// its account and its run.
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

// uncountLive removes what an attempt has spent from the sum of its run's running attempts. It is
// called when the attempt ends, and its cost becomes a part of the run's Spent.
func (b *budgets) uncountLive(a store.Attempt, t store.Task, run store.Run) error {
	if !run.Budget.Limits() {
		return nil
	}
	if run.Active <= 1 { // this was the last running attempt: remove what others may have left
		live, err := b.spending(runSpendingID(run.ID))
		if err != nil || live == (store.Amount{}) {
			return err
		}
		b.DropItem(store.ItemKey{Kind: SpendingKind, ID: runSpendingID(run.ID)})
		return nil
	}
	return b.addSpending(runSpendingID(run.ID), withoutBudget(t, subtractAmounts(store.Amount{}, a.Counted)))
}

// applies reports whether a limit may apply to an attempt, so that it must be computed again while
// the attempt runs.
func (b *budgets) applies(a store.Attempt) bool {
	limits := b.userLimits()
	return a.Limit.Limits() || limits.Day.Limits() || limits.Month.Limits() || len(limits.Accounts) > 0
}

// scopes returns all limits that apply to an attempt. a.Counted is what the attempt itself has spent.
func (b *budgets) scopes(a store.Attempt, t store.Task, run store.Run) ([]scope, error) {
	ofRun, err := b.runScope(run, t, a.Counted)
	if err != nil {
		return nil, err
	}
	periods, err := b.periodScopes(accountOf(a, t), b.dayOf(a), a.Counted)
	periods = slices.DeleteFunc(periods, func(s scope) bool { return s.limit.MicroUSD == Removed })
	return append([]scope{taskScope(t), ofRun}, periods...), err
}

// limitOf returns what an attempt may spend: the smallest part that is left of all limits. It is at
// least the smallest possible amount, because zero means no limit.
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

// follow counts what a running attempt has spent, computes again what it may spend, and asks its
// worker to interrupt the agent if that is reached.
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

// spentScope returns a text about the first scope of which nothing is left, or "" if there is none.
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

// warn appends an event for each limit of which most is spent. A limit gets one event, and another
// one if it is changed.
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

// BudgetWarning is what the event budget.warning stores as its Row.
type BudgetWarning struct {
	Scope string       `json:"scope"` // identifies the limit
	Name  string       `json:"name"`  // such as "the day's budget"
	Spent store.Amount `json:"spent"`
	Limit store.Amount `json:"limit"`
	Until time.Time    `json:"until,omitzero"` // when the limit starts anew; zero if it does not
}

func percent(part, whole int64) int64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int64(float64(part) / float64(whole) * 100)
}

// errNoBudget is returned for a task that cannot start because a budget does not allow it.
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
	return c.failOverBudget(t, "the run's budget does not allow it")
}

// failOverBudget fails a task that has not started. It returns errNoBudget, or an error of the store.
func (c *claims) failOverBudget(t store.Task, why string) error {
	t.Outcome = string(failure.OverBudget)
	if err := c.schedule.setStatus(&t, store.Failed, why); err != nil {
		return err
	}
	if err := c.propagation.statusChanged(t); err != nil {
		return err
	}
	return errNoBudget
}

// reserveOf returns the part of the run's budget that is reserved for the next attempt at a task: what
// its earlier attempts have left of the task's budget.
func reserveOf(t store.Task) store.Amount {
	left := func(budget, spent int64) int64 {
		if budget == 0 {
			return 0
		}
		return max(budget-spent, 0)
	}
	return store.Amount{MicroUSD: left(t.Reserve.MicroUSD, t.Spent.MicroUSD), Tokens: left(t.Reserve.Tokens, t.Spent.Tokens)}
}

// withinBudget reports whether a run's budget allows an attempt for which the amount more is reserved.
func withinBudget(run store.Run, more store.Amount) bool {
	total := run.Spent.Add(run.Reserved).Add(more)
	return (run.Budget.MicroUSD == 0 || total.MicroUSD <= run.Budget.MicroUSD) &&
		(run.Budget.Tokens == 0 || total.Tokens <= run.Budget.Tokens)
}

// costsNothing reports whether a task starts no agent. No budget keeps it from starting.
func costsNothing(t store.Task) bool { return slices.Contains(freeAccounts(), t.Account) }

// freeAccounts returns the values of [store.Task.Account] of tasks that start no agent.
func freeAccounts() []string { return []string{plan.CommandAgent, plan.PickAgent} }

// mayStart returns nil if the budgets of a task and its run allow another attempt. If not, it returns
// a [*BudgetError] that says which budget is too small.
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
	Run, Task    string // Task is empty if the budget is the run's
	Limit, Spent store.Amount
}

func (e *BudgetError) Error() string {
	if e.Task != "" {
		return fmt.Sprintf("task %s: its budget is spent: %s", e.Task, e.Spent.Of(e.Limit))
	}
	return fmt.Sprintf("run %s: its budget does not allow another attempt: %s spent", e.Run, e.Spent.Of(e.Limit))
}

// Conflict marks the error as a conflict with the current state of the store.
func (*BudgetError) Conflict() bool { return true }

// Hint returns the command that allows more.
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

// holdForUserLimits reports whether a limit of the user for a day or a month is reached, so that no
// attempt may start now. It pauses the limit's lane, which all views show, or opens it again if the
// user has raised the limit.
func (b *budgets) holdForUserLimits() (held bool, err error) {
	limits := b.userLimits()
	if !limits.Day.Limits() && !limits.Month.Limits() {
		return false, nil
	}
	day := DayOf(b.now, b.zone())
	scopes, err := b.periodScopes("", day, store.Amount{})
	if err != nil {
		return false, err
	}
	for _, s := range scopes {
		name := BudgetLane + "day"
		if s.id == day[:7] {
			name = BudgetLane + "month"
		}
		spent := s.spent(store.Amount{})
		held = held || spent
		if err := b.setLane(name, s, spent); err != nil {
			return false, err
		}
	}
	return held, nil
}

// checkLanes opens the lane of a limit that the user has raised. The event wakes the workers. It
// returns 0, because nothing is left to do.
func (b *budgets) checkLanes() (int, error) {
	_, err := b.holdForUserLimits()
	return 0, err
}

// setLane pauses the lane with a name until the scope's period ends, or opens it.
func (b *budgets) setLane(name string, s scope, paused bool) error {
	was, err := b.Account(name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	lane := store.Account{Name: name}
	kind, why := "lane.open", ""
	if paused {
		lane.Until, lane.Reason = s.until.UTC(), s.text()
		kind, why = "lane.paused", s.text()
	}
	if was.Until.Equal(lane.Until) && was.Reason == lane.Reason {
		return nil
	}
	b.PutAccount(lane)
	if err := b.event(store.Event{Kind: kind, Why: why}, lane); err != nil || !paused {
		return err
	}
	return b.event(store.Event{Kind: "budget.spent", Why: why}, lane)
}

// waitsForPeriod reports whether a task that was stopped at a limit can go on by itself: nothing is
// left of a limit of the user for a day or a month, but the budgets of the task and its run allow
// more. a is the attempt that was stopped.
func (b *budgets) waitsForPeriod(run store.Run, t store.Task, a store.Attempt) (bool, error) {
	may, err := b.mayStartNow(run, t)
	if err != nil || !may {
		return false, err
	}
	return b.periodSpent(t, a)
}

// periodSpent reports whether nothing is left of a limit of the user, for the day on which a new
// attempt at the task would start.
func (b *budgets) periodSpent(t store.Task, a store.Attempt) (bool, error) {
	scopes, err := b.periodScopes(accountOf(a, t), DayOf(b.now, b.zone()), store.Amount{})
	return spentScope(scopes, store.Amount{}) != "", err
}

// pauseSpentAccount pauses an account, such as "claude/work", if a limit of this account is reached.
// It reports whether that is so. A claim calls it before it uses the account.
func (b *budgets) pauseSpentAccount(account string) (bool, error) {
	scopes, err := b.periodScopes(account, DayOf(b.now, b.zone()), store.Amount{})
	for _, s := range scopes {
		if strings.HasPrefix(s.id, account+" ") && s.spent(store.Amount{}) {
			return true, b.setLane(account, s, true)
		}
	}
	return false, err
}

func subtractAmounts(a, b store.Amount) store.Amount {
	return store.Amount{MicroUSD: a.MicroUSD - b.MicroUSD, Tokens: a.Tokens - b.Tokens}
}
