package notify

import (
	"context"
	"time"
)

// DailyReport is a report that is sent once a day. The id of its notification is computed from the
// day. So if several programs use one store, the report of a day is queued only once.
type DailyReport struct {
	Minute int            // when the report is sent, in minutes after midnight
	Zone   *time.Location // time zone of Minute
	// Make returns the report on the time from since to until. If nothing has happened in that
	// time, ok is false, and no report is sent.
	Make func(ctx context.Context, since, until time.Time) (title, text string, ok bool, err error)
}

// maxReportDelay is how late a report may be sent, for example because no gaffer program ran when
// it was due.
const maxReportDelay = 6 * time.Hour

// due returns the time of the daily report that must be sent now. The result ok is false if there
// is none. The parameter began is when the channel was first used: reports for earlier times are
// not sent.
func (d DailyReport) due(began, now time.Time) (at time.Time, ok bool) {
	now = now.In(d.Zone)
	at = time.Date(now.Year(), now.Month(), now.Day(), d.Minute/60, d.Minute%60, 0, 0, d.Zone)
	if at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()-1, d.Minute/60, d.Minute%60, 0, 0, d.Zone)
	}
	return at, at.After(began) && now.Sub(at) < maxReportDelay
}

// dailyNote returns the notification with the daily report, if the report is due. The result ok is
// false if there is nothing to send. After the caller has queued the notification and called
// [follower.advance], dailyNote does not return it again.
func (f *follower) dailyNote(ctx context.Context, now time.Time) (n Notification, ok bool, err error) {
	if f.daily == nil || f.run != "" {
		return n, false, nil
	}
	at, ok := f.daily.due(f.cursor.Began, now)
	if !ok || f.reported[idOf(string(Report), at.Format(time.DateOnly))] {
		return n, false, nil
	}
	n = Notification{ID: idOf(string(Report), at.Format(time.DateOnly)), Kind: Report, Time: at.UTC(), Next: "gaffer report morning"}
	if n.Title, n.Text, ok, err = f.daily.Make(ctx, at.AddDate(0, 0, -1), now); err == nil && !ok {
		f.reported[n.ID] = true
	}
	return n, ok, err
}
