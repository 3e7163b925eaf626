package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
	"gaffer/internal/testkit/testenv"
	"gaffer/session"
	"gaffer/statefile/jsontree"
)

// halfWay creates a run with a complete and a running task. finish ends the running one.
func halfWay(t *testing.T) (w *world, finish func()) {
	w = newWorld(t)
	w.submit(plan.Plan{Source: "orchestrate", Tasks: []plan.Task{task("a", 1), task("b", 1)}})
	w.complete(1)
	a := w.start(2)
	return w, func() { w.end(a, engine.Finish{Ending: fleet.Ending{Summary: "done"}}) }
}

func TestASessionThatIsDeletedOrDamagedIsWrittenAgainWithTheNextEvent(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(p *project) error{
		"deleted":         func(p *project) error { return os.Remove(p.statusPath()) },
		"with its folder": func(p *project) error { return os.RemoveAll(filepath.Dir(p.statusPath())) },
		"truncated":       func(p *project) error { return os.Truncate(p.statusPath(), 100) },
		"another form":    func(p *project) error { return os.WriteFile(p.statusPath(), []byte("[]"), 0o666) },
		"cancelled by hand": func(p *project) error {
			return p.session.CancelSession(context.Background(), runID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, finish := halfWay(t)
			p := newProject(t)
			r := p.recorder(w.store)
			must(t, r.Flush(t.Context()))
			must(t, damage(p))
			finish()
			must(t, r.Flush(t.Context()))
			p.valid(true)
			if got := p.status(); got.Status != session.Complete || got.Summary.Complete != 2 {
				t.Errorf("%+v", got)
			}
			kept, err := filepath.Glob(p.statusPath() + ".corrupt-*")
			must(t, err)
			if want := name == "truncated" || name == "another form"; (len(kept) == 1) != want || (len(p.notices) > 0) != want {
				t.Errorf("kept %q, told %q", kept, p.notices)
			}
		})
	}
}

func TestFieldsThatOthersAddedStay(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	r := p.recorder(w.store)
	must(t, r.Flush(t.Context()))
	must(t, p.session.Update(t.Context(), runID, func(root *jsontree.Node) error {
		root.Set("reviewer", "kim")
		for _, agent := range root.Child("agents").Items() {
			agent.Set("cost_usd", 0.25)
			agent.Set("status", "failed")
		}
		return nil
	}))
	finish()
	must(t, r.Flush(t.Context()))
	p.valid(true)
	text := p.files()[statusName]
	if strings.Count(text, `"cost_usd": 0.25`) != 2 || !strings.Contains(text, `"reviewer": "kim"`) || p.status().Summary.Complete != 2 {
		t.Error(text)
	}
}

func TestASessionThatIsDeletedWhileNothingHappensIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	r := p.recorder(w.store)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	testenv.Wait(t, "the status document", func() error { _, err := os.Stat(p.statusPath()); return err })
	must(t, os.Remove(p.statusPath()))
	testenv.Wait(t, "the status document", func() error { _, err := os.Stat(p.statusPath()); return err })
	finish()
	must(t, <-ended)
	p.valid(true)
}

func TestRecordsThatAreDeletedAreWrittenAgainAtTheEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		p.flush(w.store)
		want := p.files()
		for name := range maps.Keys(want) {
			must(t, os.Remove(filepath.Join(p.dir, name)))
			p.flush(w.store)
			p.same(want, "without "+name)
		}
		must(t, os.RemoveAll(filepath.Join(p.dir, "state")))
		p.flush(w.store)
		p.same(want, "without records")
	})
}

