package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/plan"
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
	if err := os.RemoveAll(c.State + "/runs"); err != nil { // as on a machine that has not worked on the run
		t.Fatal(err)
	}
	if _, err := c.Landing.Merge(t.Context(), by, request); err == nil || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("on another machine: %v", err)
	}
}

func TestAReviewTellsOfAMergeWhoseProcessDied(t *testing.T) {
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
	// The branch moves, and the process dies before it stores that.
	if _, err := repo.Land(t.Context(), worktree.LandSpec{Tree: trees[0], Into: p.git("branch", "--show-current"), MoveCheckedOut: true, Scratch: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	v, err := c.Changes.Change(t.Context(), run.ID, "one", fleet.ChangeQuery{})
	if err != nil || v.Review.State != fleet.ReviewMerged || v.Review.Landing == nil {
		t.Errorf("%+v, %v", v.Review, err)
	}
}
