package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/testkit/testenv"
)

// say appends an event of the given kind.
func say(s store.Store, kind string) error {
	return s.Write(context.Background(), store.Need{}, func(tx *store.Tx) error {
		tx.Append(store.Event{Kind: kind})
		return nil
	})
}

// said returns the kinds of all events. Their numbers must have no gaps.
func said(t *testing.T, s store.Store) []string {
	t.Helper()
	kinds, err := recall(s)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func recall(s store.Store) (kinds []string, err error) {
	err = s.Read(context.Background(), func(r store.Reader) error {
		events, err := r.Events(0, 1_000_000)
		for i, e := range events {
			if e.Seq != int64(i+1) {
				return fmt.Errorf("event %d has number %d", i+1, e.Seq)
			}
			kinds = append(kinds, e.Kind)
		}
		return err
	})
	return kinds, err
}

// Sessions are sent before the previous ones are answered. A session that the server
// refuses must affect neither the requests sent with it nor those sent after it.
func TestWhatTheServerRefusesSpoilsNothingElse(t *testing.T) {
	address := pgtest.Database(t)
	s := open(t, address)
	defer func() { _ = s.Close() }()
	exec(t, connect(t, address), `ALTER TABLE event ADD CONSTRAINT good CHECK (data NOT LIKE '%"kind":"bad%')`)
	const writers, each = 12, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				bad := (w+i)%10 == 0
				kind := fmt.Sprintf("good %d %d", w, i)
				if bad {
					kind = "bad"
				}
				if err := say(s, kind); (err != nil) != bad {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
	wg.Wait()
	kinds := said(t, s)
	if want := writers * each * 9 / 10; len(kinds) != want || len(slices.Compact(slices.Sorted(slices.Values(kinds)))) != want {
		t.Errorf("%d events, want %d different ones", len(kinds), want)
	}
}

// A process that always has the next session ready must let others write.
func TestABusyProcessLetsOthersWrite(t *testing.T) {
	address := pgtest.Database(t)
	busy, other := open(t, address), open(t, address)
	defer func() { _, _ = busy.Close(), other.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := say(busy, "busy"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	const turns = 50
	for range turns {
		if err := say(other, "other"); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	kinds := said(t, busy)
	if n := len(slices.DeleteFunc(kinds, func(k string) bool { return k != "other" })); n != turns {
		t.Errorf("the other process has written %d times, want %d", n, turns)
	}
}

// When one of its processes is killed, the server ends all others and restarts from the
// disk. It loses everything that is not durable.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	testenv.Integration(t)
	server, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop() }()
	s := open(t, server.URL)
	defer func() { _ = s.Close() }()
	const writers, kills = 8, 10
	acknowledged := make([][]string, writers)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { acknowledged[w] = sayOnAndOn(ctx, s, w) })
	}
	for range kills {
		for range 1 + rand.IntN(20) { // at a different moment each time
			waitForWriting(t, s)
		}
		killWriter(t, server.URL)
	}
	waitForWriting(t, s)
	stop()
	wg.Wait()
	var kinds []string
	persist(t, func() (err error) { kinds, err = recall(s); return err })
	stored := map[string]int{}
	for _, kind := range kinds {
		stored[kind]++
	}
	for kind, n := range stored {
		if n > 1 {
			t.Errorf("%s is there %d times", kind, n)
		}
	}
	for _, kind := range slices.Concat(acknowledged...) {
		if stored[kind] == 0 {
			t.Errorf("%s was acknowledged and is not there", kind)
		}
	}
}

// sayOnAndOn returns the acknowledged events. It does not repeat failed ones.
func sayOnAndOn(ctx context.Context, s store.Store, writer int) (acknowledged []string) {
	for i := 0; ctx.Err() == nil; i++ {
		kind := fmt.Sprintf("%d %d", writer, i)
		if say(s, kind) == nil {
			acknowledged = append(acknowledged, kind)
		}
	}
	return acknowledged
}

// waitForWriting waits until the server accepts writes again.
func waitForWriting(t *testing.T, s store.Store) {
	t.Helper()
	persist(t, func() error { return say(s, fmt.Sprint("probe ", rand.Int64())) })
}

// persist retries until the server does what try asks. A server continues for a moment
// after one of its processes was killed, so one success does not mean that the next
// request succeeds.
func persist(t *testing.T, try func() error) {
	t.Helper()
	testenv.Wait(t, "the server to come back", try)
}

// killWriter kills the server process that writes for us.
func killWriter(t *testing.T, address string) {
	t.Helper()
	persist(t, func() error {
		pid, err := writer(t.Context(), address)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	})
}

// writer returns the pid of the server process that writes for us.
func writer(ctx context.Context, address string) (pid int, err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	err = conn.QueryRow(ctx, `SELECT pid FROM pg_stat_activity WHERE application_name = 'gaffer' AND query NOT LIKE 'LISTEN%'
		ORDER BY state_change DESC LIMIT 1`).Scan(&pid)
	return pid, err
}

// Rows from before JSON was stored as text stay readable.
func TestADatabaseOfTheFirstSchemaIsBroughtUpToDate(t *testing.T) {
	address := pgtest.Database(t)
	first, err := os.ReadFile("schema/1.sql")
	if err != nil {
		t.Fatal(err)
	}
	person, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = person.Close(context.Background()) }()
	for _, text := range []string{
		"CREATE SCHEMA gaffer; SET search_path = gaffer; CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (1)",
		string(first),
		`INSERT INTO task VALUES ('r', 'a', 7, 'queued', true, false, 0, NULL, 0, '', '', '{"run":"r","task":"a","seq":7,"ready":true}', '{"prompt": "\u0000"}')`,
		`INSERT INTO event VALUES (1, 0, 'k', 'r', 'a', '{"seq":1,"kind":"k","at":"2026-01-01T00:00:00Z"}', '{"a": 1}', NULL); UPDATE last_event SET seq = 1`,
	} {
		if _, err := person.PgConn().Exec(t.Context(), text).ReadAll(); err != nil {
			t.Fatalf("%s: %v", strings.TrimSpace(text)[:20], err)
		}
	}
	s := open(t, address)
	defer func() { _ = s.Close() }()
	err = s.Read(t.Context(), func(r store.Reader) error {
		task, err := r.Task(store.TaskKey{Run: "r", Task: "a"})
		if string(task.Spec) != `{"prompt": "\u0000"}` || task.Seq != 7 {
			t.Errorf("the task is %+v", task)
		}
		events, err2 := r.Events(0, 9)
		if len(events) != 1 || string(events[0].Row) != `{"a": 1}` || events[0].Tried != nil {
			t.Errorf("the events are %+v", events)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Error(err)
	}
	if err := say(s, "next"); err != nil {
		t.Error(err)
	}
	var n int
	if err := person.QueryRow(t.Context(), "SELECT count(v::text) FROM events v").Scan(&n); err != nil || n != 2 {
		t.Errorf("the view has %d events, %v", n, err)
	}
}
