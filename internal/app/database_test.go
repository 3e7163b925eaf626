package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/engine/store/storetest"
	"gaffer/internal/testkit/testenv"
)

// An earlier version of gaffer wrote the databases in testdata; see the README there.

func TestADatabaseOfAnEarlierVersionIsRead(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		p := earlierSQLite(t)
		s, err := sqlite.Open(t.Context(), filepath.Join(p.home, "gaffer", "gaffer.db"))
		if err != nil {
			t.Fatal(err)
		}
		p.readsAsBefore("sqlite", s)
	})
	t.Run("postgres", func(t *testing.T) {
		p := earlierPostgres(t)
		s, err := postgres.Open(t.Context(), p.db)
		if err != nil {
			t.Fatal(err)
		}
		p.readsAsBefore("postgres", s)
	})
}

func TestARunThatAnEarlierVersionLeftIsResumed(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { earlierSQLite(t).resumesInterruptedRun() })
	t.Run("postgres", func(t *testing.T) { earlierPostgres(t).resumesInterruptedRun() })
}

func earlierSQLite(t *testing.T) testProject {
	t.Helper()
	p := newPlace(t)
	path := filepath.Join(p.home, "gaffer", "gaffer.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, unzipped(t, "gaffer.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func earlierPostgres(t *testing.T) testProject {
	t.Helper()
	p := newPlace(t)
	p.db = pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), p.db)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.PgConn().Exec(t.Context(), string(unzipped(t, "postgres.sql.gz"))).ReadAll()
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return p
}

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", "databases", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readsAsBefore compares the rows and views of a database with a golden file. It also checks that
// the stored rows match the events.
func (p testProject) readsAsBefore(name string, s store.Store) {
	p.t.Helper()
	defer func() {
		if err := s.Close(); err != nil {
			p.t.Error(err)
		}
	}()
	a := p.open()
	defer a.Close()
	var b strings.Builder
	err := p.listRuns(&b, a)
	if err == nil {
		err = s.Read(p.t.Context(), func(r store.Reader) error { return listRows(&b, r) })
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.Read(p.t.Context(), func(r store.Reader) error { return storetest.Replay(r, nil) }); err != nil {
		p.t.Error(err)
	}
	got := strings.NewReplacer(p.home, "HOME", p.root, "ROOT").Replace(b.String())
	path := filepath.Join("testdata", "databases", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatalf("%v; go test ./internal/app -update writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		p.t.Errorf("the database does not read as %s says (-want +got)\n%s", path, diff)
	}
}

// listRuns writes the runs, their tasks and the open questions, as the commands print them with
// --json.
func (p testProject) listRuns(w io.Writer, a *app.App) error {
	runs, err := a.Fleet.Runs(p.t.Context(), true, true)
	if err != nil {
		return err
	}
	for _, run := range runs {
		tasks := run.Tasks
		run.Tasks = nil
		if err := printJSON(w, "run", run); err != nil {
			return err
		}
		for _, task := range tasks {
			if err := printJSON(w, "task", task); err != nil {
				return err
			}
		}
	}
	questions, err := a.Fleet.Questions(p.t.Context())
	if err != nil {
		return err
	}
	return printJSON(w, "questions", questions)
}

// listRows writes all attempts, including those that a later attempt replaced, and all events.
func listRows(w io.Writer, r store.Reader) error {
	runs, err := r.Runs()
	if err != nil {
		return err
	}
	for _, run := range runs {
		attempts, err := r.AttemptsOf(run.ID)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			fmt.Fprintf(w, "attempt %s %s %s %d %s %s %q exit %d {MicroUSD:%d Tokens:%d}\n", a.ID, a.Run, a.Task, a.Number, a.Status, a.Class, a.Summary, a.Exit, a.Spent.MicroUSD, a.Spent.Tokens)
		}
	}
	events, err := r.Events(0, 1<<20)
	for _, e := range events {
		fmt.Fprintf(w, "event %d %s %s %s %s %s %s %s\n", e.Seq, e.Kind, e.Run, e.Task, e.From, e.To, e.Who, e.Why)
	}
	return err
}

func printJSON(w io.Writer, what string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s %s\n", what, data)
	}
	return err
}

// resumesInterruptedRun answers the open question of the interrupted run, and works on the run
// until it ends. Its agents ran on another machine, so no processes or files of them are here.
func (p testProject) resumesInterruptedRun() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("gaffer.yaml", fmt.Sprintf("agents:\n  actor: {like: claude, argv: [%q, fake-agent, --protocol, claude]}\n", self))
	p.write("go", "")
	a := p.open()
	defer a.Close()
	questions, err := a.Fleet.Questions(p.t.Context())
	if err != nil || len(questions) != 1 || questions[0].Text != "Go on?" {
		p.t.Fatalf("the open questions are %+v, %v", questions, err)
	}
	if err := a.Fleet.Answer(p.t.Context(), questions[0].ID, fleet.Reply{Text: "yes"}); err != nil {
		p.t.Fatal(err)
	}
	run, err := a.Runs.Work(p.t.Context(), questions[0].Run)
	if err != nil {
		p.t.Fatal(err)
	}
	if run.Name != "interrupted" || run.Status != fleet.Complete || run.Counts != (fleet.Counts{Total: 4, Complete: 4}) {
		p.t.Errorf("the run ended as %+v", run)
	}
	for _, task := range run.Tasks {
		if task.Tries != 1 {
			p.t.Errorf("task %s: %+v", task.ID, task)
		}
	}
}
