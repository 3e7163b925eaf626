package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fixAll(t *testing.T, s *Store) map[string]Fix {
	t.Helper()
	fixes := map[string]Fix{}
	err := s.Fix(t.Context(), func(f Fix) error {
		name, err := filepath.Rel(s.root, f.Path)
		fixes[name] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fixes
}

func TestAFixAddsWhatCanBeDerivedAndChangesNothingElse(t *testing.T) {
	s := testStore(t)
	run, result := s.path(RunKind, "bd-xyz"), s.path(ResultKind, "bd-xyz")
	minimalRun := readFile(t, "testdata/seed/run-minimal.json")
	minimalResult := readFile(t, "testdata/seed/result-minimal.json")
	writeFile(t, run, []byte(minimalRun))
	writeFile(t, result, []byte(minimalResult))
	fixAll(t, s)
	wantRun := strings.Replace(minimalRun, "\n}", `,
  "schema_version": 1,
  "status": "done",
  "finished_at": "2026-02-12T17:10:00Z",
  "exit_code": null,
  "duration_seconds": 120,
  "prompt_full": "Task description from dispatcher",
  "prompt_hash": "`+Hash("Task description from dispatcher")+`",
  "max_retries": 2,
  "session_name": "agent-bd-xyz",
  "result_file": "state/results/bd-xyz.json"
}`, 1)
	wantResult := strings.Replace(minimalResult, "\n}", `,
  "schema_version": 1,
  "agent": "claude",
  "reason": "done",
  "started_at": "2026-02-12T17:08:00Z",
  "duration_seconds": 120,
  "max_retries": 2,
  "will_retry": false,
  "exit_code": null,
  "session_name": "agent-bd-xyz"
}`, 1)
	for _, c := range []struct{ path, want, was string }{{run, wantRun, minimalRun}, {result, wantResult, minimalResult}} {
		if diff := cmp.Diff(c.want, readFile(t, c.path)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(c.was, readFile(t, c.path+".bak")); diff != "" {
			t.Error(diff)
		}
	}
	if n := soundLedger(t, s); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	for name, f := range fixAll(t, s) {
		if f.Outcome != Unchanged {
			t.Errorf("the second time %s was %s", name, f.Outcome)
		}
	}
}

func TestAFixOfTheSeedsFullRecordsDerivesThePromptAndItsHashAndNothingElse(t *testing.T) {
	s := testStore(t)
	run, result := readFile(t, "testdata/seed/run-full.json"), readFile(t, "testdata/seed/result-full.json")
	writeFile(t, s.path(RunKind, "bd-xyz"), []byte(run))
	writeFile(t, s.path(ResultKind, "bd-xyz"), []byte(result))
	fixes := fixAll(t, s)
	if got := fixes["runs/bd-xyz.json"]; got.Outcome != Fixed || strings.Join(got.Set, " ") != "prompt_full prompt_hash" {
		t.Errorf("the run: %+v", got)
	}
	want := strings.NewReplacer("abc123...", Hash("Task description"), `"exit_code": 0`, `"exit_code": 0,
  "prompt_full": "Task description"`).Replace(run)
	if diff := cmp.Diff(want, readFile(t, s.path(RunKind, "bd-xyz"))); diff != "" {
		t.Error(diff)
	}
	if got := fixes["results/bd-xyz.json"]; got.Outcome != Unchanged || readFile(t, s.path(ResultKind, "bd-xyz")) != result {
		t.Errorf("the result: %+v", got)
	}
}

func TestAFixCopiesTheOutcomeFromTheResult(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	running := readFile(t, s.path(RunKind, "bd-1"))
	finish(t, s, ended(1, TimedOut))
	writeFile(t, s.path(RunKind, "bd-1"), []byte(running))
	fixAll(t, s)
	run, err := s.Run("bd-1", 1)
	if err != nil || run.Status != TimedOut || *run.DurationSeconds != 90 || *run.ExitCode != 1 || *run.FailureReason != "because" {
		t.Errorf("%+v, %v", run, err)
	}
	if n := soundLedger(t, s); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestAFixInventsNothingThatTheOtherRecordKnows(t *testing.T) {
	s := testStore(t)
	put(t, s, RunKind, "bd-1", "%s", legacy)
	put(t, s, ResultKind, "bd-1", `{"schema_version": 1, "bead": "bd-1", "agent": "claude", "status": "failed", "reason": "max-retries-reached",
		"started_at": "2026-02-12T17:08:00Z", "finished_at": "2026-02-12T17:10:00Z", "duration_seconds": 118, "attempt": 1, "max_retries": 5,
		"will_retry": false, "exit_code": 7, "session_name": "mine"}`)
	put(t, s, RunKind, "bd-2", `{"schema_version": 1, "bead": "bd-2", "agent": "claude", "model": "m", "repo": "/r", "prompt": "x", "prompt_full": "x",
		"prompt_hash": "%s", "started_at": "2026-02-12T17:08:00Z", "finished_at": "2026-02-12T17:10:00Z", "duration_seconds": 118, "status": "timeout",
		"attempt": 1, "max_retries": 5, "session_name": "mine", "result_file": "state/results/bd-2.json", "exit_code": 7, "failure_reason": "max-retries-reached"}`, Hash("x"))
	put(t, s, ResultKind, "bd-2", `{"bead": "bd-2", "status": "timeout", "finished_at": "2026-02-12T17:10:00Z", "attempt": 1}`)
	fixAll(t, s)
	run, err1 := s.Run("bd-1", 0)
	result, err2 := s.Result("bd-2", 0)
	if err1 != nil || run.FailureReason == nil {
		t.Fatalf("%+v, %v", run, err1)
	}
	if run.Status != Failed || *run.FailureReason != "max-retries-reached" || *run.DurationSeconds != 118 || run.MaxRetries != 5 || run.SessionName != "mine" || *run.ExitCode != 7 {
		t.Errorf("%+v", run)
	}
	if err2 != nil || result.Reason != "max-retries-reached" || *result.DurationSeconds != 118 || result.MaxRetries != 5 || result.SessionName != "mine" || *result.ExitCode != 7 {
		t.Errorf("%+v, %v", result, err2)
	}
}

func TestAnUnrepairableRecordIsRefusedWithTheReason(t *testing.T) {
	minimal := func(replace ...string) string { return strings.NewReplacer(replace...).Replace(legacy) }
	for _, c := range []struct{ name, data, why string }{
		{"broken JSON", `{"bead": "bd-1", "ag`, "not JSON: line 1, column 21"},
		{"an empty file", "", "not JSON"},
		{"a list", `[]`, "an array where a run record should be"},
		{"a placeholder", minimal("2026-02-12T17:08:00Z", "'$START'"), "started_at \"'$START'\" is a shell variable"},
		{"no bead", minimal(`"bead": "bd-1", `, ""), "bead is missing and cannot be derived"},
		{"a prompt that may be cut", minimal("Fix it", strings.Repeat("x", 200)), "prompt may have been cut off"},
		{"a field of another program", minimal(`"attempt"`, `"mine": 1, "attempt"`), "mine is not a field of a run record"},
		{"a newer version", minimal(`"bead"`, `"schema_version": 2, "bead"`), "schema_version 2 is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testStore(t)
			path := s.path(RunKind, "bd-1")
			writeFile(t, path, []byte(c.data))
			got := fixAll(t, s)["runs/bd-1.json"]
			if got.Outcome != Refused || !strings.Contains(got.Why, c.why) {
				t.Errorf("got %s, want the reason %q", got, c.why)
			}
			if now := readFile(t, path); now != c.data {
				t.Errorf("it became %s", now)
			}
			if _, err := os.Stat(path + ".bak"); err == nil {
				t.Error("a backup was made")
			}
		})
	}
}

func TestALinkToARecordIsRefusedAndTheOthersAreFixed(t *testing.T) {
	s := testStore(t)
	elsewhere := filepath.Join(t.TempDir(), "bd-1.json")
	writeFile(t, elsewhere, []byte(legacy))
	put(t, s, RunKind, "bd-2", "%s", strings.Replace(legacy, "bd-1", "bd-2", 1))
	must(t, os.Symlink(elsewhere, s.path(RunKind, "bd-1")))
	fixes := fixAll(t, s)
	if f := fixes["runs/bd-1.json"]; f.Outcome != Refused || !strings.Contains(f.Why, "link") {
		t.Errorf("%+v", f)
	}
	if f := fixes["runs/bd-2.json"]; f.Outcome != Fixed {
		t.Errorf("%+v", f)
	}
	if _, err := os.Lstat(s.path(RunKind, "bd-1") + ".bak"); err == nil || readFile(t, elsewhere) != legacy {
		t.Error("the link or its record was touched")
	}
}

func TestABackupIsNeverOverwritten(t *testing.T) {
	s := testStore(t)
	path := s.path(RunKind, "bd-1")
	writeFile(t, path, []byte(legacy))
	writeFile(t, path+".bak", []byte("precious"))
	fixAll(t, s)
	if readFile(t, path+".bak") != "precious" || readFile(t, path+".bak-2") != legacy {
		t.Error("the first backup was overwritten or the second not made")
	}
}

func TestAResultWithoutARunCannotBeFixed(t *testing.T) {
	s := testStore(t)
	writeFile(t, s.path(ResultKind, "bd-xyz"), []byte(readFile(t, "testdata/seed/result-minimal.json")))
	got := fixAll(t, s)["results/bd-xyz.json"]
	if got.Outcome != Refused || !strings.Contains(got.Why, "no run record of the attempt says it") {
		t.Errorf("got %s", got)
	}
}

func TestAFileOfCheckResultsIsSkipped(t *testing.T) {
	s := testStore(t)
	writeFile(t, filepath.Join(s.Dir(ResultKind), "bd-1-verify.json"), []byte(`{"bead": "bd-1", "lint": "pass"}`))
	if got := fixAll(t, s); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
