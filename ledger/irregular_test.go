package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
)

// unnumbered lists the records without an attempt number. gaffer cannot replace them.
var unnumbered = map[string]bool{"run-array.json": true, "run-broken.json": true, "run-wrong-types.json": true}

func TestTheRecordOfAnEarlierAttemptIsKeptByteForByteInWhateverForm(t *testing.T) {
	for golden, kind := range goldens(t) {
		name := filepath.Base(golden)
		t.Run(name, func(t *testing.T) {
			s := testStore(t)
			_, path := plant(t, s, golden)
			before := readFile(t, path)
			bead := strings.TrimSuffix(filepath.Base(path), extension)
			err := secondAttempt(t, s, kind, bead)
			if strings.HasSuffix(bead, verifySuffix) || unnumbered[name] {
				if readFile(t, path) != before || (err == nil) == unnumbered[name] {
					t.Errorf("%v, now %s", err, readFile(t, path))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if kept := readFile(t, s.keptPath(kind, bead, 1)); kept != before {
				t.Error(cmp.Diff(before, kept))
			}
			if attempt, _ := jsonField(t, path, "attempt").Int(); attempt != 2 {
				t.Errorf("the latest is attempt %d", attempt)
			}
		})
	}
}

// secondAttempt records a second attempt of the task bead. So the record of the first attempt has
// to be kept under another name.
func secondAttempt(t *testing.T, s *Store, kind Kind, bead string) error {
	t.Helper()
	bead = strings.TrimSuffix(bead, verifySuffix)
	run := dispatch(2)
	run.Bead, run.ResultFile = bead, ""
	if err := s.Begin(t.Context(), run); err != nil || kind == RunKind {
		return err
	}
	end := ended(2, Done)
	end.Bead = bead
	_, err := s.Finish(t.Context(), end)
	return err
}

func jsonField(t *testing.T, path, name string) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse([]byte(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value().Get(name)
}

func TestEndingAnIrregularRunChangesOnlyItsEnd(t *testing.T) {
	end := Result{
		Bead: "bd-1", Attempt: 1, Status: TimedOut, Reason: "watch-timeout-3600s",
		StartedAt: "2026-02-11T10:00:00Z", FinishedAt: "2026-02-11T11:00:00Z",
	}
	for name, change := range map[string]*strings.Replacer{
		"run-stuck.json": strings.NewReplacer(
			`"finished_at": null`, `"finished_at": "2026-02-11T11:00:00Z"`, `"duration_seconds": null`, `"duration_seconds": 3600`,
			`"status": "running"`, `"status": "timeout"`, "\"exit_code\": null", "\"exit_code\": null,\n  \"failure_reason\": \"watch-timeout-3600s\"",
		),
		"run-placeholder.json": strings.NewReplacer(`"prompt": "Fix the parser"`, `"prompt": "Fix the parser",
  "finished_at": "2026-02-11T11:00:00Z",
  "duration_seconds": 3600,
  "status": "timeout",
  "exit_code": null,
  "failure_reason": "watch-timeout-3600s"`),
	} {
		s := testStore(t)
		_, path := plant(t, s, filepath.Join("testdata", "wild", name))
		want := change.Replace(readFile(t, path))
		finish(t, s, end)
		if diff := cmp.Diff(want, readFile(t, path)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWildRecordsThatCannotBeFixedStayAsTheyAre(t *testing.T) {
	outcomes := map[Outcome]int{}
	for golden := range goldens(t) {
		s := testStore(t)
		_, path := plant(t, s, golden)
		before := readFile(t, path)
		for _, f := range fixAll(t, s) {
			if outcomes[f.Outcome]++; f.Outcome == Fixed {
				path = f.Backup
			} else if _, err := os.Stat(path + ".bak"); err == nil {
				t.Errorf("%s: a backup was made", golden)
			}
		}
		if readFile(t, path) != before {
			t.Errorf("%s became %s", golden, readFile(t, path))
		}
	}
	// Only the two minimal runs of the protocol's examples are fixed. Their full result and eight
	// valid runs need no fix. The other records cannot be fixed.
	if diff := cmp.Diff(map[Outcome]int{Fixed: 2, Unchanged: 9, Refused: 10}, outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestWildRecordsCountInAReportAsMeant(t *testing.T) {
	at := func(hour, minute, second, fraction int) time.Time {
		return time.Date(2026, 2, 11, hour, minute, second, fraction, time.UTC)
	}
	seconds := func(n float64) *float64 { return &n }
	type row struct {
		status            Status
		started, finished time.Time
		duration          *float64
	}
	for name, want := range map[string]row{
		"run-placeholder.json":    {Running, time.Time{}, time.Time{}, nil},
		"run-fraction.json":       {Done, at(10, 0, 0, 120_000_000), at(10, 2, 0, 500_000_000), seconds(120)},
		"run-offset.json":         {Done, at(10, 0, 0, 0), at(10, 2, 0, 0), seconds(120)},
		"run-duration.json":       {Done, at(10, 0, 0, 0), at(10, 2, 0, 0), seconds(117)},
		"run-stuck.json":          {Running, at(10, 0, 0, 0), time.Time{}, nil},
		"run-clock-back.json":     {Done, at(10, 0, 0, 0), at(9, 59, 0, 0), seconds(0)},
		"run-home.json":           {Done, at(10, 0, 0, 0), at(10, 2, 0, 0), seconds(120)},
		"run-other-bead.json":     {Done, at(10, 0, 0, 0), at(10, 2, 0, 0), seconds(120)},
		"result-running.json":     {Running, time.Time{}, at(10, 2, 0, 0), nil},
		"result-naive.json":       {Done, time.Time{}, at(10, 2, 0, 0), nil},
		"result-placeholder.json": {Failed, time.Time{}, at(10, 2, 0, 250_000_000), seconds(120)},
	} {
		s := testStore(t)
		plant(t, s, filepath.Join("testdata", "wild", name))
		_, rows := reportOf(t, s, "")
		if len(rows) != 1 {
			t.Errorf("%s: %d rows", name, len(rows))
			continue
		}
		a := rows[0]
		got := row{a.Status, a.started.UTC(), a.finished.UTC(), a.DurationSeconds}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAFileOfChecksBesideTheResultsIsNoAttempt(t *testing.T) {
	s := testStore(t)
	plant(t, s, "testdata/wild/result-bd-1-verify.json")
	report, rows := reportOf(t, s, "")
	if len(rows) != 0 || len(report.LeftOut) != 1 || report.LeftOut[0].Reason != notRecord {
		t.Errorf("%d rows, left out %v", len(rows), report.LeftOut)
	}
}
