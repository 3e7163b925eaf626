package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestAServerMergesAndDiscardsTheChangesOfItsOwnMachine(t *testing.T) {
	p := newRepository(t)
	c, a := p.coordinate(), p.open()
	defer a.Close()
	defer c.Close()
	one, two := shell("one", "echo 1 > one.txt"), shell("two", "echo 2 > two.txt")
	one.Worktree, two.Worktree = true, true
	run := p.work(a, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Tasks: []plan.Task{one, two}})
	by := credential.Identity{Name: "ann", Role: credential.Operator}
	request := fleet.MergeRequest{Run: run.ID, Task: "one"}

	list, err := c.Landing.Merge(t.Context(), by, request)
	if err != nil || len(list) != 1 || list[0].State != fleet.MergeBlocked || !list[0].Consent {
		t.Fatalf("%+v, %v", list, err)
	}
	request.Yes = true
	list, err = c.Landing.Merge(t.Context(), by, request)
	if err != nil || list[0].State != fleet.MergeDone {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(p.root, "one.txt")); err != nil {
		t.Error(err)
	}
	v, err := c.Changes.Change(t.Context(), run.ID, "one", fleet.ChangeQuery{})
	if err != nil || v.Review.State != fleet.ReviewMerged || v.Review.By != "ann" {
		t.Errorf("%+v, %v", v.Review, err)
	}
	m, err := c.Landing.UndoMerge(t.Context(), by, fleet.MergeRequest{Run: run.ID, Task: "one"})
	if err != nil || m.State != fleet.MergeBlocked || !m.Consent {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = c.Landing.UndoMerge(t.Context(), by, request); err != nil || m.State != fleet.MergeUndone {
		t.Errorf("%+v, %v", m, err)
	}
	for _, undo := range []bool{false, true} {
		want := map[bool]fleet.ReviewState{false: fleet.ReviewDiscarded, true: fleet.ReviewOpen}[undo]
		if r, err := c.Landing.Discard(t.Context(), by, run.ID, "two", undo); err != nil || r.State != want {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if err := os.RemoveAll(c.State + "/runs"); err != nil { // simulate a machine that has never worked on the run
		t.Fatal(err)
	}
	if _, err := c.Landing.Merge(t.Context(), by, request); err == nil || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("on another machine: %v", err)
	}
}

// If checks take longer than a request, the client repeats the request.
func TestARepeatedMergeRequestGetsTheResultOfTheRunningMerge(t *testing.T) {
	p := newRepository(t)
	c, a := p.coordinate(), p.open()
	defer a.Close()
	defer c.Close()
	checks, gate := filepath.Join(p.root, ".git", "checks"), filepath.Join(p.root, ".git", "gate")
	task := func(id string) plan.Task {
		one := shell(id, "echo 1 > "+id+".txt")
		one.Worktree = true
		one.Verify = []string{"echo >>" + checks + "; [ $(wc -l <" + checks + ") -lt 3 ] || until test -e " + gate + "; do sleep 0.05; done"}
		return one
	}
	run := p.work(a, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Tasks: []plan.Task{task("one"), task("two")}})
	by := credential.Identity{Name: "ann", Role: credential.Operator}
	request := fleet.MergeRequest{Run: run.ID, Task: "one", Yes: true}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if list, err := c.Landing.Merge(gone, by, request); err != nil || list[0].State != fleet.MergeRunning {
		t.Fatalf("%+v, %v", list, err)
	}
	other := fleet.MergeRequest{Run: run.ID, Task: "two", Yes: true}
	if list, err := c.Landing.Merge(gone, by, other); err != nil || !strings.Contains(list[0].Why, "another merge") {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the merge", func() error {
		v, err := c.Changes.Change(t.Context(), run.ID, "one", fleet.ChangeQuery{})
		if err == nil && v.Review.State != fleet.ReviewMerged {
			err = fmt.Errorf("the review is %s", v.Review.State)
		}
		return err
	})
	for _, m := range []fleet.MergeRequest{request, other} {
		if list, err := c.Landing.Merge(t.Context(), by, m); err != nil || len(list) != 1 || list[0].State != fleet.MergeDone {
			t.Errorf("%s: %+v, %v", m.Task, list, err)
		}
	}
	if list, err := c.Landing.Merge(t.Context(), by, request); err != nil || list[0].State != fleet.MergeAlready {
		t.Errorf("a later request: %+v, %v", list, err)
	}
}

func TestAReviewShowsAMergeWhoseProcessDied(t *testing.T) {
	p := newRepository(t)
	c, a := p.coordinate(), p.open()
	defer a.Close()
	defer c.Close()
	one := shell("one", "echo 1 > one.txt")
	one.Worktree = true
	run := p.work(a, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Tasks: []plan.Task{one}})
	repo, err := worktree.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	trees, err := repo.List(t.Context(), run.ID)
	if err != nil || len(trees) != 1 {
		t.Fatalf("%+v, %v", trees, err)
	}
	// Simulate a process that moves the branch and dies before it stores that.
	if _, err := merge.Land(t.Context(), repo, merge.LandSpec{Tree: trees[0], Into: p.git("branch", "--show-current"), MoveCheckedOut: true, Scratch: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	v, err := c.Changes.Change(t.Context(), run.ID, "one", fleet.ChangeQuery{})
	if err != nil || v.Review.State != fleet.ReviewMerged || v.Review.Landing == nil {
		t.Errorf("%+v, %v", v.Review, err)
	}
}
