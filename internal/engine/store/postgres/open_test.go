package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/testkit/testenv"
)

// with returns the database URL in address with the connection setting name=value added.
func with(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// connect opens a connection for the test itself, so that it can look at the tables.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), with(t, address, "search_path", "gaffer"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func appendOne(s store.Store) error {
	return s.Write(context.Background(), func(tx *store.Tx) error {
		tx.Append(store.Event{Kind: "k"})
		return nil
	})
}

func TestADatabaseOfANewerGafferIsRefused(t *testing.T) {
	address := pgtest.Database(t)
	if err := open(t, address).Close(); err != nil {
		t.Fatal(err)
	}
	exec(t, connect(t, address), "UPDATE schema_version SET version = 99")
	_, err := postgres.Open(t.Context(), address)
	var newer *store.NewerError
	if !errors.As(err, &newer) || newer.Found != 99 || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("open: %v, want a NewerError", err)
	}
}

func TestSeveralProcessesCanBeginAtOnce(t *testing.T) {
	address := pgtest.Database(t)
	t.Run("all", func(t *testing.T) {
		for range 4 {
			t.Run("process", func(t *testing.T) {
				t.Parallel()
				s := open(t, address)
				if err := errors.Join(appendOne(s), s.Close()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func TestADatabaseThatIsNotThereIsReportedWithoutThePassword(t *testing.T) {
	address := strings.Replace(pgtest.Database(t), "///", "//", 1)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword("somebody", "secret"), "/nowhere"
	_, err = postgres.Open(t.Context(), u.String())
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("open: %v", err)
	}
}

func TestAStoreComesBackWhenItsConnectionsAreCut(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	person := connect(t, address)
	for range 3 {
		if err := appendOne(s); err != nil {
			t.Fatal(err)
		}
		exec(t, person, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	}
	if err := appendOne(s); err != nil {
		t.Errorf("write after the connection was cut: %v", err)
	}
	if err := s.Wait(t.Context(), 3); err != nil {
		t.Errorf("wait after the connection was cut: %v", err)
	}
}

// If a connection breaks, only the transaction on it fails. The next transaction gets a new
// connection.
func TestABrokenConnectionFailsOnlyItsTransaction(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	person := connect(t, address)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.Append(store.Event{Kind: "lost"})
		exec(t, person, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
		return nil
	})
	if err == nil {
		t.Error("a session was committed over a connection that was cut")
	}
	if err := appendOne(s); err != nil {
		t.Errorf("the next session: %v", err)
	}
	err = s.Read(t.Context(), func(r store.Reader) error {
		events, err := r.Events(0, 9)
		if len(events) != 1 || events[0].Kind != "k" {
			t.Errorf("events are %v", events)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheServerEndsAnIdleTransaction(t *testing.T) {
	testenv.Integration(t)
	address := pgtest.Database(t)
	other := open(t, address) // open this store first: creating the tables may take longer than the timeout below
	defer func() { _ = other.Close() }()
	stalled := open(t, with(t, address, "idle_in_transaction_session_timeout", "2000"))
	defer func() { _ = stalled.Close() }()
	err := stalled.Write(t.Context(), func(tx *store.Tx) error {
		tx.Append(store.Event{Kind: "stalled"})
		return appendOne(other) // must wait until the server ends the idle transaction of the store stalled
	})
	if err == nil {
		t.Error("a session that stood still was committed")
	}
	if err := appendOne(stalled); err != nil {
		t.Errorf("the next session: %v", err)
	}
	if err := other.Wait(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func TestALockThatIsHeldForTooLongIsReported(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, with(t, address, "lock_timeout", "100"))
	defer func() { _ = s.Close() }()
	person := connect(t, address)
	exec(t, person, "BEGIN")
	exec(t, person, "SELECT * FROM last_event FOR UPDATE")
	var busy *postgres.BusyError
	if err := appendOne(s); !errors.As(err, &busy) || busy.Hint() == "" {
		t.Errorf("write: %v, want a BusyError with a hint", err)
	}
	exec(t, person, "ROLLBACK")
	if err := appendOne(s); err != nil {
		t.Errorf("write after the lock was given back: %v", err)
	}
}

// Users query the views. These queries must work even if an agent has written a zero byte.
func TestUsersCanReadTheViews(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutRun(store.Run{ID: "r", Name: "zero \x00 byte", Status: store.Running})
		tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: "a"}, Outcome: "\x00"})
		tx.PutAttempt(store.Attempt{ID: "x", Run: "r", Task: "a", Ending: fleet.Ending{Summary: `\u0000` + "\x00"}})
		tx.Append(store.Event{Kind: "k", Why: "\x00"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	person := connect(t, address)
	for _, view := range []string{"runs", "tasks", "attempts", "events"} {
		var n int
		if err := person.QueryRow(t.Context(), "SELECT count(v::text) FROM "+view+" v").Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: %d, %v", view, n, err)
		}
	}
}

func TestTheStoresClockIsTheDatabasesAndGoesOn(t *testing.T) {
	testenv.Integration(t)
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	look := connect(t, address)
	for last := (time.Time{}); time.Since(opened(t, look)) < 7*time.Second; { // seven seconds, so that the store measures the clock a second time
		var theirs time.Time
		before := s.Now()
		if err := look.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&theirs); err != nil {
			t.Fatal(err)
		}
		after := s.Now()
		if before.After(theirs.Add(2*time.Second)) || after.Before(theirs.Add(-2*time.Second)) || before.Before(last) || after.Before(before) {
			t.Fatalf("the database's clock says %s between %s and %s, and %s before", theirs, before, after, last)
		}
		last = after
		time.Sleep(100 * time.Millisecond)
	}
}

// opened returns the time at which the connection conn was opened.
func opened(t *testing.T, conn *pgx.Conn) (at time.Time) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}
