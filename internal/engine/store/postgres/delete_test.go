package postgres

import (
	"strings"
	"testing"

	"gaffer/internal/engine/store/postgres/pgtest"
)

// Writers wait while rows are deleted. So the time for a deletion must not grow with the number of
// rows in the table.
func TestDeletionsUseIndexes(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn := writing(t, s)
	for _, query := range []string{
		dropRuns, dropPlans, dropQuestions, dropWorkers, dropIdempotencyRecords, dropCursors, dropTasks, dropNeeds, dropAttempts, dropLists,
		dropEvents,
	} {
		args := []any{[]string{"a"}, []string{"b"}}[:strings.Count(query, "[]")]
		if strings.Contains(query, "bigint[]") {
			args = []any{[]int64{1}}
		}
		plan := explain(t, conn, query, args)
		if rest := strings.ReplaceAll(plan, "Seq Scan on last_event", ""); strings.Contains(rest, "Seq Scan") {
			t.Errorf("%s: the plan scans:\n%s", query, plan)
		}
	}
}
