package postgres

import (
	"context"
	"errors"
	"testing"
	"time"
)

// testClocks holds the local clock and the database's clock of a test. The test sets both.
type testClocks struct {
	ours, theirs time.Time
	there, back  time.Duration // network delay to the database, and delay of the reply
	err          error
}

func newSky(ahead time.Duration) *testClocks {
	s := &testClocks{ours: time.Now()}
	s.theirs = s.ours.Round(0).Add(ahead)
	return s
}

func (s *testClocks) pass(d time.Duration) { s.ours, s.theirs = s.ours.Add(d), s.theirs.Add(d) }

func (s *testClocks) clock() *clock {
	return &clock{local: func() time.Time { return s.ours }, open: func(context.Context) (func() (time.Time, error), func(), error) {
		return func() (time.Time, error) {
			s.pass(s.there)
			theirs := s.theirs
			s.pass(s.back)
			return theirs, s.err
		}, func() {}, nil
	}}
}

// check checks that the time of c differs from the database's clock by at most the tolerance.
func (s *testClocks) check(t *testing.T, c *clock, tolerance time.Duration) {
	t.Helper()
	if wrong := c.now().Sub(s.theirs); wrong.Abs() > tolerance {
		t.Errorf("it is wrong by %s", wrong)
	}
}

func TestTheDatabasesClockIsKnownUpToHalfTheWay(t *testing.T) {
	for name, s := range map[string]*testClocks{
		"at once": newSky(time.Hour), "behind": newSky(-time.Hour),
		"far away": {there: 300 * time.Millisecond, back: 300 * time.Millisecond},
		"one way":  {there: 600 * time.Millisecond},
	} {
		if s.ours.IsZero() {
			far := newSky(-time.Hour)
			s.ours, s.theirs = far.ours, far.theirs
		}
		c := s.clock()
		if err := c.measure(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			s.check(t, c, (s.there-s.back).Abs()/2)
			s.pass(time.Minute)
			s.check(t, c, (s.there-s.back).Abs()/2)
		})
	}
}

func TestASlowOrFailedMeasurementIsIgnored(t *testing.T) {
	s := newSky(time.Hour)
	c := s.clock()
	if err := c.measure(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.there = 10 * time.Second
	if err := c.measure(t.Context(), maxRoundTrip); err != nil {
		t.Fatal(err)
	}
	s.check(t, c, 0)
	s.err = errors.New("away")
	if err := c.measure(t.Context(), maxRoundTrip); err == nil {
		t.Error("it did not fail")
	}
	s.check(t, c, 0)
}

func TestTheClockDoesNotGoBackUnlessTheDatabasesWasSet(t *testing.T) {
	s := newSky(0)
	c := s.clock()
	measure := func() time.Time {
		t.Helper()
		if err := c.measure(t.Context(), maxRoundTrip); err != nil {
			t.Fatal(err)
		}
		return c.now()
	}
	before := measure()
	s.theirs = s.theirs.Add(-10 * time.Second)
	if after := measure(); !after.Equal(before) {
		t.Errorf("corrected by ten seconds it went by %s", after.Sub(before))
	}
	s.pass(11 * time.Second)
	s.check(t, c, 0)
	s.theirs = s.theirs.Add(-time.Hour)
	measure()
	s.check(t, c, 0)
}

func TestTheClockIsMeasuredAgainInTimeAndAfterAStepOfTheLocalClock(t *testing.T) {
	for name, c := range map[string]struct {
		wall, monotonic time.Duration
		want            bool
	}{
		"at once":       {0, 0, false},
		"later":         {4 * time.Second, 4 * time.Second, false},
		"after a while": {measureEvery, measureEvery, true},
		"set on":        {time.Minute, time.Second, true},
		"set back":      {-time.Minute, time.Second, true},
		"having slept":  {time.Hour, time.Millisecond, true},
		"a little off":  {900 * time.Millisecond, time.Second, false},
	} {
		if got := measurementDue(c.wall, c.monotonic); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
