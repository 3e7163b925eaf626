package app

import (
	"testing"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Tasks may wait because of a limit that the user removes. The engine starts them only if it still
// checks a limit.
func TestARemovedLimitIsOneThatNoAttemptReaches(t *testing.T) {
	t.Parallel()
	one, removed := engine.Dollars(1), store.Amount{MicroUSD: engine.Removed}
	before := engine.Limits{PeriodLimits: engine.PeriodLimits{Day: one}, Accounts: map[string]engine.PeriodLimits{"claude/work": {Day: one, Month: one}, "claude/home": {Month: one}}}
	got := withRemoved(engine.Limits{Accounts: map[string]engine.PeriodLimits{"claude/work": {Month: one}}}, before)
	for name, c := range map[string]struct{ got, want store.Amount }{
		"the day":                      {got.Day, removed},
		"the month, without a limit":   {got.Month, store.Amount{}},
		"an account's day":             {got.Accounts["claude/work"].Day, removed},
		"an account's month, kept":     {got.Accounts["claude/work"].Month, one},
		"the only limit of an account": {got.Accounts["claude/home"].Month, removed},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}
