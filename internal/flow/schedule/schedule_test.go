package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
)

// clock returns a time in November 2026, in UTC.
func clock(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04", "2026-11-"+text)
	if err != nil {
		panic(err)
	}
	return at
}

// hourly returns a schedule whose times are decided up to 01:00 on the 20th.
func hourly(missed fleet.MissedRule, overlap fleet.OverlapRule) Schedule {
	return Schedule{Name: "s", ID: "i", Cron: "@hourly", Zone: "UTC", Missed: missed, Overlap: overlap, Through: clock("20 01:00")}
}

// decide decides a schedule. The runs in active have not ended.
func decide(t *testing.T, s Schedule, at string, active ...string) (Schedule, []string) {
	t.Helper()
	s, start, err := s.Decide(Decision{Now: clock(at), Holder: "me", Active: func(run string) bool { return slices.Contains(active, run) }})
	if err != nil {
		t.Fatal(err)
	}
	return s, start
}

// fires returns the fires of a schedule, one per line.
func fires(s Schedule) string {
	var lines []string
	for _, f := range s.Fires {
		line := f.Planned.Format("02 15:04 ") + string(f.Status)
		if f.Count > 0 {
			line += fmt.Sprintf(" for %d", f.Count)
		}
		if f.Why != "" {
			line += ": " + f.Why
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestMissedTimes(t *testing.T) {
	for name, c := range map[string]struct {
		rule fleet.MissedRule
		now  string
		want string
	}{
		"nothing is due":                      {fleet.MissedRunOnce, "20 01:59", ""},
		"on time":                             {fleet.MissedRunOnce, "20 02:00", "20 02:00 starting"},
		"a little late is on time":            {fleet.MissedSkip, "20 02:05", "20 02:00 starting"},
		"one run for all missed times":        {fleet.MissedRunOnce, "20 06:30", "20 06:00 starting for 5"},
		"one run for missed times and this":   {fleet.MissedRunOnce, "20 06:00", "20 06:00 starting for 5"},
		"missed times are skipped":            {fleet.MissedSkip, "20 06:30", "20 06:00 skipped for 5: no server was running"},
		"missed times are skipped, this runs": {fleet.MissedSkip, "20 06:00", "20 05:00 skipped for 4: no server was running\n20 06:00 starting"},
		"all missed times run one after the other": {fleet.MissedRunAll, "20 04:30", "20 02:00 starting\n" +
			"20 03:00 waiting: the run of 2026-11-20 02:00 UTC has not ended\n20 04:00 waiting: the run of 2026-11-20 03:00 UTC has not ended"},
	} {
		s, _ := decide(t, hourly(c.rule, fleet.OverlapSkip), c.now)
		if diff := cmp.Diff(c.want, fires(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if s.NeedsDecision(clock(c.now)) && c.rule != fleet.MissedRunAll {
			t.Errorf("%s: there is still something to decide", name)
		}
	}
}

func TestAMissedTimeThatIsTooOldIsNotRun(t *testing.T) {
	daily := hourly(fleet.MissedRunOnce, fleet.OverlapSkip)
	daily.Cron = "0 2 20 * *"
	for now, want := range map[string]string{
		"21 02:00": "20 02:00 starting",
		"21 02:01": "20 02:00 skipped: no server was running, and the time is more than a day ago",
		"28 12:00": "20 02:00 skipped: no server was running, and the time is more than a week ago",
	} {
		s, _ := decide(t, daily, now)
		if diff := cmp.Diff(want, fires(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", now, diff)
		}
		if s.NeedsDecision(clock(now)) {
			t.Errorf("%s: there is still something to decide", now)
		}
	}
}

func TestAtMostTenMissedTimesRun(t *testing.T) {
	s, start := decide(t, hourly(fleet.MissedRunAll, fleet.OverlapAllow), "20 23:30")
	if len(start) != MissedAllCount || len(s.Fires) != MissedAllCount+1 || s.Fires[0].Count != 12 || s.Fires[0].Status != fleet.FireSkipped {
		t.Errorf("%d start\n%s", len(start), fires(s))
	}
}

func TestOverlaps(t *testing.T) {
	const ended = "run r1 has not ended"
	for rule, want := range map[fleet.OverlapRule]string{
		fleet.OverlapSkip:  "20 02:00 started\n20 03:00 skipped: " + ended + "\n20 04:00 skipped: " + ended,
		fleet.OverlapQueue: "20 02:00 started\n20 03:00 waiting: " + ended + "\n20 04:00 skipped: the run of 2026-11-20 03:00 UTC has not ended, and another one waits for it",
		fleet.OverlapAllow: "20 02:00 started\n20 03:00 starting\n20 04:00 starting",
	} {
		s, start := decide(t, hourly(fleet.MissedRunOnce, rule), "20 02:00")
		if len(start) != 1 {
			t.Fatalf("%v start", start)
		}
		s, _ = s.Started(start[0], "r1")
		s, _ = decide(t, s, "20 03:00", "r1")
		s, _ = decide(t, s, "20 04:00", "r1")
		if diff := cmp.Diff(want, fires(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", rule, diff)
		}
		if rule == fleet.OverlapQueue && s.Pause().NeedsDecision(clock("20 04:10")) {
			t.Error("a paused schedule with a waiting run needs a decision")
		}
		s, start = decide(t, s, "20 04:10")
		if queued := len(start) == 1 && start[0] == "2026-11-20T03:00:00Z"; queued != (rule == fleet.OverlapQueue) {
			t.Errorf("%s: after the run's end %v start\n%s", rule, start, fires(s))
		}
	}
}

func TestAFireIsTakenOverOnlyAfterItsLease(t *testing.T) {
	s, start := decide(t, hourly(fleet.MissedRunOnce, fleet.OverlapSkip), "20 02:00")
	if len(start) != 1 || s.Fires[0].Holder != "me" {
		t.Fatalf("%v start: %+v", start, s.Fires)
	}
	early, late := clock("20 02:00").Add(StartLease-time.Second), clock("20 02:00").Add(StartLease)
	if s.NeedsDecision(early) || !s.NeedsDecision(late) {
		t.Error("the fire needs another decision when its lease has ended")
	}
	renewed, changed := s.Renew(start[0], "me", late, StartLease)
	if !changed || renewed.NeedsDecision(late) {
		t.Error("the lease is not renewed")
	}
	if _, changed := s.Renew(start[0], "another", late, StartLease); changed {
		t.Error("another process has renewed the lease")
	}
	if given, _ := s.Renew(start[0], "me", early, 0); !given.NeedsDecision(early) {
		t.Error("the fire is not given back")
	}
	if _, start := decide(t, s, "20 02:00"); len(start) != 0 {
		t.Errorf("%v start before the lease has ended", start)
	}
	if _, start := decide(t, s, "20 02:01"); len(start) != 1 {
		t.Errorf("%v start after the lease has ended", start)
	}
}

func TestTheOutcomeOfAFireIsRecordedOnce(t *testing.T) {
	s, start := decide(t, hourly(fleet.MissedRunOnce, fleet.OverlapSkip), "20 02:00")
	failed, changed := s.Failed(start[0], "no plan")
	if !changed || fires(failed) != "20 02:00 failed: no plan" || !failed.Fires[0].Lease.IsZero() {
		t.Errorf("%t %s", changed, fires(failed))
	}
	// Another process that started the run at the same time knows better.
	if s, changed := failed.Started(start[0], "r"); !changed || fires(s) != "20 02:00 started" {
		t.Errorf("%t %s", changed, fires(s))
	}
	s, _ = s.Started(start[0], "r")
	if s, changed := s.Failed(start[0], "late"); changed || fires(s) != "20 02:00 started" {
		t.Errorf("%t %s", changed, fires(s))
	}
	if _, changed := s.Started("unknown", "r"); changed {
		t.Error("an unknown fire has changed")
	}
}

func TestAPausedOrRemovedScheduleMissesNothing(t *testing.T) {
	base := hourly(fleet.MissedRunAll, fleet.OverlapSkip)
	for name, c := range map[string]struct {
		off Schedule
		on  func(Schedule) Schedule
	}{
		"paused":  {base.Pause(), func(s Schedule) Schedule { return s.Resume(clock("20 06:30")) }},
		"removed": {base.Remove(clock("20 01:10")), func(s Schedule) Schedule { return s.Restore(clock("20 06:30")) }},
	} {
		if c.off.NeedsDecision(clock("20 06:30")) {
			t.Errorf("%s: it needs a decision", name)
		}
		s, _ := decide(t, c.off, "20 06:30")
		if s, _ = decide(t, c.on(s), "20 06:59"); fires(s) != "" {
			t.Errorf("%s: %s", name, fires(s))
		}
		if s, _ = decide(t, s, "20 07:00"); fires(s) != "20 07:00 starting" {
			t.Errorf("%s: %s", name, fires(s))
		}
	}
}

func TestARunThatTheUserAsksForDoesNotChangeThePlannedTimes(t *testing.T) {
	s := hourly(fleet.MissedRunOnce, fleet.OverlapSkip).Pause().RunNow("now-1", "ada", "me", clock("20 01:30"))
	if _, start := decide(t, s, "20 01:30"); len(start) != 0 {
		t.Errorf("%v start twice", start)
	}
	if _, start := decide(t, s, "20 01:40"); len(start) != 1 {
		t.Errorf("%v start after the process has died", start)
	}
	s, _ = s.Started("now-1", "r")
	if s, _ = decide(t, s.Resume(clock("20 01:45")), "20 02:00"); fires(s) != "20 01:30 started\n20 02:00 starting" {
		t.Error(fires(s))
	}
}

func TestJitterDelaysEachRunByTheSameTimeForAllServers(t *testing.T) {
	s := hourly(fleet.MissedRunOnce, fleet.OverlapAllow)
	s.Jitter = 30 * time.Minute
	seen := map[time.Duration]bool{}
	for hour := 2; hour < 20; hour++ {
		planned := clock(fmt.Sprintf("20 %02d:00", hour))
		d := s.StartTime(planned).Sub(planned)
		if d < 0 || d >= s.Jitter || d != s.StartTime(planned).Sub(planned) {
			t.Errorf("%d:00 starts %s later", hour, d)
		}
		seen[d] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d different delays", len(seen))
	}
	first := s.StartTime(clock("20 02:00"))
	if s.NeedsDecision(first.Add(-time.Second)) || !s.NeedsDecision(first) {
		t.Error("the run does not start at its delayed time")
	}
}

func TestAScheduleKeepsItsLatestFires(t *testing.T) {
	s := hourly(fleet.MissedRunOnce, fleet.OverlapAllow)
	at := clock("20 02:00")
	for range 50 {
		var start []string
		var err error
		if s, start, err = s.Decide(Decision{Now: at, Holder: "me", Active: func(string) bool { return false }}); err != nil || len(start) != 1 {
			t.Fatalf("%v, %v", start, err)
		}
		s, _ = s.Started(start[0], "r")
		at = at.Add(time.Hour)
	}
	s, _, _ = s.Decide(Decision{Now: at.Add(-time.Minute), Active: func(string) bool { return false }})
	if len(s.Fires) != keptFires || !s.Fires[keptFires-1].Planned.Equal(at.Add(-time.Hour)) {
		t.Errorf("%d fires are kept, the last of %s", len(s.Fires), s.Fires[len(s.Fires)-1].Planned)
	}
}

func TestNames(t *testing.T) {
	for plan, want := range map[string]string{
		"Nightly upkeep": "nightly-upkeep", "  a/b: c! ": "a-b-c", "Größe": "gr-e", "…": "", strings.Repeat("word ", 30): "word-word-word-word-word-word-word-word",
	} {
		if got := NameOf(plan); got != want {
			t.Errorf("%q becomes %q, want %q", plan, got, want)
		}
		if want != "" && CheckName(want) != nil {
			t.Errorf("%q is refused", want)
		}
	}
	for _, name := range []string{"", "-a", "A", "a b", "a/b", "../x", "a\n", "a%", strings.Repeat("a", 61)} {
		if CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
