package postgres_test

import (
	"os"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres/pgtest"
)

// Users copy queries from the page docs/schema.md. All queries on that page must work.
func TestTheQueriesOfTheSchemaPageWork(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	now := s.Now()
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutRun(store.Run{ID: "r", Name: "nightly", Status: store.Running, Created: now})
		tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: "a"}, Status: store.Failed, Account: "claude", Outcome: "crashed"})
		tx.PutAttempt(store.Attempt{ID: "x", Run: "r", Task: "a", Number: 1, Status: store.Failed, Started: now, Ending: fleet.Ending{Summary: "it ended"}})
		tx.PutWorker(store.Worker{ID: "w", Seen: now})
		tx.Append(store.Event{Kind: "task.queued", Run: "r", Task: "a", To: "queued", At: now})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	person := connect(t, address)
	blocks := strings.Split(string(page), "```sql\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("%d queries, want at least 3", len(blocks))
	}
	for _, block := range blocks {
		query, _, _ := strings.Cut(block, "```")
		rows, err := person.Query(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if rows.Err() != nil || n != 1 {
			t.Errorf("%d rows, %v; want 1 for\n%s", n, rows.Err(), query)
		}
	}
}
