package worktree

import (
	"os"
	"strings"
	"testing"

	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

func TestADiscardedTreeIsRestored(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.Write(tree.Path, "open.txt", "not committed\n")
	p.Write(tree.Path, "shared.txt", "changed\n")
	d, err := p.repo.Discard(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree.Path); err == nil || p.Git(p.Dir, "show", d.Rescue+":open.txt") != "not committed" {
		t.Errorf("%+v", d)
	}
	if again, err := p.repo.Discard(t.Context(), tree); err != nil || again != d {
		t.Errorf("again: %+v, %v", again, err)
	}
	p.Git(p.Dir, "gc", "--quiet", "--prune=now")
	list, err := p.repo.Discarded(t.Context(), "run1")
	if err != nil || len(list) != 1 || list[0] != d {
		t.Fatalf("%+v, %v", list, err)
	}
	back, err := p.repo.Restore(t.Context(), list[0])
	if err != nil || back != tree {
		t.Fatalf("%+v, %v", back, err)
	}
	if got := p.Git(tree.Path, "status", "--porcelain"); got != "M shared.txt\n?? open.txt" {
		t.Errorf("status: %s", got)
	}
	if list, err := p.repo.Discarded(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAFileThatNoLongerFitsIsKeptWhenADiscardedTreeIsRestored(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.Write(tree.Path, "open.txt", "not committed\n")
	d, err := p.repo.Discard(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	p.Git(p.Dir, "checkout", "--quiet", tree.Branch)
	p.Write(p.Dir, "later.txt", "later\n")
	p.Commit(p.Dir, "later")
	p.Git(p.Dir, "checkout", "--quiet", "-")
	back, err := p.repo.Restore(t.Context(), d)
	kept := gittest.As[*FilesKeptError](t, err)
	if kept.Ref != d.Rescue || !kept.Conflict() || !strings.Contains(kept.Hint(), d.Rescue) || back != tree {
		t.Errorf("%+v, %+v", kept, back)
	}
	if got := p.Git(tree.Path, "status", "--porcelain"); got != "" || p.Read(tree.Path, "later.txt") != "later\n" {
		t.Errorf("status: %s", got)
	}
	if p.Git(p.Dir, "show", kept.Ref+":open.txt") != "not committed" {
		t.Error("the file is lost")
	}
	if list, err := p.repo.Discarded(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestADiscardGoesOnAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	var tree Tree
	prepare := func(p project) any {
		tree = p.work("a", "a.txt", "a\n")
		p.Write(tree.Path, "open.txt", "x\n")
		return tree
	}
	eachCrash(t, "discard", prepare, func(p project) {
		d, err := p.repo.Discard(p.Context(), tree)
		p.Must(err)
		back, err := p.repo.Restore(p.Context(), d)
		if err != nil || back != tree || p.Read(tree.Path, "open.txt") != "x\n" || p.Git(tree.Path, "status", "--porcelain") != "?? open.txt" {
			p.Errorf("%+v, %v", back, err)
		}
	})
}

func TestAWorktreeWhoseRemovalWasInterruptedCanBeDiscardedAndRestored(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	prepare := func(p project) any {
		tree := p.work("a", "a.txt", "a\n")
		p.Write(tree.Path, "open.txt", "x\n")
		return tree
	}
	eachCrash(t, "remove", prepare, func(p project) {
		list, err := p.repo.List(p.Context(), "run1")
		p.Must(err)
		for _, tree := range list {
			d, err := p.repo.Discard(p.Context(), tree)
			p.Must(err)
			if _, err := p.repo.Restore(p.Context(), d); err != nil || p.Read(tree.Path, "open.txt") != "x\n" {
				p.Errorf("%+v, %v", d, err)
			}
		}
	})
}
