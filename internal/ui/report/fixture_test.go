package report

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/ledger"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/ui/report -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

var now = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// pick returns the item that a hash of key selects, so that the fixture is always the same.
func pick[T any](key string, list ...T) T {
	sum := sha256.Sum256([]byte(key))
	return list[int(sum[0])%len(list)]
}

// put writes one record to the file at path.
func put(t *testing.T, path, format string, args ...any) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// records creates a ledger of several months in a temporary folder, which becomes the current
// folder. It contains full, minimal and legacy records, retries, lost and stuck attempts, files
// that are not records, and hostile content.
func records(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for i := range 160 {
		task(t, fmt.Sprintf("bd-%03d", i), now.Add(-time.Duration(i*i/20+2)*9*time.Hour))
	}
	minimal := `{"bead": %q, "agent": "codex", "model": "gpt-5.3-codex", "repo": "/r", "started_at": %q, "attempt": 1, "prompt": "Build it"}`
	put(t, "state/runs/bd-legacy.json", minimal, "bd-legacy", "'$START'")
	put(t, "state/results/bd-legacy.json", `{"bead": "bd-legacy", "status": "done", "finished_at": "2026-02-11T10:02:00.25Z", "attempt": 1}`)
	put(t, "state/runs/bd-stuck.json", minimal, "bd-stuck", "2026-02-12T17:08:00+00:00")
	put(t, "state/runs/bd-soon.json", minimal, "bd-soon", now.Add(-time.Minute).Format(time.RFC3339))
	put(t, "state/runs/bd-future.json", minimal, "bd-future", "2222-02-12T17:08:00Z")
	put(t, "state/runs/evil.json", `{"bead": "evil", "agent": "<script>alert(1)</script>\u001b[2J\u202e", "model": "日本語モデルの名前", "template_name": %q,
		"started_at": "2026-03-10T10:00:00Z", "finished_at": "2026-03-10T10:00:00Z", "attempt": 1, "status": "failed", "failure_reason": "a \"quoted\" </svg>\nreason\u0007"}`,
		"a template with a name that is longer than any column that a table could have for it")
	put(t, "state/runs/bd-odd.json", `{"bead": "bd-odd", "agent": "claude", "started_at": "2026-03-11T10:00:00Z", "status": "exploded", "duration_seconds": 1e300}`)
	put(t, "state/runs/bd-torn.json", `{"bead": "bd-torn", "agent": "cla`)
	put(t, "state/runs/bd-list.json", `[]`)
	put(t, "state/results/bd-001-verify.json", `{"lint": "pass"}`)
}

// task writes the full records of a task, with further attempts after failures.
func task(t *testing.T, bead string, start time.Time) {
	t.Helper()
	for n := 1; n <= 4; n++ {
		key := fmt.Sprint(bead, n)
		agent := pick(bead+"agent", "claude", "claude", "claude", "codex", "gemini")
		status, reason := pick(key, "done", "done", "done", "failed", "done", "timeout", "done"), ""
		if status != "done" {
			reason = pick(key+"why", "lost", "session-exited-without-markers", "verify_failed", "verify_failed", "rate_limited")
		}
		if status == "timeout" {
			reason = "watch-timeout-3600s"
		}
		seconds := pick(key+"long", 8, 25, 45, 70, 100, 200, 280, 400, 650, 900, 1500, 1700, 2500, 3000, 5000)
		again := status != "done" && n < 4 && pick(key+"again", true, true, false)
		name := bead
		if again {
			name = fmt.Sprintf("%s.attempt-%d", bead, n)
		}
		put(t, "state/runs/"+name+".json", `{"schema_version": 1, "bead": %q, "agent": %q, "model": %q, "template_name": %q, "prompt": %q,
			"started_at": %q, "finished_at": %q, "duration_seconds": %d, "status": %q, "attempt": %d, "failure_reason": %q}`,
			bead, agent, pick(bead+"model"+agent, "opus", "sonnet", "gpt-5.3-codex"), pick(bead+"template", "bug-fix", "feature", "refactor", ""),
			pick(bead+"prompt", "Fix it", "Build it", "Review it", "Whatever"),
			start.Format(time.RFC3339), start.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339), seconds, status, n, reason)
		if !again {
			return
		}
		start = start.Add(2 * time.Hour)
	}
}

// cost returns the cost of an attempt, which is known for most attempts.
func cost(bead string, attempt int) (float64, bool) {
	return pick(fmt.Sprint(bead, attempt, "cost"), 0.12, 0.5, 1.75, 3.2, 0), bead < "bd-140"
}

func reportOf(t *testing.T, q ledger.Query) ledger.Report {
	t.Helper()
	store := ledger.Open("state", ledger.Options{Now: func() time.Time { return now }})
	r, err := store.Report(t.Context(), q, func(ledger.Attempt) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}
