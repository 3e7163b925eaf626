package ledger

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reportOf(t *testing.T, s *Store, since string) (Report, []Attempt) {
	t.Helper()
	from, err := ParseSince(since, noon)
	if err != nil {
		t.Fatal(err)
	}
	return queried(t, s, Query{Since: from})
}

func queried(t *testing.T, s *Store, q Query) (Report, []Attempt) {
	t.Helper()
	var rows []Attempt
	r, err := s.Report(t.Context(), q, func(a Attempt) error {
		rows = append(rows, a)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, rows
}

func put(t *testing.T, s *Store, kind Kind, name, format string, args ...any) {
	t.Helper()
	writeFile(t, s.path(kind, name), fmt.Appendf(nil, format, args...))
}

// mixed is a ledger with every form of record.
func mixed(t *testing.T) *Store {
	s := testStore(t)
	begin(t, s, dispatch(1))
	finish(t, s, ended(1, Failed))
	begin(t, s, dispatch(2))
	finish(t, s, ended(2, Done))
	run := `{"bead": %q, "agent": "codex", "model": "gpt", "repo": "/r", "started_at": %q, "attempt": 1, "prompt": "Build it"}`
	end := `{"bead": %q, "status": %q, "finished_at": "2026-02-12T17:10:00.5Z", "attempt": 1, "reason": "watch-timeout-3600s"}`
	put(t, s, RunKind, "bd-2", run, "bd-2", "2026-02-12T17:08:00Z")
	put(t, s, ResultKind, "bd-2", end, "bd-2", "timeout")
	put(t, s, RunKind, "bd-3", run, "bd-3", "'$START'")
	put(t, s, ResultKind, "bd-3", end, "bd-3", "timeout")
	put(t, s, RunKind, "bd-4", run, "bd-4", "2026-02-10T17:08:00Z")
	put(t, s, ResultKind, "bd-5", end, "bd-5", "done")
	put(t, s, ResultKind, "bd-5-verify", `{"bead": "bd-5"}`)
	put(t, s, RunKind, "bd-6", `{"bead`)
	put(t, s, RunKind, "bd-7", `[]`)
	return s
}

func TestAReportMergesEveryFormAndSaysWhatItLeftOut(t *testing.T) {
	r, rows := reportOf(t, mixed(t), "")
	var got []string
	for _, a := range rows {
		got = append(got, fmt.Sprintf("%s/%d %s %s %s", a.Bead, a.Attempt, a.Agent, a.Status, a.TaskType))
	}
	want := []string{
		"bd-1/1 claude failed fix", "bd-1/2 claude done fix", "bd-2/1 codex timeout build",
		"bd-3/1 codex timeout build", "bd-4/1 codex running build", "bd-5/1 unknown done other",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stats := r.Statistics
	stats.ByAgent, stats.ByModel, stats.ByTemplate, stats.TaskTypes = nil, nil, nil, nil
	stats.ByWeek, stats.Durations.Buckets = nil, nil
	first, last := "2026-02-10T17:08:00Z", "2026-02-12T17:10:00Z"
	wantStats := Statistics{
		TotalRuns: 6, Tasks: 5, Success: 2, Failed: 1, Timeout: 2, Running: 1,
		SuccessRate: 40, RetryCount: 1, RetryRate: 20, AvgDurationSeconds: 100.2,
		Stuck: 1, FirstRun: &first, LastRun: &last,
		FailureReasons: []Reason{{"watch-timeout-3600s", 2}, {"because", 1}},
		Durations:      Durations{Runs: 3, P50: 90, P90: 120.5, P99: 120.5},
		Retries:        Retries{Tasks: 1, Done: 1, ByAttempts: []Attempts{{Attempts: 1, Tasks: 4, Done: 1}, {Attempts: 2, Tasks: 1, Done: 1}}},
		Cost:           Cost{UnknownRuns: 6},
	}
	if diff := cmp.Diff(wantStats, stats); diff != "" {
		t.Error(diff)
	}
	left := map[string]int{}
	for _, l := range r.LeftOut {
		left[l.Reason] = l.Count
	}
	if diff := cmp.Diff(map[string]int{notJSON: 1, notObject: 1, notRecord: 1}, left); diff != "" {
		t.Error(diff)
	}
	wantAgents := []Agent{
		{"claude", Group{Count: 2, Success: 1, Failed: 1, SuccessRate: 50, AvgDuration: 90}},
		{"codex", Group{Count: 3, Timeout: 2, Running: 1, AvgDuration: 120.5}},
		{"unknown", Group{Count: 1, Success: 1, SuccessRate: 100}},
	}
	if diff := cmp.Diff(wantAgents, r.Statistics.ByAgent); diff != "" {
		t.Error(diff)
	}
}

func TestAReportSinceADateLeavesOutWhatEndedBefore(t *testing.T) {
	r, rows := reportOf(t, mixed(t), "2026-02-12")
	if len(rows) != 5 || r.Statistics.Running != 0 || *r.Filter.Since != "2026-02-12" {
		t.Errorf("%d rows, %+v", len(rows), r)
	}
	if r, rows = reportOf(t, mixed(t), "2026-02-13"); len(rows) != 0 || r.Statistics.TotalRuns != 0 {
		t.Errorf("%d rows, %+v", len(rows), r)
	}
}

func TestAReportIsTheSameEveryTime(t *testing.T) {
	s := mixed(t)
	text := func() string {
		r, rows := reportOf(t, s, "")
		b, err := json.Marshal([]any{r, rows})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := text()
	for range 20 {
		if again := text(); again != first {
			t.Fatalf("%s\n%s", first, again)
		}
	}
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	if text() != first {
		t.Error("one processor gives another report")
	}
}
