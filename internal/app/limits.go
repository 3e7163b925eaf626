package app

import (
	"sync"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// limitsEvery is the minimum time between two reads of the user's cost limits. Gaffer reads them
// again because a user may raise a limit while tasks wait for that.
const limitsEvery = 5 * time.Second

// limits returns a function that returns the user's limits on the cost of agents. When that
// function is called, it reads the settings again if limitsEvery has passed since the last read.
func (o Options) limits() func() engine.Limits {
	var mu sync.Mutex
	read, limits := time.Now(), limitsOf(o.Config)
	var flags []config.Setting
	for _, v := range o.Config.Values() {
		if v.Origin.Flag != "" {
			flags = append(flags, config.Setting{Name: v.Key.Name, Text: v.Text, Flag: v.Origin.Flag})
		}
	}
	return func() engine.Limits {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(read) < limitsEvery {
			return limits
		}
		read = time.Now()
		c, err := config.Load(config.Inputs{Root: o.Project.Root, Getenv: o.Getenv, Flags: flags})
		if err == nil { // if the settings are invalid, keep the old limits
			limits = withRemoved(limitsOf(c), limits)
		}
		return limits
	}
}

// withRemoved returns the user's new limits, but replaces each limit that the user has removed, as
// [orRemoved] does. The parameter before contains the previous limits.
func withRemoved(limits, before engine.Limits) engine.Limits {
	limits.Day, limits.Month = orRemoved(limits.Day, before.Day), orRemoved(limits.Month, before.Month)
	for name, was := range before.Accounts {
		l := limits.Accounts[name]
		limits.Accounts[name] = engine.PeriodLimits{Day: orRemoved(l.Day, was.Day), Month: orRemoved(l.Month, was.Month)}
	}
	return limits
}

// orRemoved returns the parameter limit. But if the user has removed the limit, so that limit is
// zero and before is not, orRemoved returns a limit that no attempt reaches. The reason: tasks may
// wait because of the old limit. The engine starts them only when it checks a limit, and it does
// not check a limit of zero.
func orRemoved(limit, before store.Amount) store.Amount {
	if !limit.Limits() && before.Limits() {
		return store.Amount{MicroUSD: engine.Removed}
	}
	return limit
}

// limitsOf returns the cost limits in the user's settings.
func limitsOf(c *config.Config) (l engine.Limits) {
	l.Day, l.Month = engine.Dollars(c.Money("budget.day")), engine.Dollars(c.Money("budget.month"))
	l.Accounts = accountLimits(c)
	return l
}

// accountLimits returns the limits of those accounts that have one. The keys are the names of the
// accounts' rows in the store, such as "claude/work".
func accountLimits(c *config.Config) map[string]engine.PeriodLimits {
	limits := map[string]engine.PeriodLimits{}
	for _, a := range c.Accounts() {
		l := engine.PeriodLimits{Day: engine.Dollars(a.Budget.Day), Month: engine.Dollars(a.Budget.Month)}
		if l.Day.Limits() || l.Month.Limits() {
			limits[engine.AccountName(a.Agent, a.Name)] = l
		}
	}
	return limits
}
