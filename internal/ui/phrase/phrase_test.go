package phrase

import (
	"testing"
	"time"

	"gaffer/fleet"
)

func TestNumbersAreShort(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Money(0), ""},
		{Money(0.004), "$0.0040"},
		{SpentOf(fleet.Cost{USD: 0.00465, Tokens: 1200}, fleet.Cost{USD: 0.002}), "1.2k tokens, $0.0047 of $0.0020"},
		{SpentOf(fleet.Cost{Tokens: 1200}, fleet.Cost{Tokens: 1000}), "1200 of 1000 tokens"},
		{SpentOf(fleet.Cost{}, fleet.Cost{}), ""},
		{Money(1.5), "$1.50"},
		{Tokens(0), ""},
		{Tokens(999), "999"},
		{Tokens(1234), "1.2k"},
		{Tokens(43_210), "43k"},
		{Tokens(1_250_000), "1.2M"},
		{Spent(fleet.Cost{}), ""},
		{Spent(fleet.Cost{USD: 0.5, Tokens: 1200}), "1.2k tokens, $0.50"},
		{Spent(fleet.Cost{Tokens: 12}), "12 tokens"},
		{Age(42 * time.Second), "42s"},
		{Age(4*time.Minute + 59*time.Second), "4m"},
		{Age(65 * time.Minute), "1h 05m"},
		{Count(1, "task"), "1 task"},
		{Count(0, "task"), "0 tasks"},
		{Counts(fleet.Counts{}), "no tasks"},
		{Counts(fleet.Counts{Total: 3, Complete: 1, Queued: 2}), "1 complete, 2 queued"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestAPauseOfAnotherDayHasItsDate(t *testing.T) {
	lane := fleet.Lane{Name: "claude", Until: now.Add(90 * time.Minute), Reason: "usage limit"}
	if got, want := Paused(lane, now), "claude paused until 16:00, usage limit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	lane.Until = now.Add(24 * time.Hour)
	if got, want := Paused(lane, now), "claude paused until Feb 2 14:30, usage limit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnAttemptTakesUntilItEndedOrNow(t *testing.T) {
	if _, ok := WorkTime(nil, now); ok {
		t.Error("an attempt that is not there took time")
	}
	for want, a := range map[time.Duration]fleet.Attempt{
		time.Minute: {Started: ago(time.Minute)},
		time.Second: {Started: ago(time.Minute), Ended: ago(59 * time.Second)},
		0:           {Started: now.Add(time.Hour)},
	} {
		if got, _ := WorkTime(&a, now); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestTheTimeOfAnAttemptExcludesWaitingForTheUser(t *testing.T) {
	now := time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)
	a := fleet.Attempt{Status: fleet.Running, Started: now.Add(-time.Hour), WaitedMS: (20 * time.Minute).Milliseconds(), WaitingSince: now.Add(-10 * time.Minute)}
	if got, _ := WorkTime(&a, now); got != 30*time.Minute {
		t.Errorf("it worked %s", got)
	}
	if got, _ := WorkTime(&a, now.Add(time.Hour)); got != 30*time.Minute {
		t.Errorf("it worked %s after another hour of waiting", got)
	}
	if got := Waited(&a); got != "waited 20m 00s" {
		t.Errorf("waits that are over: %q", got)
	}
	if got, want := State(fleet.Task{Status: fleet.Running, Attempt: &a}, now), "waiting, 10m, waited 20m 00s"; got != want {
		t.Errorf("state %q, want %q", got, want)
	}
	a.WaitingSince, a.Ended, a.Denied = time.Time{}, now, []string{"Bash: make", "Write: x"}
	if got, want := Doing(fleet.Task{Status: fleet.Complete, Attempt: &a}, now), "denied: Bash: make; Write: x"; got != want {
		t.Errorf("it is at %q, want %q", got, want)
	}
}
