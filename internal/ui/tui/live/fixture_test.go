package live

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
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
		t.Fatalf("%v; go test ./internal/ui/tui/live -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

var now = time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// release returns a run that has a task in each state.
func release() fleet.Run {
	r := fleet.Run{
		ID: "20260201-142726-0c0ffee0", Name: "release 1.4", Status: fleet.Running, Created: ago(154 * time.Second),
		Spent: fleet.Cost{USD: 0.42, Tokens: 123_456}, Budget: fleet.Cost{USD: 20},
		Lanes: []fleet.Lane{{Name: "codex", Until: now.Add(30 * time.Minute), Reason: "usage limit"}},
		Tasks: []fleet.Task{
			{ID: "schema", Name: "Write the schema", Status: fleet.Complete, Retries: 1, Tries: 1, Attempt: &fleet.Attempt{
				Number: 1, Started: ago(150 * time.Second), Ended: ago(96 * time.Second),
				Spent: fleet.Cost{USD: 0.12, Tokens: 43_210}, Checks: []fleet.Check{{OK: true}, {OK: true}},
			}},
			{ID: "api", Name: "Build the API", Status: fleet.Running, Retries: 2, Tries: 2, After: []string{"schema"}, Attempt: &fleet.Attempt{
				Number: 2, Started: ago(62 * time.Second), Activity: fleet.Activity{State: "running", Doing: "Bash: go test ./... -run TestEverythingThatTakesAWhile"}, Spent: fleet.Cost{USD: 0.3, Tokens: 80_246},
			}},
			{ID: "page", Name: "Build the page 日本語", Status: fleet.Running, After: []string{"schema"}, Attempt: &fleet.Attempt{
				Number: 1, Started: ago(48 * time.Second), Activity: fleet.Activity{State: "waiting", Source: "control"},
			}, Question: &fleet.Question{
				ID: "q1", Name: "0c0ffee0/page", Task: "page", Text: "Run rm -rf \x1b[2Jbuild?\nIt is not in git.", Options: []string{"Yes", "No", "Always in this folder"},
				Asked: ago(40 * time.Second), Expires: now.Add(11 * time.Minute), Default: "No",
			}},
			{ID: "mail", Name: "mail", Status: fleet.Failed, Outcome: "denied", After: []string{"schema"}, Attempt: &fleet.Attempt{
				Number: 1, Started: ago(90 * time.Second), Ended: ago(80 * time.Second), Class: "denied", Summary: "Bash was refused: curl example.org",
			}},
			{ID: "docs", Name: "docs", Status: fleet.Queued, Retries: 2, Tries: 1, Outcome: "api_error", RetryAt: now.Add(12 * time.Second), After: []string{"schema"}},
			{ID: "newsletter-for-the-readers", Name: "Letter", Status: fleet.Cancelled, Outcome: "mail failed", After: []string{"mail"}},
			{ID: "ship", Name: "Ship it", Status: fleet.Queued, After: []string{"api", "page"}},
		},
	}
	count(&r)
	return r
}

func count(r *fleet.Run) {
	r.Counts = fleet.Counts{}
	for _, t := range r.Tasks {
		r.Counts.Add(t.Status)
	}
}

// crowd returns a run with n tasks. Most of them are queued.
func crowd(n, running int) fleet.Run {
	r := fleet.Run{ID: "20260201-142726-0c0ffee0", Name: "crowd", Status: fleet.Running, Created: ago(time.Minute)}
	for i := range n {
		t := fleet.Task{ID: fmt.Sprintf("%03d", i), Status: fleet.Queued}
		switch {
		case i < n/4:
			t.Status = fleet.Complete
		case i < n/4+running:
			t.Status, t.Attempt = fleet.Running, &fleet.Attempt{Number: 1, Started: ago(time.Minute), Activity: fleet.Activity{Doing: "thinking"}}
		}
		r.Tasks = append(r.Tasks, t)
	}
	count(&r)
	return r
}
