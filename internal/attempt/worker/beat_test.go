package worker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

func TestAnAgentIsFrozenBeforeItsLeaseEnds(t *testing.T) {
	asked := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for lease, want := range map[time.Duration]time.Duration{
		2 * time.Second: 1500 * time.Millisecond, 40 * time.Second: 30 * time.Second, time.Minute: 50 * time.Second, time.Hour: 59*time.Minute + 50*time.Second,
	} {
		if got := freezeTime(lease, asked).Sub(asked); got != want {
			t.Errorf("a lease of %s: frozen after %s, want %s", lease, got, want)
		}
	}
	for _, lease := range []time.Duration{0, 25 * time.Hour, 100 * 365 * 24 * time.Hour} {
		if until := freezeTime(lease, asked); !until.IsZero() {
			t.Errorf("a lease of %s: frozen at %s", lease, until)
		}
	}
}

func TestRenewingAnEndlessLeaseChangesNothing(t *testing.T) {
	var l lease
	for range 3 {
		if l.renew(100*365*24*time.Hour, time.Now()) || !l.freezeAt().IsZero() || l.length() != 0 || l.over(time.Now()) {
			t.Error("it has changed")
		}
	}
	if !l.renew(time.Minute, time.Now()) || !l.renew(time.Minute, time.Now().Add(time.Second)) || l.length() != time.Minute {
		t.Error("one that ends has not")
	}
}

func TestBeatsAreAsOftenAsTheShortestLeaseNeeds(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		beats    beatTimer
		shortest time.Duration
		want     time.Duration
	}{
		"no lease":                   {beatTimer{last: now}, 0, 15 * time.Second},
		"a minute":                   {beatTimer{last: now}, time.Minute, 15 * time.Second},
		"a short lease":              {beatTimer{last: now}, 2 * time.Second, 500 * time.Millisecond},
		"some time after":            {beatTimer{last: ago(5 * time.Second)}, 0, 10 * time.Second},
		"news":                       {beatTimer{last: ago(40 * time.Millisecond), dirty: true}, 0, 60 * time.Millisecond},
		"news after long":            {beatTimer{last: ago(time.Minute), dirty: true}, 0, 0},
		"one is under way":           {beatTimer{last: ago(time.Minute), dirty: true, inFlight: true}, 0, time.Hour},
		"the last was not answered":  {beatTimer{last: now, dirty: true, retryPause: 3 * time.Second}, time.Minute, 3 * time.Second},
		"news about the short lease": {beatTimer{last: now, dirty: true}, 200 * time.Millisecond, 50 * time.Millisecond},
	} {
		if got := c.beats.wait(now, c.shortest); got != c.want {
			t.Errorf("%s: the next is in %s, want %s", name, got, c.want)
		}
	}
}

func TestPausesBetweenBeatsThatFailGrowWithinTheLease(t *testing.T) {
	for shortest, limit := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Minute: 5 * time.Second, 8 * time.Second: time.Second, 400 * time.Millisecond: 50 * time.Millisecond} {
		var b beatTimer
		for range 12 {
			if b.ended(false, shortest); b.retryPause > limit || !b.dirty {
				t.Errorf("with a lease of %s: %+v", shortest, b)
			}
		}
		if b.retryPause != limit {
			t.Errorf("with a lease of %s the pause grows to %s", shortest, b.retryPause)
		}
		if b.ended(true, shortest); b.retryPause != 0 {
			t.Errorf("after one that was answered: %+v", b)
		}
	}
}

func TestTheUserIsNotifiedOnceOfAnOutageAndOnceOfItsEnd(t *testing.T) {
	var told []string
	c := outageNotices{notice: func(text string) { told = append(told, text) }}
	away := errors.New("connection refused")
	for _, heard := range []struct {
		what string
		err  error
	}{
		{"claim", nil},
		{"claim", engine.ErrNothing},
		{"finish a", &engine.ConflictError{What: "x", Why: "y"}},
		{"beat", away},
		{"beat", away},
		{"claim", fmt.Errorf("claim: %w", away)},
		{"finish a", away},
		{"beat", away},
		{"finish a", nil},
		{"beat", nil},
		{"beat", nil},
		{"claim", engine.ErrNothing},
	} {
		c.noteAnswer(heard.what, heard.err)
	}
	want := []string{"beat: connection refused; going on, and trying again", "beat: answered again"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}

func TestAWorkerShowsAWaitingTaskOrTheOldest(t *testing.T) {
	w := New(Options{ID: "w", Name: "n", Slots: 4})
	if w.shownTask() != "" || string(w.describe().Meta) != `{"program":"","slots":4,"labels":null,"source":"worker","held":0}` {
		t.Errorf("%q, %s", w.shownTask(), w.describe().Meta)
	}
	for _, id := range []string{"b", "a", "d", "c"} {
		key := store.TaskKey{Run: "r", Task: id}
		w.hold(engine.Assignment{Attempt: store.Attempt{ID: id, Run: "r", Task: id}, Task: store.Task{TaskKey: key}}, time.Time{})
	}
	if w.shownTask() != "r.a" || w.describe().Status != "running" {
		t.Errorf("it shows %s", w.shownTask())
	}
	for _, id := range []string{"d", "c"} {
		w.held[id].now.State = "waiting"
	}
	if w.shownTask() != "r.c" || w.describe().Status != "waiting" {
		t.Errorf("it shows %s", w.shownTask())
	}
}
