package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// Writers wait while rows are deleted. So the time for a deletion must not grow with the number of
// rows in the table.
func TestDeletionsUseIndexes(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, query := range []string{
		dropRuns, dropPlans, dropTasks, dropNeeds, dropAttempts, dropQuestions, dropWorkers, dropIdempotencyRecords, dropCursors, dropLists,
		dropEvents,
	} {
		plan := explain(t, s.write, query)
		if rest := strings.ReplaceAll(plan, "SCAN json_each", ""); strings.Contains(rest, "SCAN") {
			t.Errorf("%s: the plan scans:\n%s", query, plan)
		}
	}
}
