package app_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/config"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/project"
)

var glanceNow = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

// glance returns the Summary of the project, or of all projects, at noon.
func (p testProject) glance(everywhere bool) fleet.Summary {
	p.t.Helper()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": p.home, "GAFFER_DB": p.db}[name] }
	c, err := config.Load(config.Inputs{Root: p.root, Getenv: getenv})
	if err != nil {
		p.t.Fatal(err)
	}
	g, err := app.Summary(p.t.Context(), app.Options{
		Project: project.Project{Root: p.root}, Config: c, Getenv: getenv, Now: func() time.Time { return glanceNow },
	}, everywhere)
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

// put stores rows directly in the project's database.
func (p testProject) put(change func(tx *store.Tx)) {
	p.t.Helper()
	var s store.Store
	var err error
	if p.db != "" {
		s, err = postgres.Open(p.t.Context(), p.db)
	} else {
		s, err = sqlite.Open(p.t.Context(), filepath.Join(p.home, "gaffer", "gaffer.db"))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	err = s.Write(p.t.Context(), func(tx *store.Tx) error { change(tx); return nil })
	if closed := s.Close(); err != nil || closed != nil {
		p.t.Fatal(err, closed)
	}
}

func TestASummaryCountsRunningWaitingFailedAndTodaysCost(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testGlance(t, newPlace(t)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		p := newPlace(t)
		p.db = pgtest.Database(t)
		testGlance(t, p)
	})
}

func testGlance(t *testing.T, p testProject) {
	hour := func(n int) time.Time { return glanceNow.Add(time.Duration(n) * time.Hour) }
	dollars := func(n int64) store.Amount { return store.Amount{MicroUSD: n * 1e6} }
	p.put(func(tx *store.Tx) {
		tx.PutRun(store.Run{ID: "overnight", Project: p.root, Status: store.Running, Created: hour(-20), Active: 4, Failed: 1, Spent: dollars(11)})
		for i, task := range []string{"a", "b", "c"} {
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "overnight", Task: task}, Seq: int64(i)})
		}
		tx.PutAttempt(store.Attempt{ID: "1", Run: "overnight", Task: "a", Status: store.Complete, Started: hour(-14), Progress: fleet.Progress{Spent: dollars(8)}})
		tx.PutAttempt(store.Attempt{ID: "2", Run: "overnight", Task: "b", Status: store.Complete, Started: hour(-2), Progress: fleet.Progress{Spent: dollars(3)}})
		tx.PutAttempt(store.Attempt{ID: "3", Run: "overnight", Task: "c", Status: store.Running, Started: hour(-1), Lease: hour(9), Progress: fleet.Progress{Spent: dollars(5)}})
		tx.PutRun(store.Run{ID: "morning", Project: p.root, Status: store.Failed, Created: hour(-3), Ended: hour(-2), Failed: 2, Spent: dollars(20)})
		tx.PutRun(store.Run{ID: "yesterday", Project: p.root, Status: store.Failed, Created: hour(-20), Ended: hour(-19), Failed: 40, Spent: dollars(400)})
		tx.PutRun(store.Run{ID: "elsewhere", Project: "/other", Status: store.Running, Created: hour(-1), Active: 1, Spent: dollars(100)})
		tx.PutQuestion(store.Question{ID: "q1", Run: "overnight", Task: "c", Asked: hour(-1)})
		tx.PutQuestion(store.Question{ID: "q2", Run: "overnight", Task: "d", Asked: hour(-2)})
		tx.PutQuestion(store.Question{ID: "q3", Run: "overnight", Task: "e", Asked: hour(-9), Closed: true})
		tx.PutQuestion(store.Question{ID: "q4", Run: "elsewhere", Task: "x", Asked: hour(-5)})
		tx.PutAccount(store.Account{Name: "claude", Until: hour(2), Reason: "usage limit"})
		tx.PutAccount(store.Account{Name: "codex"})
		tx.PutAccount(store.Account{Name: "gemini", Until: hour(-2)})
	})
	lanes := []fleet.Lane{{Name: "claude", Until: hour(2), Reason: "usage limit"}}
	equalTimes := cmp.Comparer(time.Time.Equal)
	want := fleet.Summary{Running: 2, Waiting: 2, Asked: hour(-2), Oldest: "overnight/d", Failed: 3, Today: fleet.Cost{USD: 28}, Lanes: lanes}
	if diff := cmp.Diff(want, p.glance(false), equalTimes); diff != "" {
		t.Error(diff)
	}
	want = fleet.Summary{Running: 2, Waiting: 3, Asked: hour(-5), Oldest: "elsewhere/x", Failed: 3, Today: fleet.Cost{USD: 128}, Lanes: lanes}
	if diff := cmp.Diff(want, p.glance(true), equalTimes); diff != "" {
		t.Errorf("everywhere: %s", diff)
	}
}

func TestASummaryCreatesNoDatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if diff := cmp.Diff(fleet.Summary{}, p.glance(false)); diff != "" {
		t.Error(diff)
	}
	if entries, err := os.ReadDir(p.home); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
