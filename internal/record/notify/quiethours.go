package notify

import "time"

// QuietHours is a period of each day in which most notifications are held back. From and To are
// minutes after midnight. If From is later than To, the period contains midnight, for example 22:00
// to 7:00. The zero value is an empty period.
type QuietHours struct {
	From, To int
	Zone     *time.Location // time zone of From and To; nil means UTC
}

// Contains reports whether the time t is within the quiet hours.
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

// End returns the next time after t at which quiet hours end.
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
