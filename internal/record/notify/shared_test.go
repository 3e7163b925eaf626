package notify

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// Each program opens the shared database as its own store.
func TestProgramsThatShareADatabaseSendEachNotificationOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	open := func() store.Store {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	const runs, tasks = 4, 6
	var mu sync.Mutex
	n := 0
	e := engine.New(open(), engine.Options{
		Now: time.Now, Rand: func() float64 { return 0.5 },
		NewID: func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("id", n) },
	})
	in := &inbox{}
	options := func(run string, i int) Options {
		return Options{
			Store: open(), Channels: []Channel{in}, Run: run, Kinds: Kinds(), Rules: Rules{HoldQuestions: true, Burst: 1000}, Now: time.Now,
			ID: fmt.Sprint("program", i), Notice: func(text string) { t.Error(text) }, OfflineAfter: 30 * time.Second,
		}
	}
	var all []*Notifier
	for i := range runs {
		id := fmt.Sprint("r", i)
		p := plan.Plan{Name: id}
		for j := range tasks {
			p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint("t", j), Agent: "fake", Prompt: "x"})
		}
		if _, err := e.Submit(t.Context(), engine.Submission{Plan: p, ID: id, OnlyWorker: id}); err != nil {
			t.Fatal(err)
		}
		all = append(all, Start(options(id, i)))
	}
	all = append(all, Start(options("", 98)), Start(options("", 99)))
	eachBegun(t, options("", 0).Store, runs+1)
	var working sync.WaitGroup
	for i := range runs {
		working.Go(func() {
			id := fmt.Sprint("r", i)
			for range tasks {
				a, err := e.Claim(t.Context(), engine.Claim{Worker: id, Labels: []string{engine.WorkerLabel(id)}})
				_, err2 := e.Finish(t.Context(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.Denied}})
				if err := errors.Join(err, err2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	for _, teller := range all {
		working.Go(func() { teller.Finish(t.Context(), time.Minute) })
	}
	working.Wait()
	seen := map[string]int{}
	for _, n := range in.got {
		seen[n.ID]++
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was told %d times", id, times)
		}
	}
	if want := runs * (tasks + 1); len(seen) != want {
		t.Errorf("%d were told, want %d", len(seen), want)
	}
}

// eachBegun waits until the store has the cursors of n scopes.
func eachBegun(t *testing.T, s store.Store, n int) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%d scopes", n), func() error {
		var list []store.Item
		err := s.Read(t.Context(), func(r store.Reader) (err error) {
			list, err = r.Items(cursorKind, (&inbox{}).Key(), -1, 99)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != n {
			return fmt.Errorf("%d are followed", len(list))
		}
		return nil
	})
}
