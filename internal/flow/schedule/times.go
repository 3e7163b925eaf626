package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Times are the planned times of a schedule.
type Times struct {
	spec *cron.SpecSchedule // computes with wall clock times, which are passed to it as times in UTC
	zone *time.Location
}

// Parse returns the times of a cron expression in a time zone with an IANA name. It returns a
// [*CronError], a [*ZoneError], or a [*NeverError] if the expression matches no day.
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

// Usage marks the error as a mistake in the command line.
func (e *NeverError) Usage() bool { return true }

// Next returns the first planned time that is later than after. It returns the zero time if there
// is none in the next five years.
//
// When the clocks go forward, a planned time that does not exist becomes the moment of the change.
// When they go back, a planned time that exists twice counts once, the first time. An expression
// for every hour of the day is different: it follows the elapsed time, so the repeated hour has its
// planned times, too.
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

// nextElapsed is Next for an expression for every hour of the day. It returns the first time later
// than after at which the wall clock matches the expression.
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
		// The clocks change before found. Search again from the moment of the change, which may
		// match itself.
		at = end.In(t.zone)
		from = wallClock(at).Add(-time.Second)
	}
}

// Upcoming returns the next planned times that are later than after, at most count of them.
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

// wallClock returns the date and time that a clock in the time zone of at shows, as a time in UTC:
// 14:00 in Berlin becomes 14:00 UTC.
func wallClock(at time.Time) time.Time {
	_, offset := at.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// instant returns when a wall clock in the time zone shows the time wall, which is given as a time
// in UTC. If the clock shows it twice, instant returns the first time. If the clock never shows it,
// instant returns the moment at which the clocks go forward.
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
