package notify

import "time"

// QuietHours is a daily period, in minutes after midnight. It may extend past midnight. The
// zero value is empty.
type QuietHours struct {
	From, To int
	Zone     *time.Location // nil for UTC
}

// Contains reports whether t is in the period.
func (q QuietHours) Contains(t time.Time) bool {
	if q.From == q.To {
		return false
	}
	t = t.In(q.zone())
	at := t.Hour()*60 + t.Minute()
	if q.From < q.To {
		return q.From <= at && at < q.To
	}
	return at >= q.From || at < q.To
}

// End returns when the period next ends after t.
func (q QuietHours) End(t time.Time) time.Time {
	t = t.In(q.zone())
	for day := 0; ; day++ {
		end := time.Date(t.Year(), t.Month(), t.Day()+day, q.To/60, q.To%60, 0, 0, q.zone())
		if end.After(t) {
			return end
		}
	}
}

func (q QuietHours) zone() *time.Location {
	if q.Zone == nil {
		return time.UTC
	}
	return q.Zone
}
