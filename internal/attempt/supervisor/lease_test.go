package supervisor

import (
	"encoding/json"
	"testing"
	"time"
)

func TestALeaseIsOverWhenEitherClockSaysSo(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for name, c := range map[string]struct {
		lease   lease
		at      time.Time
		over    bool
		soonest time.Duration // shortest time until the next check
	}{
		"for ever":                     {lease{}, in(1000 * time.Hour), false, -1},
		"not yet":                      {newLease(in(time.Minute), now).received(now), in(59900 * time.Millisecond), false, 100 * time.Millisecond},
		"over":                         {newLease(in(time.Minute), now).received(now), in(time.Minute), true, 0},
		"was over when it came":        {newLease(in(-time.Minute), now).received(now), now, true, 0},
		"looked at now and then":       {newLease(in(time.Hour), now).received(now), now, false, leaseCheckInterval},
		"the wall clock was set back":  {lease{Until: in(time.Hour).Round(0), end: in(time.Second)}, in(time.Second), true, 0},
		"it was set, or we have slept": {lease{Until: in(time.Second).Round(0), end: in(time.Hour)}, in(time.Second), true, 0},
	} {
		if got := c.lease.over(c.at); got != c.over {
			t.Errorf("%s: over is %t", name, got)
		}
		if c.soonest >= 0 && c.lease.nextCheck(c.at) != c.soonest {
			t.Errorf("%s: looked at in %s", name, c.lease.nextCheck(c.at))
		}
	}
}

func TestALeaseIsIndependentOfTheReceiversClock(t *testing.T) {
	now := time.Now()
	text, err := json.Marshal(order{Do: doExtend, Lease: newLease(now.Add(time.Minute), now)})
	if err != nil {
		t.Fatal(err)
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	l := o.Lease.received(now.Add(-time.Hour)) // received by a process whose clock is an hour behind
	if l.Left != time.Minute || !l.over(now.Add(-59*time.Minute)) || l.over(now.Add(-59*time.Minute-time.Second)) {
		t.Errorf("%s has become %+v", text, l)
	}
}

func TestTwoCleanPassesInARowMeanThatAllIsFrozen(t *testing.T) {
	var p passes
	for i, c := range []struct{ clean, still bool }{{false, false}, {true, false}, {false, false}, {true, false}, {true, true}, {true, true}, {false, false}} {
		if still, wait := p.result(c.clean); still != c.still || wait <= 0 || wait > leaseCheckInterval {
			t.Errorf("pass %d: still %t, the next in %s", i+1, still, wait)
		}
	}
}

func TestAFrozenAgentIsAbandonedAfterALimit(t *testing.T) {
	type look struct {
		at     time.Duration
		client bool
		want   bool
	}
	for name, looks := range map[string][]look{
		"alone":                              {{0, false, false}, {9 * time.Minute, false, false}, {10 * time.Minute, false, true}},
		"its worker is gone later":           {{0, true, false}, {time.Hour, true, false}, {time.Hour + 9*time.Minute, false, false}, {time.Hour + 10*time.Minute, false, true}},
		"another worker comes":               {{0, false, false}, {9 * time.Minute, true, false}, {18 * time.Minute, false, false}},
		"a worker asks in vain for a day":    {{0, true, false}, {23 * time.Hour, true, false}, {24 * time.Hour, true, true}},
		"workers come and go, and never ask": {{0, false, false}, {time.Minute, true, false}, {24 * time.Hour, true, true}},
	} {
		f, begin := frozen{abandon: DefaultAbandon}, time.Now()
		for _, l := range looks {
			if got := f.tooLong(begin.Add(l.at), l.client); got != l.want {
				t.Errorf("%s: after %s it is given up: %t", name, l.at, got)
			}
		}
	}
}
