package ledger

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
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

// mixed returns a ledger with records in every form.
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

func TestAReportMergesEveryFormAndListsUncountedFiles(t *testing.T) {
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

func TestRunsAndResultsBelongTogetherByTheBeadThatTheyName(t *testing.T) {
	s := testStore(t)
	run := func(bead string, attempt int) []byte {
		return fmt.Appendf(nil, `{"bead":%q,"agent":"claude","model":"m","repo":"/r","prompt":"p","started_at":"2026-02-12T10:00:00Z","attempt":%d}`, bead, attempt)
	}
	result := func(bead string, attempt int, status Status) []byte {
		return fmt.Appendf(nil, `{"bead":%q,"status":%q,"finished_at":"2026-02-12T10:02:00Z","attempt":%d}`, bead, status, attempt)
	}
	writeFile(t, filepath.Join(s.Dir(RunKind), "2026-02-12-a.json"), run("bd-5", 1))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "bd-5.json"), result("bd-5", 1, Done))
	writeFile(t, filepath.Join(s.Dir(RunKind), "x.json"), run("bd-3", 1))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "y.json"), result("bd-3", 1, Failed))
	writeFile(t, filepath.Join(s.Dir(RunKind), "bd-3.json"), run("bd-3", 2))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "zz.json"), result("bd-3", 2, Done))
	writeFile(t, filepath.Join(s.Dir(RunKind), "bd-7.json"), run("bd-7", 1))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "bd-7.json"), result("bd-7", 1, TimedOut))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "bd-7-verify.json"), []byte(`{"bead":"bd-7","tests":"pass"}`))
	writeFile(t, filepath.Join(s.Dir(ResultKind), "copy.json"), result("bd-7", 1, Done)) // not counted: bd-7.json has the same attempt
	var rows []string
	r, err := s.Report(t.Context(), Query{}, func(a Attempt) error {
		rows = append(rows, fmt.Sprintf("%s/%d %s %v", a.Bead, a.Attempt, a.Status, a.HasRun && a.HasResult))
		return nil
	})
	must(t, err)
	if got, want := strings.Join(rows, ", "), "bd-3/1 failed true, bd-3/2 done true, bd-5/1 done true, bd-7/1 timeout true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	left := map[string]int{}
	for _, l := range r.LeftOut {
		left[l.Reason] = l.Count
	}
	if diff := cmp.Diff(map[string]int{sameAttempt: 1, notRecord: 1}, left); diff != "" {
		t.Error(diff)
	}
	if n := r.Statistics; n.Tasks != 3 || n.TotalRuns != 4 || n.Success != 2 || n.RetryCount != 1 {
		t.Errorf("%+v", n)
	}
	for _, c := range validateAll(t, s) {
		for _, f := range c.Found {
			if f.Name == runWithoutResult || f.Name == resultWithoutRun {
				t.Error(f)
			}
		}
	}
}

func TestARowHasAllThatTheProtocolsReportHas(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	finish(t, s, ended(1, Failed))
	writeFile(t, s.path(RunKind, "bd-2"), []byte(`{"bead":"bd-2","agent":"claude","model":"m","repo":"/r","prompt":"p","started_at":"2026-02-12T10:00:00Z","attempt":1}`))
	var rows []map[string]any
	_, err := s.Report(t.Context(), Query{}, func(a Attempt) error {
		data, err := json.Marshal(a)
		must(t, err)
		var row map[string]any
		must(t, json.Unmarshal(data, &row))
		rows = append(rows, row)
		return nil
	})
	must(t, err)
	var record map[string]any
	must(t, json.Unmarshal([]byte(readFile(t, s.path(RunKind, "bd-1"))), &record))
	record["result_status"], record["result_reason"], record["result_finished_at"] = "failed", "because", record["finished_at"]
	for name, want := range record {
		if got, ok := rows[0][name]; !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"result_status", "result_reason", "result_finished_at", "prompt_full"} {
		if got, ok := rows[1][name]; !ok || got != nil {
			t.Errorf("%s of a run without a result is %v, want null", name, got)
		}
	}
	if rows[1]["prompt"] != "p" {
		t.Errorf("prompt is %v", rows[1]["prompt"])
	}
}
