package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// PeriodLimits limit what may be spent in a day and in a month. The whole cost of an attempt counts
// for the day on which the attempt started.
type PeriodLimits struct{ Day, Month store.Amount }

// BudgetLane is the prefix of names such as budget:day. The store has a [store.Account] row with
// such a name for the user's limit of the day, and one for the limit of the month. The row is
// paused while the limit is reached. See also [fleet.Lane].
const BudgetLane = fleet.BudgetLane

// SpendingKind is the Kind of the [store.Item] rows that contain sums of what attempts have spent.
// There are rows for days and months, for all accounts together and for each of the user's accounts
// (see [SpendingID]). There are also rows for runs that have a budget.
const SpendingKind = "spending"

// Spending is the data of a store item of kind [SpendingKind].
type Spending struct {
	Spent store.Amount `json:"spent"`
}

// SpendingID returns the id of the store item with the sum of what was spent in a period. The
// period is a day such as 2026-11-18, or a month such as 2026-11. account is the name of an
// account, such as claude/work, or empty for the sum of all accounts.
func SpendingID(account, period string) string {
	if account == "" {
		return period
	}
	return account + " " + period
}

// runSpendingID returns the id of the store item with the sum of what the running attempts of a run
// have spent. The sum leaves out money or tokens that a task's own budget limits, because the run's
// budget has reserved them.
func runSpendingID(run string) string { return "run " + run }

// DayOf returns the date of a time in a time zone, such as 2026-11-18. The first seven characters
// of the result are the month.
func DayOf(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

func (b *budgets) zone() *time.Location { return cmp.Or(b.opts.Zone, time.Local) }

// userLimits returns the user's current limits on what may be spent per day and per month.
func (b *budgets) userLimits() Limits {
	if b.opts.Limits == nil {
		return Limits{}
	}
	return b.opts.Limits()
}

// periodScopes returns the user's limits for a day and its month: those for all attempts, and those
// for an account. own is what the attempt itself has spent. periodScopes subtracts own from the
// stored sums, because they include it.
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

// spending returns the amount in the store item of kind [SpendingKind] with this id. It returns
// zero if there is no such item.
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

// addSpending adds an amount to the store item of kind [SpendingKind] with this id. It does nothing
// if the amount is zero.
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

// ItemReader reads store items by their keys. Transactions and read-only snapshots of the store
// implement it.
type ItemReader interface {
	Item(key store.ItemKey) (store.Item, error)
}

// CostLimits returns the user's limits for the day and the month that contain now, and what was
// spent of each limit. It leaves out limits that the user has removed.
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

// dayOf returns the day for which the cost of an attempt counts. If an older version of gaffer has
// stored the attempt without this day, dayOf computes it from the attempt's start.
func (b *budgets) dayOf(a store.Attempt) string { return cmp.Or(a.Day, DayOf(a.Started, b.zone())) }

// holdForUserLimits reports whether the user's limit for the day or for the month is reached. Then
// no agent may start now. The store has a [store.Account] row for each of these limits, so that
// users see the limit as they see a paused account. holdForUserLimits pauses the row if the limit
// is reached, and ends the pause if it is not. If the user has set neither limit, it does nothing.
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

// checkLanes pauses or reopens the [store.Account] rows of the user's limits for the day and the
// month (see holdForUserLimits). It also reopens accounts that were paused because of a limit of
// the user, if that limit is no longer reached. Reopening a row appends an event, which wakes the
// workers. [Engine.Sweep] calls checkLanes. The result is always 0, which tells Sweep that no work
// is left.
func (b *budgets) checkLanes() (int, error) {
	if _, err := b.holdForUserLimits(); err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(b.userLimits().Accounts)) {
		account, err := b.Account(name)
		if errors.Is(err, store.ErrNotFound) || err == nil && !pausedByLimit(account) {
			continue
		}
		s, scopeErr := b.spentAccountScope(name)
		if err = errors.Join(err, scopeErr); err == nil && s == nil {
			err = b.setLane(name, scope{}, false)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// pausedByLimit reports whether an account is paused because of a limit of the user, not because of
// a rate limit or a refused login.
func pausedByLimit(a store.Account) bool {
	switch failure.Class(a.Reason) {
	case failure.None, failure.RateLimited, failure.Auth:
		return false
	}
	return !a.Until.IsZero()
}

// setLane pauses the [store.Account] row with this name until s.until, which is the end of the day
// or month of the limit s. If paused is false, it ends the pause of the row instead. If the row
// already has this state, setLane stores nothing and appends no event.
func (b *budgets) setLane(name string, s scope, paused bool) error {
	was, err := b.Account(name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	lane := was
	lane.Name, lane.Until, lane.Reason = name, time.Time{}, ""
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

// waitsForPeriod reports whether a task that was stopped at a limit can continue when the current
// day or month ends. That is so if a limit of the user for the day or the month is reached (for all
// accounts, or for the account of the attempt), but the budgets of the task and its run are not. a
// is the attempt that was stopped.
func (b *budgets) waitsForPeriod(run store.Run, t store.Task, a store.Attempt) (bool, error) {
	may, err := b.mayStartNow(run, t)
	if err != nil || !may {
		return false, err
	}
	return b.periodSpent(t, a)
}

// periodSpent reports whether a limit of the user for today or for this month is reached. It also
// checks the limits of the account that the attempt a has used.
func (b *budgets) periodSpent(t store.Task, a store.Attempt) (bool, error) {
	scopes, err := b.periodScopes(accountOf(a, t), DayOf(b.now, b.zone()), store.Amount{})
	return spentScope(scopes, store.Amount{}) != "", err
}

// pauseSpentAccount pauses an account, such as "claude/work", until the end of the day or month if
// the account's limit for that period is reached. A pause that ends later stays as it is. When a
// worker claims a task, the engine calls pauseSpentAccount for each account of the worker.
func (b *budgets) pauseSpentAccount(account string) error {
	s, err := b.spentAccountScope(account)
	if err != nil || s == nil {
		return err
	}
	row, err := b.Account(account)
	if err != nil && !errors.Is(err, store.ErrNotFound) || row.Until.After(s.until) {
		return err
	}
	return b.setLane(account, *s, true)
}

// spentAccountScope returns a limit of the account for today or this month that is reached, or nil
// if none is reached.
func (b *budgets) spentAccountScope(account string) (*scope, error) {
	scopes, err := b.periodScopes(account, DayOf(b.now, b.zone()), store.Amount{})
	for _, s := range scopes {
		if strings.HasPrefix(s.id, account+" ") && s.spent(store.Amount{}) {
			return &s, err
		}
	}
	return nil, err
}
