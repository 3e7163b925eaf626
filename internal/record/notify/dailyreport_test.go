package notify

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/internal/engine/store"
)

// daily makes a notifier send a report at 07:00 UTC, which names the period that it is about.
func daily(o *Options) {
	o.Daily = &DailyReport{Minute: 7 * 60, Zone: time.UTC, Make: func(_ context.Context, since, until time.Time) (title, text string, ok bool, err error) {
		return fmt.Sprintf("from %s to %s", since.UTC().Format("2 15:04"), until.UTC().Format("2 15:04")), "", true, nil
	}}
}

func TestADailyReportIsSentOnceADayByAllProgramsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		one, two := w.tell(in, "", daily), w.tell(in, "", daily)
		run := w.tell(in, "r1", daily) // a notifier of one run sends no report
		pass(7*time.Hour - time.Minute)
		w.want(in, "")
		pass(2 * time.Minute)
		w.want(in, "from 31 07:00 to 1 07:00")
		one.Stop()
		two.Stop()
		run.Stop()
		again := w.tell(in, "", daily) // a program that starts later the same morning
		pass(time.Hour)
		w.want(in, "from 31 07:00 to 1 07:00")
		pass(23 * time.Hour)
		w.want(in, "from 31 07:00 to 1 07:00; from 1 07:00 to 2 07:00")
		again.Stop()
	})
}

func TestADailyReportIsSentLateIfNoProgramRanAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		first := w.tell(in, "", daily)
		pass(time.Hour)
		first.Stop()
		pass(8 * time.Hour) // it is 9:00
		late := w.tell(in, "", daily)
		pass(time.Minute)
		w.want(in, "from 31 07:00 to 1 09:00")
		late.Stop()
		pass(30 * time.Hour) // it is 15:01 of the next day, too late for that report
		tooLate := w.tell(in, "", daily)
		pass(time.Minute)
		w.want(in, "from 31 07:00 to 1 09:00")
		tooLate.Stop()
	})
}

func TestAChannelGetsNoDailyReportForTheTimeBeforeItsFirstUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		pass(8 * time.Hour)
		n := w.tell(in, "", daily)
		pass(time.Hour)
		w.want(in, "")
		n.Stop()
	})
}

func TestNoDailyReportIsSentIfNothingHasHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		made := 0
		n := w.tell(in, "", func(o *Options) {
			o.Daily = &DailyReport{Minute: 60, Zone: time.UTC, Make: func(context.Context, time.Time, time.Time) (string, string, bool, error) {
				made++
				return "", "", false, nil
			}}
		})
		pass(5 * time.Hour)
		if w.want(in, ""); made != 1 {
			t.Errorf("the report was made %d times", made)
		}
		n.Stop()
	})
}

func TestQuietHoursHoldBackADailyReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		n := w.tell(in, "", daily, func(o *Options) { o.Rules.Quiet = QuietHours{From: 0, To: 8 * 60} })
		pass(7*time.Hour + 30*time.Minute)
		w.want(in, "")
		pass(time.Hour)
		w.want(in, "from 31 07:00 to 1 07:00")
		n.Stop()
	})
}

// mortal is the store of a program that is killed at some operation: this one and all later ones
// fail, and change nothing.
type mortal struct {
	store.Store
	left atomic.Int64 // number of operations until the program is killed
}

var errKilled = errors.New("killed")

func (m *mortal) Write(ctx context.Context, change func(*store.Tx) error) error {
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return m.Store.Write(ctx, change)
}

func (m *mortal) Read(ctx context.Context, fn func(store.Reader) error) error {
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return m.Store.Read(ctx, fn)
}

func TestADailyReportIsSentThoughAProgramIsKilledAtAnyMoment(t *testing.T) {
	twice := 0
	const moments = 40
	for moment := range moments {
		synctest.Test(t, func(t *testing.T) {
			w, in := newWorld(t), &inbox{}
			other := w.tell(in, "", daily) // the channel is in use
			pass(time.Minute)
			other.Stop()
			pass(7*time.Hour - 2*time.Minute)
			s := &mortal{Store: w.store}
			s.left.Store(1 << 40)
			killed := w.tell(in, "", daily, func(o *Options) { o.Store = s })
			pass(30 * time.Second)
			s.left.Store(int64(moment))
			pass(time.Minute)
			s.left.Store(0)
			next := w.tell(in, "", daily)
			pass(time.Hour)
			killed.Stop()
			next.Stop()
			ids := map[string]bool{}
			for _, n := range in.got {
				ids[n.ID] = true
			}
			if len(ids) != 1 || len(in.got) > 2 {
				t.Errorf("killed at operation %d: told %q", moment, in.titles())
			}
			if len(in.got) == 2 { // it was killed after the message was sent, and before that was stored
				twice++
			}
		})
	}
	if twice == 0 || twice > moments/4 {
		t.Errorf("after %d of %d kills the same message was sent again", twice, moments)
	}
}
