package ledger

import (
	"os"
	"testing"
	"time"
)

// Record must write the same files as Begin followed by Finish, even if it is repeated or other
// attempts follow.
func TestRecordEqualsBeginAndFinish(t *testing.T) {
	at := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	code := 3
	for attempt := 1; attempt <= 3; attempt++ {
		halves, whole := Open(t.TempDir(), Options{Name: "state"}), Open(t.TempDir(), Options{Name: "state"})
		for n := 1; n <= attempt; n++ {
			run := NewRun(Dispatch{Bead: "bd-1", Agent: "claude", Model: "m", Repo: "r", Prompt: "p", Attempt: n, MaxRetries: 2}, at)
			result := Result{Bead: "bd-1", Attempt: n, Status: Failed, Reason: "broke", FinishedAt: "2026-02-01T12:01:00Z", ExitCode: &code}
			must(t, halves.Begin(t.Context(), run))
			_, err := halves.Finish(t.Context(), result)
			must(t, err)
			for range 2 {
				must(t, whole.Record(t.Context(), run, result))
			}
		}
		for _, kind := range Kinds() {
			same(t, halves.Dir(kind), whole.Dir(kind), attempt)
		}
	}
}

// same checks that the folders a and b contain the same files, and that each has this number of
// files.
func same(t *testing.T, a, b string, count int) {
	t.Helper()
	list, err := os.ReadDir(a)
	must(t, err)
	files := 0
	for _, e := range list {
		if e.Name()[0] == '.' {
			continue
		}
		files++
		left, err := os.ReadFile(a + "/" + e.Name())
		must(t, err)
		right, err := os.ReadFile(b + "/" + e.Name())
		must(t, err)
		if string(left) != string(right) {
			t.Errorf("%s: %s\nand %s", e.Name(), left, right)
		}
	}
	if files != count {
		t.Errorf("%s has %d records, want %d", a, files, count)
	}
}
