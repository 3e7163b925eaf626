package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The time for these queries must not grow with the number of tasks. So they must not scan or sort
// the table.
func TestTheQueueIsReadFromItsIndexes(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for name, test := range map[string]struct {
		query string
		want  []string
	}{
		"label sets":  {labelSets, []string{"USING COVERING INDEX task_ready", "USING COVERING INDEX task_ready (labels>?)"}},
		"ready lanes": {readyAccounts, []string{"USING COVERING INDEX task_ready (labels=?)", "USING COVERING INDEX task_ready (labels=? AND lane>?)"}},
		"ready tasks": {readyTasks, []string{"USING INDEX task_ready (labels=? AND lane=?)"}},
		"idle lists": {idleLists, []string{
			"USING COVERING INDEX task_idle (run=? AND wave<?)",
			"USING COVERING INDEX task_idle (run=? AND wave=? AND lane>?)",
			"USING COVERING INDEX task_idle (run=? AND wave>? AND wave<?)",
		}},
		"idle tasks":   {idleTasks, []string{"USING INDEX task_idle (run=? AND wave=? AND lane=?)"}},
		"ended":        {ended, []string{"USING INDEX task_ended (run=? AND status=?)"}},
		"events of":    {eventsOf, []string{"SEARCH event USING INDEX event_run (run=? AND rowid>?)"}},
		"questions of": {questionsOf, []string{"SEARCH question USING INDEX question_run (<expr>=?)"}},
		"items":        {itemList, []string{"USING INDEX item_list (kind=? AND parent=? AND seq>?)"}},
	} {
		plan := explain(t, s.write, test.query)
		for _, want := range test.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: the plan does not have %q:\n%s", name, want, plan)
			}
		}
		if strings.Contains(plan, "TEMP B-TREE") || strings.Contains(strings.ReplaceAll(plan, "SCAN task USING COVERING INDEX task_ready", ""), "SCAN task") || strings.Contains(plan, "SCAN item") || strings.Contains(plan, "SCAN attempt") {
			t.Errorf("%s: the plan scans or sorts:\n%s", name, plan)
		}
	}
}

func explain(t *testing.T, c *conn, query string) string {
	t.Helper()
	var plan strings.Builder
	args := make([]any, strings.Count(query, "?"))
	switch {
	case strings.Contains(query, "?2"):
		args = args[:2]
	case strings.Contains(query, "?1"):
		args = args[:1]
	}
	err := c.each("EXPLAIN QUERY PLAN "+query, func(scan func(...any) error) error {
		var detail string
		err := scan(new(sql.RawBytes), new(sql.RawBytes), new(sql.RawBytes), &detail)
		plan.WriteString(detail + "\n")
		return err
	}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

func TestASchemaIsMigratedStepByStep(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	steps, err := readMigrations(schemas)
	if err != nil {
		t.Fatal(err)
	}
	next := append(steps, "ALTER TABLE worker ADD COLUMN extra TEXT; UPDATE worker SET extra = ''", "CREATE TABLE extra (x)")
	if err := s.write.migrate(len(steps), next); err != nil {
		t.Fatal(err)
	}
	if version, err := s.write.version(); err != nil || version != len(next) {
		t.Errorf("version is %d, %v; want %d", version, err, len(next))
	}
	broken := append(next, "CREATE TABLE half (x)", "CREATE nonsense")
	if err := s.write.migrate(len(next), broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("schema version ", len(broken))) {
		t.Errorf("a broken step: %v", err)
	}
	if err := s.write.exec("SELECT * FROM half"); err == nil {
		t.Error("half of a migration was made")
	}
}
