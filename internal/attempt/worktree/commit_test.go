package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gaffer/internal/testkit/gittest"
)

func (p project) commitLeft(tree Tree) (string, error) {
	return p.repo.Commit(p.Context(), tree, "What was left")
}

func TestWhatIsLeftIsCommittedOnTheBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.create("a")
	if commit, err := p.commitLeft(a); err != nil || commit != "" {
		t.Errorf("there is nothing to commit: %s, %v", commit, err)
	}
	p.Write(a.Path, "new.txt", "x\n")
	p.Write(a.Path, "noise.log", "x\n")
	p.Must(os.Remove(filepath.Join(a.Path, "shared.txt")))
	commit, err := p.commitLeft(a)
	if err != nil || commit != p.Git(p.Dir, "rev-parse", a.Branch) || !p.status(a).Clean() {
		t.Errorf("%s, %v", commit, err)
	}
	if got := p.Git(p.Dir, "ls-tree", "--name-only", commit); got != ".gitignore\nnew.txt" {
		t.Errorf("committed: %s", got)
	}
}

func TestConflictsAreNotCommittedWithTheirMarks(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "A\n")
	p.Write(p.Dir, "shared.txt", "B\n")
	p.Commit(p.Dir, "other")
	if _, err := p.Try(a.Path, "merge", "main"); err == nil {
		t.Fatal("no conflict")
	}
	_, err := p.commitLeft(a)
	if e := gittest.As[*UnfinishedError](t, err); !e.Conflict() || e.Hint() == "" || !slices.Equal(e.Files, []string{"shared.txt"}) {
		t.Errorf("%+v", e)
	}
	if got := p.Git(a.Path, "status", "--porcelain"); got != "UU shared.txt" {
		t.Errorf("status: %s", got)
	}
}

func TestWhatIsLeftIsNotCommittedElsewhere(t *testing.T) {
	t.Parallel()
	for on, args := range map[string][]string{"": {"--detach"}, "mine": {"--create", "mine"}} {
		p := newProject(t)
		a := p.create("a")
		p.Git(a.Path, append([]string{"switch", "--quiet"}, args...)...)
		p.Write(a.Path, "new.txt", "x\n")
		_, err := p.commitLeft(a)
		if e := gittest.As[*UnfinishedError](t, err); e.On != on || len(e.Files) > 0 || e.Hint() == "" {
			t.Errorf("%+v", e)
		}
		if p.Git(a.Path, "rev-parse", "HEAD") != a.Base.Commit || p.Git(a.Path, "status", "--porcelain") != "?? new.txt" {
			t.Errorf("%s: it was committed", on)
		}
	}
}

func TestOtherRepositoriesInAWorktreeAreNotCommitted(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.create("a")
	p.Git(a.Path, "init", "--quiet", "empty")
	p.Git(p.Dir, "clone", "--quiet", p.Dir, filepath.Join(a.Path, "clone"))
	if commit, err := p.commitLeft(a); err != nil || commit != "" {
		t.Errorf("%s, %v", commit, err)
	}
	p.Write(a.Path, "new.txt", "x\n")
	commit, err := p.commitLeft(a)
	if err != nil || p.Git(p.Dir, "diff", "--name-only", a.Base.Commit, commit) != "new.txt" {
		t.Errorf("%s, %v", commit, err)
	}
}