func TestARecordThatIsDeletedOrDamagedWhileItsAttemptRunsIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"deleted":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 100) },
	} {
		t.Run(name, func(t *testing.T) {
			w, finish := halfWay(t)
			p := newProject(t)
			r := p.recorder(w.store)
			must(t, r.Flush(t.Context()))
			path := filepath.Join(p.dir, "state/runs/bd-b-abc12345.json")
			must(t, damage(path))
			finish()
			must(t, r.Flush(t.Context()))
			p.valid(true)
			if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"status": "done"`) {
				t.Errorf("%s, %v", data, err)
			}
			kept, err := filepath.Glob(path + ".corrupt-*")
			must(t, err)
			if (name == "truncated") != (len(kept) == 1) {
				t.Errorf("kept %q", kept)
			}
		})
	}
}

func TestARecordOfAnotherProgramIsNeverReplacedAndIsReported(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	finish()
	runs := filepath.Join(p.dir, "state/runs")
	must(t, os.MkdirAll(runs, 0o777))
	theirs := `{"bead": "bd-a-abc12345", "agent": "claude", "model": "m", "repo": "/r", "started_at": "2026-01-01T00:00:00Z", "attempt": 1, "prompt": "theirs"}`
	must(t, os.WriteFile(filepath.Join(runs, "bd-a-abc12345.json"), []byte(theirs), 0o666))
	err := p.recorder(w.store).Flush(t.Context())
	if err == nil || !strings.Contains(err.Error(), "immutable") || len(p.notices) == 0 {
		t.Errorf("%v; told %q", err, p.notices)
	}
	if got := p.files(); !strings.Contains(got["state/runs/bd-a-abc12345.json"], `"prompt": "theirs"`) || got["state/results/bd-b-abc12345.json"] == "" {
		t.Errorf("%q", slices.Sorted(maps.Keys(got)))
	}
}

func TestAFolderInTheNameOfARecordKeepsNoOtherFromBeingWritten(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	finish()
	must(t, os.MkdirAll(filepath.Join(p.dir, "state/runs/bd-a-abc12345.json"), 0o777))
	if err := p.recorder(w.store).Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("%v", err)
	}
	if p.files()["state/results/bd-b-abc12345.json"] == "" {
		t.Errorf("%q", slices.Sorted(maps.Keys(p.files())))
	}
}

func TestUnwritableDocumentsAreReportedOnceAndRetriedWhileTheRunContinues(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	// Create files where the recorder needs folders.
	must(t, os.Mkdir(filepath.Join(p.dir, "state"), 0o777))
	must(t, os.WriteFile(filepath.Join(p.dir, "state/runs"), nil, 0o666))
	must(t, os.WriteFile(filepath.Join(p.dir, ".founder-mode"), nil, 0o666))
	r := p.recorder(w.store)
	for range 3 {
		if err := r.Flush(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	if len(p.notices) != 2 {
		t.Errorf("told %q", p.notices)
	}
	finish()
	must(t, os.Remove(filepath.Join(p.dir, "state/runs")))
	must(t, os.Remove(filepath.Join(p.dir, ".founder-mode")))
	must(t, r.Flush(t.Context()))
	p.valid(true)
	if len(p.notices) != 2 || len(p.files()) != 5 {
		t.Errorf("told %q; %q", p.notices, slices.Sorted(maps.Keys(p.files())))
	}
}

func TestALockThatIsHeldDelaysTheSessionAndNotTheRecords(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	r := p.recorder(w.store)
	must(t, r.Flush(t.Context()))
	lock := p.statusPath() + ".lock"
	must(t, os.Mkdir(lock, 0o777))
	finish()
	if err := r.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("%v", err)
	}
	if p.files()["state/results/bd-b-abc12345.json"] == "" || len(p.notices) != 1 {
		t.Errorf("%q; told %q", slices.Sorted(maps.Keys(p.files())), p.notices)
	}
	must(t, os.Remove(lock))
	must(t, r.Flush(t.Context()))
	p.valid(true)
}

func TestAMissingRunIsNotRecorded(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := p.recorder(newWorld(t).store).Flush(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if len(p.files()) > 0 {
		t.Errorf("%q", p.files())
	}
}

func TestRunEndsWithItsContextAndAnotherRecorderContinues(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p := newProject(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.recorder(w.store).Run(ctx) }()
	testenv.Wait(t, "the status document", func() error { _, err := os.Stat(p.statusPath()); return err })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	finish()
	must(t, p.recorder(w.store).Run(t.Context()))
	p.valid(true)
}

// sick is a store whose reads fail, from the third read on until better is set.
type sick struct {
	store.Store
	reads  atomic.Int64
	better atomic.Bool
}

var errSick = errors.New("disk I/O error")

func (s *sick) Read(ctx context.Context, look func(store.Reader) error) error {
	if s.reads.Add(1) > 2 && !s.better.Load() {
		return errSick
	}
	return s.Store.Read(ctx, look)
}

func TestATemporarilyUnreadableStoreIsReportedOnceAndReadAgain(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	p, s := newProject(t), &sick{Store: w.store}
	r, ended := p.recorder(s), make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	testenv.Wait(t, "more than five reads", func() error {
		if n := s.reads.Load(); n <= 5 {
			return fmt.Errorf("%d reads", n)
		}
		return nil
	})
	p.mu.Lock()
	if len(p.notices) != 1 || !strings.Contains(p.notices[0], errSick.Error()) {
		t.Errorf("told %q", p.notices)
	}
	p.mu.Unlock()
	finish()
	s.better.Store(true)
	must(t, <-ended)
	must(t, r.Flush(t.Context()))
	p.valid(true)
}

func TestARunWithoutALedgerHasASessionAlone(t *testing.T) {
	t.Parallel()
	w, finish := halfWay(t)
	finish()
	p := newProject(t)
	r := recorder.New(recorder.Options{Store: w.store, Run: runID, Session: p.session, Notice: func(s string) { t.Error(s) }})
	must(t, r.Run(t.Context()))
	must(t, r.Flush(t.Context()))
	if len(p.files()) != 1 {
		t.Errorf("%q", slices.Sorted(maps.Keys(p.files())))
	}
}
