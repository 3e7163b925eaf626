package ledger

import (
	"fmt"
	"time"
)

// Week counts the runs that started in one ISO 8601 week, in UTC.
type Week struct {
	Week  string `json:"week"`  // such as 2026-W07
	Start string `json:"start"` // date of the week's Monday, such as 2026-02-09
	Group
}

// maxWeeks is the maximum number of weeks that a report lists separately.
const maxWeeks = 26

// weeks counts runs by the week in which they started. It has separate counts only for the latest
// maxWeeks weeks in which runs started. The field earlier counts the runs of all weeks before, and
// the field undated those whose week is unknown or in the future.
type weeks struct {
	now              time.Time
	by               map[int64]*sum // counts by week number; see weekOf
	earlier, undated sum
}

const (
	weekSeconds = 7 * 24 * 60 * 60
	monday      = -62135596800 // Unix time of 1 January of the year 1, which was a Monday
)

// weekOf returns the number of the week that contains t. Week 0 began on 1 January of the year 1, a
// Monday.
func weekOf(t time.Time) int64 { return (t.Unix() - monday) / weekSeconds }

// has reports whether start can be the start time of a run: it must be known and not in a future
// week.
func (w *weeks) has(start time.Time) bool { return !start.IsZero() && weekOf(start) <= weekOf(w.now) }

// of returns the sum to which the attempt a must be added: that of the week in which a started or,
// if its start is unknown, of the week in which it ended. If both times are unknown, or the week is
// in the future, it returns w.undated. If w already has sums for maxWeeks later weeks, it returns
// w.earlier.
func (w *weeks) of(a Attempt) *sum {
	at := a.begin()
	if !w.has(at) {
		return &w.undated
	}
	week := weekOf(at)
	if one := w.by[week]; one != nil {
		return one
	}
	if len(w.by) == maxWeeks {
		first := w.first()
		if week < first {
			return &w.earlier
		}
		w.earlier.merge(w.by[first])
		delete(w.by, first)
	}
	w.by[week] = &sum{}
	return w.by[week]
}

func (w *weeks) first() int64 {
	first := int64(1) << 62
	for week := range w.by {
		first = min(first, week)
	}
	return first
}

func (w *weeks) list() []Week {
	list := make([]Week, 0, len(w.by))
	for len(w.by) > 0 {
		first := w.first()
		start := time.Unix(monday+first*weekSeconds, 0).UTC()
		year, week := start.ISOWeek()
		list = append(list, Week{fmt.Sprintf("%04d-W%02d", year, week), start.Format(time.DateOnly), w.by[first].group()})
		delete(w.by, first)
	}
	return list
}
