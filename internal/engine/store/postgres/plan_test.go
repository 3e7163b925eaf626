package postgres

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store/postgres/pgtest"
)

// The duration of these queries must not depend on the number of tasks. So none may
// scan a table or sort, even while the table is empty, because a plan is cached.
func TestTheQueueIsReadFromItsIndexes(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for name, test := range map[string]struct {
		query string
		args  []any
		index string
	}{
		"ready lists": {readyLists, nil, "task_ready"},
		"ready head":  {readyHead, []any{"", "", 1}, "task_ready"},
		"ready keys":  {readyKeys, []any{1}, "task_ready"},
		"idle lists":  {idleLists, []any{"r", math.MaxInt32}, "task_idle"},
		"idle head":   {idleHead, []any{"r", 1, "", 1}, "task_idle"},
		"ended":       {ended, []any{"r", "failed", 1}, "task_ended"},
		"events of":   {eventsOf, []any{"r", 0, 1}, "event_run"},
		"questions":   {questionsOf, []any{"r"}, "question_run"},
		"items":       {itemList, []any{"k", "p", 0, 1}, "item_list"},
		"item keys":   {itemsByKey, []any{[]string{"k"}, []string{"i"}}, "item_pkey"},
		"idle heads":  {idleHeads, []any{[]string{"r"}, math.MaxInt32, maxLists, 1}, "task_idle"},
	} {
		plan := explain(t, writing(t, s), test.query, test.args)
		if !strings.Contains(plan, "using "+test.index) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "priority") {
			t.Errorf("%s: the plan scans or sorts:\n%s", name, plan)
		}
	}
}

func TestWhatIsCommittedIsDurableWhateverTheDefaultIs(t *testing.T) {
	address := pgtest.Database(t)
	for range 2 { // the second time with a different default
		s, err := Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		var setting, name string
		conn := writing(t, s)
		err = conn.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit'), current_database()").Scan(&setting, &name)
		if err != nil || setting != "on" {
			t.Errorf("synchronous_commit is %s, %v", setting, err)
		}
		if _, err := conn.Exec(t.Context(), "ALTER DATABASE "+name+" SET synchronous_commit = off"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writing returns a connection on which the store writes.
func writing(t *testing.T, s *Store) *pgx.Conn {
	t.Helper()
	l := &line{store: s}
	if err := l.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.hangUp() })
	return l.conn
}

func explain(t *testing.T, conn *pgx.Conn, query string, args []any) string {
	t.Helper()
	ctx := context.Background()
	rows, err := conn.Query(ctx, "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
