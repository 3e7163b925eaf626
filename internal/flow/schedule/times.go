package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Times are the planned times of a schedule.
type Times struct {
	// spec is the parsed cron expression. It is used without a time zone: callers of its methods
	// pass the date and time that a clock in zone shows, represented as a time in UTC (see
	// wallClock).
	spec *cron.SpecSchedule
	zone *time.Location
}

// Parse returns the times of a cron expression in a time zone with an IANA name. The error is a
// [*CronError] if the expression is not valid, a [*ZoneError] if the time zone is unknown, or a
// [*NeverError] if the expression matches no day.
func Parse(expr, zone string) (Times, error) {
	spec, err := parseCron(expr)
	if err != nil {
		return Times{}, err
	}
	loc, err := loadZone(zone)
	if err != nil {
		return Times{}, err
	}
	t := Times{spec, loc}
	if spec.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Times{}, &NeverError{expr}
	}
	return t, nil
}

// NeverError reports a cron expression whose days do not exist, such as 30 February.
type NeverError struct{ Expr string }

func (e *NeverError) Error() string {
	return "cron expression \"" + e.Expr + "\": this day never comes: check the day of the month and the month"
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *NeverError) Usage() bool { return true }

// Next returns the first planned time that is later than the parameter after. It returns the zero
// time if there is none in the next five years.
//
// When the clocks go forward, a planned time in the skipped hour becomes the moment of the change.
// When the clocks go back, a planned time in the repeated hour counts once, at its first
// occurrence. An expression that matches every hour of the day is an exception: its planned times
// in the skipped hour are dropped, and those in the repeated hour count twice.
func (t Times) Next(after time.Time) time.Time {
	if everyHour(t.spec) {
		return t.nextElapsed(after)
	}
	for wall := wallClock(after.In(t.zone)); ; {
		if wall = t.spec.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		if at := t.instant(wall); at.After(after) {
			return at
		}
	}
}

// nextElapsed is Next for a cron expression that matches every hour of the day. It returns the
// first moment later than the parameter after at which a clock in the time zone shows a date and
// time that the expression matches.
func (t Times) nextElapsed(after time.Time) time.Time {
	at := after.In(t.zone)
	from := wallClock(at)
	for {
		wall := t.spec.Next(from)
		if wall.IsZero() {
			return time.Time{}
		}
		_, end := at.ZoneBounds()
		found := at.Add(wall.Sub(wallClock(at)))
		if end.IsZero() || found.Before(end) {
			return found
		}
		// The clocks go forward or back before the moment in found, so this moment was computed
		// with the wrong offset. Search again, starting with the moment of the change.
		at = end.In(t.zone)
		from = wallClock(at).Add(-time.Second)
	}
}

// Upcoming returns the next planned times that are later than the parameter after. It returns at
// most count of them.
func (t Times) Upcoming(after time.Time, count int) (list []time.Time) {
	for range count {
		if after = t.Next(after); after.IsZero() {
			break
		}
		list = append(list, after)
	}
	return list
}

// Zone returns the time zone.
func (t Times) Zone() *time.Location { return t.zone }

// wallClock returns the date and time that a clock in the time zone of the parameter at shows at
// this moment. The result is a time in UTC: 14:00 in Berlin becomes 14:00 UTC.
func wallClock(at time.Time) time.Time {
	_, offset := at.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// instant returns the moment at which a clock in the time zone t.zone shows the date and time in
// the parameter wall, which is given as a time in UTC. If the clock shows it twice, instant returns
// the first moment. If the clock never shows it, instant returns the moment at which the clocks go
// forward.
func (t Times) instant(wall time.Time) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, t.zone)
	start, end := at.ZoneBounds()
	switch shown := wallClock(at); {
	case shown.After(wall):
		return start
	case shown.Before(wall):
		return end
	case start.IsZero():
		return at
	}
	_, offset := start.Add(-time.Second).Zone()
	earlier := wall.Add(-time.Duration(offset) * time.Second).In(t.zone)
	if earlier.Before(start) && wallClock(earlier).Equal(wall) {
		return earlier
	}
	return at
}
