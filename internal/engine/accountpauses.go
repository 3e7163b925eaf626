package engine

import (
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// rateLimits pauses accounts that have reached a rate limit or whose login was refused, and ends
// the pauses.
type rateLimits struct {
	*txContext
	states *taskStates
}

// maxPause is the longest pause of an account because of a rate limit. It is longer than a weekly
// rate limit. If an agent reports a later end of its rate limit, that end is probably wrong. A
// wrong end must not pause the account for years.
const maxPause = 8 * 24 * time.Hour

// refusedLoginPause is how long an account is not used after its login was refused. Then it is
// tried again, because the user may have repaired the login.
const refusedLoginPause = time.Hour

// pauseAccount prevents attempts from using an account until the time end, but for at most
// maxPause. If end has passed or is zero, it pauses the account for a minute. reason is the failure
// class that has caused the pause. In runs with a limit on parallel tasks, ready tasks that cannot
// start because of the pause go back to waiting, and tasks of other agents become ready instead.
func (l *rateLimits) pauseAccount(account string, end time.Time, reason failure.Class) error {
	paused, err := l.Account(account)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if most := l.now.Add(maxPause); end.After(most) {
		end = most
	}
	// If the end is unknown or has passed, pause for a minute, but do not shorten an existing
	// longer pause.
	if end.Before(l.now) {
		if end = l.now.Add(time.Minute); paused.Until.After(end) {
			end = paused.Until
		}
	}
	paused.Name, paused.Until, paused.Reason = account, end, string(reason)
	l.PutAccount(paused)
	why := "rate limit"
	if reason == failure.Auth {
		why = "login refused, not used"
	}
	if err := l.event(store.Event{Kind: "lane.paused", Why: why + " until " + end.UTC().Format(time.RFC3339)}, paused); err != nil {
		return err
	}
	runs, err := l.RunningRuns()
	if err != nil {
		return err
	}
	blocked, err := l.blockedAccounts()
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Parallel == 0 {
			continue
		}
		waits := func(t store.Task) bool { return slices.Contains(blocked, t.Account) }
		if err := l.states.clearReady(run.ID, waits, "lane "+account+" is paused"); err != nil {
			return err
		}
		if err := l.states.makeTasksReady(run.ID); err != nil {
			return err
		}
	}
	return nil
}

// reopenAccounts ends the pauses whose time has passed, and returns how many it has ended. Tasks
// that can now start become ready.
func (l *rateLimits) reopenAccounts() (int, error) {
	all, err := l.Accounts()
	if err != nil {
		return 0, err
	}
	opened := 0
	for _, account := range all {
		if account.Until.IsZero() || account.Until.After(l.now) {
			continue
		}
		opened++
		account.Until, account.Reason = time.Time{}, ""
		l.PutAccount(account)
		if err := l.event(store.Event{Kind: "lane.open"}, account); err != nil {
			return 0, err
		}
	}
	if opened == 0 {
		return 0, nil
	}
	return opened, l.states.makeAllReady()
}
