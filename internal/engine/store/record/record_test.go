package record_test

import (
	"math"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

func TestTimesKeepTheirOrderInAColumn(t *testing.T) {
	var last int64 = math.MinInt64
	for _, when := range []time.Time{
		{},
		time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, -1), time.Unix(0, 0),
		time.Date(2026, 3, 1, 0, 0, 0, 1, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		n := record.Nanos(when)
		if n < last {
			t.Errorf("%s is %d, which is before %d", when, n, last)
		}
		last = n
	}
	if last != math.MaxInt64 || record.Nanos(time.Time{}) != math.MinInt64 {
		t.Error("times that are too far away are not at the ends")
	}
	if record.NanosOrNull(time.Time{}) != nil || *record.NanosOrNull(time.Unix(0, 5)) != 5 {
		t.Error("only the zero time is null")
	}
}

func TestTextIsReadableAndReadBack(t *testing.T) {
	worker := store.Worker{ID: "a<b>&\u2028\x00é"}
	text, err := record.Text(&worker)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"a<b>&\u2028\u0000é","seen":"0001-01-01T00:00:00Z"}`; text != want {
		t.Errorf("text is %s, want %s", text, want)
	}
	back, err := record.Read[store.Worker]([]byte(text))
	if err != nil || back.ID != worker.ID {
		t.Errorf("read back %v, %v", back, err)
	}
	if _, err := record.Read[store.Worker]([]byte(`{"id":`)); err == nil {
		t.Error("half a row was read")
	}
}

func TestATaskIsIdleIfOnlyItsTimeWaveOrAccountKeepsItFromBeingReady(t *testing.T) {
	for _, test := range []struct {
		task store.Task
		want bool
	}{
		{store.Task{Status: store.Queued}, true},
		{store.Task{Status: store.Queued, Ready: true}, false},
		{store.Task{Status: store.Queued, Blockers: 1}, false},
		{store.Task{Status: store.Running}, false},
	} {
		if got := test.task.Idle(); got != test.want {
			t.Errorf("%+v: idle is %v", test.task, got)
		}
	}
}
