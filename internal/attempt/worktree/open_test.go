package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"gaffer/internal/git"
)

func TestAWorktreeOfABareRepositoryIsAsGoodAsAMainOne(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	bare, dir := filepath.Join(p.root, "bare.git"), filepath.Join(p.root, "wt")
	p.Git(p.Dir, "clone", "--quiet", "--bare", ".", bare)
	p.Git(bare, "worktree", "add", "--quiet", "-b", "here", dir)
	p.repo = p.open(dir)
	if got := p.repo.Main(); got != dir {
		t.Errorf("main is %s, want %s", got, dir)
	}
	tree := p.create("a")
	if tree.Base.Branch != "here" {
		t.Errorf("base is %+v", tree.Base)
	}
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func TestTheBaseOfADetachedHeadHasNoBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "checkout", "--quiet", "--detach")
	p.Write(p.Dir, "more.txt", "x\n")
	tip := p.Commit(p.Dir, "on no branch")
	if got := p.base(); got != (git.Base{Commit: tip}) {
		t.Errorf("base is %+v, want commit %s alone", got, tip)
	}
	tree := p.create("a")
	p.whole(tree, "more.txt")
	// A commit that is on no branch does not count for the tree.
	if s := p.status(tree); s.Ahead != 0 || s.Unpushed != 0 {
		t.Errorf("status is %+v", s)
	}
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func (p project) commitEmpty() string {
	p.Helper()
	p.Git(p.Dir, "commit", "--quiet", "--allow-empty", "-m", "nothing")
	return p.Git(p.Dir, "rev-parse", "HEAD")
}

func TestACommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := p.repo.Base(ctx, ""); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	if _, err := p.repo.Create(ctx, p.spec("a")); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, why)
	}
}
