package postgres

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres/pgtest"
)

// The time for these queries must not grow with the number of tasks. So their query plans must not
// scan or sort the whole table, not even for an empty table, because the server caches the query
// plan. Sorting is allowed only for the first tasks of several lists.
func TestTheQueueIsReadFromItsIndexes(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for name, test := range map[string]struct {
		query  string
		args   []any
		index  string
		merges bool // the query may sort the first rows of several lists
	}{
		"label sets":  {labelSets, nil, "task_ready", false},
		"ready tasks": {readyTasks, []any{[]string{""}, []string{}, []string{}, 1}, "task_ready", true},
		"idle tasks":  {idleTasks, []any{"r", math.MaxInt32, []string{}, 1}, "task_idle", true},
		"ended":       {ended, []any{"r", "failed", 1}, "task_ended", false},
		"events of":   {eventsOf, []any{"r", 0, 1}, "event_run", false},
		"questions":   {questionsOf, []any{"r"}, "question_run", false},
		"items":       {itemList, []any{"k", "p", 0, 1}, "item_list", false},
	} {
		plan := explain(t, writing(t, s), test.query, test.args)
		if !strings.Contains(plan, "using "+test.index) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "->  Sort") != test.merges ||
			strings.Count(plan, "->  Sort") > 1 {
			t.Errorf("%s: the plan scans or sorts:\n%s", name, plan)
		}
	}
}

// One round trip of a claim is saved if the transaction before it was a claim of the same kind.
func TestAClaimAfterAClaimFindsItsTasksLoaded(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	look := func(labels ...string) error {
		t.Helper()
		tx, err := s.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		_, err = tx.ClaimableTasks(store.ClaimQuery{Labels: labels, Limit: 1})
		return err
	}
	for i, want := range []error{store.ErrNotLoaded, nil, nil} {
		if err := look("gpu"); !errors.Is(err, want) {
			t.Errorf("claim %d: %v, want %v", i, err, want)
		}
	}
	if err := look("linux"); !errors.Is(err, store.ErrNotLoaded) {
		t.Errorf("a claim of another kind: %v", err)
	}
}

func TestWhatIsCommittedIsDurableWhateverTheDefaultIs(t *testing.T) {
	address := pgtest.Database(t)
	for range 2 { // the second time, the database's default for synchronous_commit is off
		s, err := Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		var setting, name string
		tx, err := s.begin(t.Context())
		if err == nil {
			_, err = tx.LastSeq()
		}
		if err != nil {
			t.Fatal(err)
		}
		err = s.conn.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit'), current_database()").Scan(&setting, &name)
		if err = errors.Join(err, tx.Rollback()); err != nil || setting != "on" {
			t.Errorf("synchronous_commit is %s, %v", setting, err)
		}
		if _, err := writing(t, s).Exec(t.Context(), "ALTER DATABASE "+name+" SET synchronous_commit = off"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writing returns the connection that the store uses for write transactions.
func writing(t *testing.T, s *Store) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), s.config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
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
