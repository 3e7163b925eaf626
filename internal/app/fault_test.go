package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
	"gaffer/team"
)

// owing is a run whose documents cannot be written while a path is blocked.
type owing struct {
	testProject
	run  string
	path string                     // path that block makes unwritable
	says func() (ended bool, _ any) // reports whether the documents say that the run has ended; the second result is for error messages
}

// block replaces the file or folder at o.path with something that cannot be written. unblock
// restores it.
func (o owing) block() {
	o.t.Helper()
	err := os.Rename(o.path, o.path+".aside")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.t.Fatal(err)
	}
	if filepath.Ext(o.path) == "" {
		err = os.WriteFile(o.path, nil, 0o600)
	} else {
		err = os.MkdirAll(filepath.Join(o.path, "in-the-way"), 0o755)
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o owing) unblock() {
	o.t.Helper()
	if err := os.RemoveAll(o.path); err != nil {
		o.t.Fatal(err)
	}
	if err := os.Rename(o.path+".aside", o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.t.Fatal(err)
	}
}

// dies blocks the documents, starts a process that works on the run, and kills the process when the
// run has ended.
func (o owing) dies() {
	o.t.Helper()
	o.block()
	g := o.gaffer(o.run)
	a := o.open()
	defer a.Close()
	testenv.Wait(o.t, "the end of the run", func() error {
		r, err := a.Fleet.Run(o.t.Context(), o.run)
		if err == nil && !r.Status.Final() {
			err = fmt.Errorf("it is %s", r.Status)
		}
		return err
	})
	_ = g.Process.Kill()
	_ = g.Wait()
	o.unblock()
	if ended, seen := o.says(); ended {
		o.t.Fatalf("the documents were written although they were blocked: %+v", seen)
	}
}

// eachOwing calls test once for each kind of run.
func eachOwing(t *testing.T, test func(o owing)) {
	t.Run("plan", func(t *testing.T) {
		p := newPlace(t)
		a := p.open()
		defer a.Close()
		run, err := a.Submit(t.Context(), plan.Plan{Name: "test", Source: plan.SourceOrchestrate, Tasks: []plan.Task{shell("a", "true")}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(p.root, ".founder-mode", "status", "sessions", run, "status.json")
		test(owing{testProject: p, run: run, path: path, says: func() (bool, any) {
			var doc struct{ Status string }
			data, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(data, &doc)
			}
			return doc.Status == "complete", fmt.Sprintf("%s, %v", data, err)
		}})
	})
	t.Run("build", func(t *testing.T) {
		p := newPlace(t).withSpec(specText)
		a := p.open()
		defer a.Close()
		run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, "name: one\nagent: fake\nchunks:\n  - {id: 1, name: One, prompt: 'fake: say done'}\n")})
		if err != nil {
			t.Fatal(err)
		}
		test(owing{testProject: p, run: run, path: filepath.Join(p.root, ".fctry", "state.json"), says: func() (bool, any) {
			kinds := fmt.Sprint(tellable(p.feed()))
			return strings.Contains(kinds, "chunk-completed"), kinds
		}})
	})
	t.Run("team", func(t *testing.T) {
		c, _, run := threeGroups(t)
		test(owing{testProject: c.testProject, run: run, path: c.coordination(), says: func() (bool, any) {
			status := c.session().Orchestrator.Status
			return status == team.SessionCompleted, status
		}})
	})
}

func TestFaultDocumentsAreWrittenByTheNextGafferIfOneDiedBeforeItTriedAgain(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	eachOwing(t, func(o owing) {
		o.dies()
		a := o.open()
		defer a.Close()
		owed, err := a.Pending.List(o.t.Context(), false)
		if err != nil || len(owed) != 1 || owed[0].Run != o.run || owed[0].Why == "" || owed[0].Since.IsZero() {
			o.t.Errorf("owed are %+v, %v", owed, err)
		}
		// A call of WriteOnOpen takes at most a second. On a busy machine, that is too short for the
		// documents of a team. Then 'gaffer doctor --repair' writes them, with Write.
		a.Pending.WriteOnOpen(o.t.Context())
		testenv.Wait(o.t, "documents that say that the run has ended", func() error {
			if _, err := a.Pending.Write(o.t.Context(), false); err != nil {
				return err
			}
			if ended, seen := o.says(); !ended {
				return fmt.Errorf("%+v\n%s", seen, o.notices)
			}
			list, err := a.Pending.List(o.t.Context(), true)
			if len(list) != 0 {
				return fmt.Errorf("still pending are %+v", list)
			}
			return err
		})
	})
}

func TestFaultAServerWritesThePendingDocumentsOfAllProjectsOnItsMachine(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	eachOwing(t, func(o owing) {
		o.dies()
		elsewhere := testProject{t: o.t, root: o.t.TempDir(), home: o.home, notices: &notices{}}
		elsewhere.coordinate()
		testenv.Wait(o.t, "the documents", func() error {
			if ended, seen := o.says(); !ended {
				return fmt.Errorf("they say %+v; told %s", seen, elsewhere.notices)
			}
			return nil
		})
	})
}

func TestFaultDocumentsGoWhereTheRunHadThemWhateverTheSettingsSayLater(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	p.write("gaffer.yaml", "paths: {session: here}\n")
	a := p.open()
	run, err := a.Submit(t.Context(), plan.Plan{Name: "test", Tasks: []plan.Task{shell("a", "true")}})
	if err = errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.root, "here", "sessions", run, "status.json")
	owing{testProject: p, run: run, path: path, says: func() (bool, any) { return false, nil }}.dies()
	p.write("gaffer.yaml", "paths: {session: there}\n")
	a = p.open()
	defer a.Close()
	a.Pending.WriteOnOpen(t.Context())
	if data, err := os.ReadFile(path); !strings.Contains(string(data), `"complete"`) {
		t.Errorf("the document is %s, %v; told %s", data, err, p.notices)
	}
	if _, err := os.Stat(filepath.Join(p.root, "there")); err == nil {
		t.Error("documents were written where the settings say now")
	}
}

func TestFaultWhatDiesBetweenWritingDocumentsAndNotingItLeavesNothingWrong(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	run := p.run(shell("a", "exit 3"))
	paid := func() string {
		data, err := os.ReadFile(filepath.Join(p.root, ".founder-mode", "status", "sessions", run.ID, "status.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := paid()
	a := p.open()
	defer a.Close()
	if err := app.AddPending(t.Context(), a, run.ID); err != nil { // simulate a process that died before it removed the entry
		t.Fatal(err)
	}
	if left, err := a.Pending.Write(t.Context(), false); err != nil || len(left) != 0 {
		t.Errorf("left are %+v, %v", left, err)
	}
	if after := paid(); after != before {
		t.Errorf("the document was\n%s\nand is\n%s", before, after)
	}
	if r, err := a.Fleet.Run(t.Context(), run.ID); err != nil || r.Status != fleet.Failed {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}
