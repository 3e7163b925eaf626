package app_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/changes"
	"gaffer/internal/app"
	"gaffer/internal/app/retention"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestTheChangeOfATaskIsReadFromItsWorktree(t *testing.T) {
	testenv.Integration(t)
	p := newRepository(t)
	c, a := p.coordinate(), p.open()
	defer a.Close()
	changing := shell("changing", "echo two >> start.txt; [ -e new.txt ] && echo again >> new.txt && exit 0; echo one > new.txt; exit 1")
	changing.Worktree, changing.Retries = true, 1
	changing.Verify = []string{"echo checked"}
	later := shell("later", "true")
	later.Worktree, later.After = true, []string{"plain"}
	candidate := shell("candidate", "touch x")
	candidate.Worktree, candidate.Candidate = true, "plain"
	idle := shell("idle", "true")
	idle.Worktree = true
	run := p.work(a, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Tasks: []plan.Task{changing, shell("plain", "exit 1"), later, candidate, idle}})

	v, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Change.Files) != 2 || v.Change.Task != "changing" || v.Review.State != fleet.ReviewOpen || len(v.Checks) != 1 || !v.Checks[0].OK {
		t.Errorf("%+v", v)
	}
	f, err := c.Changes.File(t.Context(), run.ID, "changing", fleet.FileQuery{Path: "new.txt", Tree: v.Change.Tree})
	if err != nil || len(f.Hunks) != 1 || f.Hunks[0].Lines[1].Text != "again" {
		t.Errorf("%+v, %v", f, err)
	}
	// A second process, which has not read the change yet, returns the same file.
	again := p.coordinate()
	if f, err := again.Changes.File(t.Context(), run.ID, "changing", fleet.FileQuery{Path: "new.txt", Tree: v.Change.Tree}); err != nil || f.Status != "added" {
		t.Errorf("%+v, %v", f, err)
	}
	first, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{Attempt: 1})
	if err != nil || first.Change.Added != 2 || first.Change.Tree == v.Change.Tree {
		t.Errorf("attempt 1: %+v, %v", first.Change, err)
	}
	since, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{Since: first.Change.Tree})
	if err != nil || since.Change.Added != 2 || since.Change.Removed != 0 {
		t.Errorf("since attempt 1: %+v, %v", since.Change, err)
	}
	if v.Anchors == nil || v.Messages == nil || since.Change.Commits == nil {
		t.Error("a list is nil, which is null in JSON")
	}
	err = app.EngineOf(a).ChangeReview(t.Context(), store.TaskKey{Run: run.ID, Task: "changing"}, "me", func(r *fleet.Review) error {
		r.State, r.Seen = fleet.ReviewCommented, v.Change.Tree
		r.Comments = append(r.Comments, fleet.Comment{ID: "c1", Path: "new.txt", Side: fleet.NewSide, First: 1, Last: 1, Tree: first.Change.Tree, Text: "why?"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reviewed, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{})
	if err != nil || len(reviewed.Review.Comments) != 1 || len(reviewed.Anchors) != 1 || reviewed.Anchors[0].First != 1 || reviewed.Anchors[0].Outdated {
		t.Errorf("with a comment: %+v, %v", reviewed, err)
	}
	text, err := c.Changes.Blob(t.Context(), run.ID, "changing", f.NewBlob)
	if err != nil || string(text) != "one\nagain\n" {
		t.Errorf("%q, %v", text, err)
	}
	before := p.git("hash-object", "-w", p.root+"/start.txt")
	secret := p.root + "/secret"
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Changes.Blob(t.Context(), run.ID, "changing", p.git("hash-object", "-w", secret)); err == nil {
		t.Error("a blob that is not in the change was shown")
	}
	other := p.git("commit-tree", "-m", "other", "HEAD^{tree}")
	for name, read := range map[string]func() error{
		"a file": func() error {
			_, err := c.Changes.File(t.Context(), run.ID, "changing", fleet.FileQuery{Path: "new.txt", Tree: v.Change.Tree, From: other})
			return err
		},
		"the change": func() error {
			_, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{Since: other})
			return err
		},
	} {
		if err := read(); err == nil {
			t.Errorf("%s was compared with a commit that is not the task's", name)
		}
	}
	if f, err := c.Changes.File(t.Context(), run.ID, "changing", fleet.FileQuery{Path: "new.txt", Tree: v.Change.Tree, From: first.Change.Tree}); err != nil || f.Status != "changed" {
		t.Errorf("since attempt 1: %+v, %v", f, err)
	}
	if _, err := c.Changes.Blob(t.Context(), run.ID, "changing", before); err != nil {
		t.Errorf("the old side of the change: %v", err)
	}
	for task, says := range map[string]string{"plain": "has no worktree", "later": "has not started", "missing": "not found"} {
		_, err := c.Changes.Change(t.Context(), run.ID, task, fleet.ChangeQuery{})
		if missing := (interface{ NotFound() bool })(nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", task, err)
		}
	}
	all, err := c.Changes.Reviews(t.Context(), run.ID)
	if err != nil || len(all.Reviews) != 1 || all.Reviews[0].Task != "changing" || all.Changes != 1 || all.Ready != 0 || all.Commented != 1 {
		t.Errorf("%+v, %v", all, err)
	}

	elsewhere := (*changes.ElsewhereError)(nil)
	if err := os.RemoveAll(c.State + "/runs"); err != nil { // simulate a machine that has never worked on the run
		t.Fatal(err)
	}
	if _, err := c.Changes.Change(t.Context(), run.ID, "changing", fleet.ChangeQuery{}); !errors.As(err, &elsewhere) {
		t.Errorf("on another machine: %v", err)
	}

	if refs := p.git("for-each-ref", "refs/gaffer"); !strings.Contains(refs, "refs/gaffer/review/"+run.ID+"/changing/1") || !strings.Contains(refs, "refs/gaffer/attempt/"+run.ID+"/changing/2") {
		t.Errorf("refs are\n%s", refs)
	}
	p.git("update-ref", "refs/gaffer/review/other/changing/1", "HEAD")
	p.git("update-ref", "refs/gaffer/rescue/"+run.ID+"/changing", "HEAD")
	old, err := a.Pruner.Find(t.Context(), retention.Policy{OlderThan: -time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := old.Delete(t.Context()); err != nil || done.Runs != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if refs := p.git("for-each-ref", "--format=%(refname)", "refs/gaffer"); refs != "refs/gaffer/rescue/"+run.ID+"/changing\nrefs/gaffer/review/other/changing/1" {
		t.Errorf("after the run was deleted, refs are\n%s", refs)
	}
}
