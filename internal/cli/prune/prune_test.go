package prune

import (
	"strings"
	"testing"
	"time"

	"gaffer/internal/app/retention"
)

func TestAllTimesAreInOneZone(t *testing.T) {
	at := time.Date(2026, 2, 1, 14, 30, 0, 0, time.Local)
	far := at.In(time.FixedZone("far", 5*60*60+30*60))
	p := retention.Pruned{Before: at, Oldest: far, Newest: at.UTC(), Runs: 1}
	text := strings.Join(append(deletedCounts(p)[0], deletedCounts(p)[1]...), "|")
	if want := "WOULD GO|FROM BEFORE 2026-02-01 14:30|1 run|ended 2026-02-01 14:30 to 2026-02-01 14:30"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
