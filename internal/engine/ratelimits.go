package engine

import (
	"errors"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// rateLimits pauses agent accounts at a rate limit, and opens them again.
type rateLimits struct {
	*txContext
	schedule *schedule
}

// maxPause is the longest pause of a lane; it covers weekly limits. A program that
// reports a longer one is wrong, and only time reopens a lane.
const maxPause = 8 * 24 * time.Hour

// pauseAccount prevents tasks of a lane from starting until a time. In runs with a parallel
// limit, its ready tasks make room for tasks of other lanes.
func (l *rateLimits) pauseAccount(lane string, until time.Time) error {
	if most := l.now.Add(maxPause); until.After(most) {
		until = most
	}
	if until.Before(l.now) { // the limit has no known end; use a minute, but do not shorten a pause that has one
		was, err := l.Account(lane)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if until = l.now.Add(time.Minute); was.Until.After(until) {
			until = was.Until
		}
	}
	paused := store.Account{Name: lane, Until: until, Reason: string(failure.RateLimited)}
	l.PutAccount(paused)
	if err := l.event(store.Event{Kind: "lane.paused", Why: "rate limit until " + until.UTC().Format(time.RFC3339)}, paused); err != nil {
		return err
	}
	runs, err := l.RunningRuns()
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Parallel == 0 {
			continue
		}
		if err := l.schedule.clearReady(run.ID, lane, "lane "+lane+" is paused"); err != nil {
			return err
		}
		if err := l.schedule.makeTasksReady(run.ID); err != nil {
			return err
		}
	}
	return nil
}

// reopenAccounts opens the lanes whose pause is over, and returns their number.
func (l *rateLimits) reopenAccounts() (int, error) {
	all, err := l.Accounts()
	if err != nil {
		return 0, err
	}
	opened := 0
	for _, lane := range all {
		if lane.Until.IsZero() || lane.Until.After(l.now) {
			continue
		}
		opened++
		lane.Until, lane.Reason = time.Time{}, ""
		l.PutAccount(lane)
		if err := l.event(store.Event{Kind: "lane.open"}, lane); err != nil {
			return 0, err
		}
	}
	if opened == 0 {
		return 0, nil
	}
	runs, err := l.RunningRuns()
	if err != nil {
		return 0, err
	}
	for _, run := range runs {
		if err := l.schedule.makeTasksReady(run.ID); err != nil {
			return 0, err
		}
	}
	return opened, nil
}
