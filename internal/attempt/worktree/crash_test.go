package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

func TestCreateSucceedsAfterACrashAtAnyStep(t *testing.T) {
	t.Parallel()
	eachCrash(t, "create", func(p project) any { return p.spec("a b") }, func(p project) {
		tree := p.create("a b")
		p.whole(tree, "shared.txt")
		if got := p.branches(); !slices.Equal(got, []string{"gaffer/run1/a%20b", "main"}) {
			p.Errorf("branches: %q", got)
		}
	})
}

func TestRemoveGoesOnAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	prepare := func(p project) any {
		tree := p.work("a", "done.txt", "x\n")
		p.Write(tree.Path, "open.txt", "y\n")
		return tree
	}
	eachCrash(t, "remove", prepare, func(p project) {
		list, err := p.repo.List(p.Context(), "run1")
		if err != nil {
			p.Fatal(err)
		}
		for _, tree := range list {
			if _, err := p.repo.Remove(p.Context(), tree, true); err != nil {
				p.Error(err)
			}
		}
		if got := p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/gaffer"); got != "refs/gaffer/rescue/run1/a" {
			p.Errorf("rescue refs: %s", got)
		}
		if got := p.Git(p.Dir, "show", "refs/gaffer/rescue/run1/a:open.txt"); got != "y" {
			p.Errorf("rescued: %s", got)
		}
		if n := p.Worktrees(); n != 0 {
			p.Errorf("%d worktrees are left", n)
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, "run1", ".*")); len(left) > 0 {
			p.Errorf("left: %q", left)
		}
	})
}

func TestWhatAKilledGitLeftIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(p project, tree Tree){
		"an empty folder": func(p project, tree Tree) {
			p.Must(os.RemoveAll(tree.Path))
			p.Must(os.Mkdir(tree.Path, 0o755))
			p.Git(p.Dir, "worktree", "prune")
		},
		"a folder without a link": func(p project, tree Tree) { p.Must(os.Remove(filepath.Join(tree.Path, ".git"))) },
		"a worktree that git has locked": func(p project, tree Tree) {
			p.Write(p.Dir, ".git/worktrees/a/locked", "initializing")
			p.Must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
		},
		"no index": func(p project, tree Tree) { p.Must(os.Remove(filepath.Join(p.Dir, ".git/worktrees/a/index"))) },
		"a lock on the index": func(p project, tree Tree) {
			p.Write(p.Dir, ".git/worktrees/a/index.lock", "")
			p.Must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
		},
		"the branch alone": func(p project, tree Tree) { p.Git(p.Dir, "worktree", "remove", "--force", tree.Path) },
		"the record alone": func(p project, tree Tree) {
			p.Git(p.Dir, "worktree", "remove", "--force", tree.Path)
			p.Git(p.Dir, "branch", "-D", tree.Branch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			tree := p.create("a")
			p.Must(p.repo.records.save(record{Tree: tree})) // write the record that the tree had before its creation was complete
			damage(p, tree)
			if again := p.create("a"); again != tree {
				t.Errorf("got %+v, want %+v", again, tree)
			}
			p.whole(tree, "shared.txt")
		})
	}
}

func TestARemovalThatTouchedNothingIsTakenBackByCreate(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Must(p.repo.records.save(record{Tree: tree, Made: true, Removing: "refs/gaffer/rescue/run1/a"}))
	p.Write(tree.Path, "new.txt", "x\n")
	_, err := p.repo.Remove(t.Context(), tree, false) // Remove checks the state again
	_ = gittest.As[*KeptError](t, err)
	if again := p.create("a"); again != tree || p.Read(tree.Path, "new.txt") != "x\n" {
		t.Errorf("got %+v", again)
	}
	if rec, err := p.repo.records.read("run1", "a"); err != nil || rec.Removing != "" {
		t.Errorf("record: %+v, %v", rec, err)
	}
}

func TestFilesInAFolderThatWasNeverAWorktreeAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Must(p.repo.records.save(record{Tree: tree}))
	p.Git(p.Dir, "worktree", "remove", tree.Path)
	p.Write(tree.Path, "mine.txt", "x\n")
	_, err := p.repo.Create(t.Context(), p.spec("a"))
	_ = gittest.As[*git.TakenError](t, err)
	_, err = p.repo.Remove(t.Context(), tree, true)
	_ = gittest.As[*git.TakenError](t, err)
	p.Read(tree.Path, "mine.txt")
}

func TestABranchThatMovedBeforeTheTreeWasMadeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Must(p.repo.records.save(record{Tree: tree}))
	tip := p.commitEmpty()
	p.Git(p.Dir, "worktree", "remove", tree.Path)
	p.Git(p.Dir, "branch", "--force", tree.Branch, tip)
	spec := p.spec("a")
	_, err := p.repo.Create(t.Context(), spec)
	if e := gittest.As[*git.TakenError](t, err); e.What != "branch" || p.Git(p.Dir, "rev-parse", tree.Branch) != tip {
		t.Errorf("%v", err)
	}
}
