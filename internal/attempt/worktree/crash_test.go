package worktree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

// moments are the times at which gaffer is killed: before git's nth change, after it,
// and during it, so that git outlives gaffer.
var moments = []string{
	`kill -9 $PPID; exit 1`,
	`"$REAL_GIT" "$@"; code=$?; kill -9 $PPID; exit $code`,
	`kill -9 $PPID; exec "$REAL_GIT" "$@"`,
}

// killer is a git that counts the calls that change something.
const killer = `#!/bin/sh
case " $* " in
*" update-ref "* | *" worktree add "* | *" worktree remove "* | *" commit-tree "* | *" add --all "* | *" merge --ff-only "* | *" config --local "* | *" reset --keep "* | *" read-tree --reset "*)
	echo x >>"$COUNTER"
	if [ $(wc -l <"$COUNTER") -eq "$KILL_AT" ]; then
		MOMENT
	fi
	;;
esac
exec "$REAL_GIT" "$@"
`

// eachCrash runs a child in a new project repeatedly, and kills it at each call of git
// that changes something, until it finishes. After each crash, check verifies that
// repeating the action succeeds.
func eachCrash(t *testing.T, act string, prepare func(project) any, check func(project)) {
	eachCrashOf(t, act, 2, prepare, check)
}

// eachCrashOf is eachCrash for an action with at least so many crashes.
func eachCrashOf(t *testing.T, act string, least int, prepare func(project) any, check func(project)) {
	for i, moment := range moments {
		n := 1
		for ; ; n++ {
			p := newProject(t)
			how := prepare(p)
			err := killedAt(p, act, how, moment, n)
			check(p)
			if t.Failed() {
				t.Fatalf("killed at call %d of git, moment %d: %v", n, i, err)
			}
			if err == nil {
				break
			}
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != -1 {
				t.Fatalf("call %d, moment %d: %v", n, i, err)
			}
		}
		if n <= least {
			t.Errorf("moment %d: only %d crashes", i, n-1)
		}
	}
}

// killedAt runs a child with a git that kills it at its nth call.
func killedAt(p project, act string, how any, moment string, n int) error {
	p.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		p.Fatal(err)
	}
	bin, counter := filepath.Join(p.root, "bin"), filepath.Join(p.root, "count")
	p.write(bin, "git", strings.ReplaceAll(killer, "MOMENT", moment))
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.RemoveAll(counter); err != nil {
		p.Fatal(err)
	}
	cmd := child(p.T, act, p.dir, how, "REAL_GIT="+program, "COUNTER="+counter, "KILL_AT="+strconv.Itoa(n),
		"PATH="+bin+":"+os.Getenv("PATH"))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}

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
		p.write(tree.Path, "open.txt", "y\n")
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
		if got := p.git(p.dir, "for-each-ref", "--format=%(refname)", "refs/gaffer"); got != "refs/gaffer/rescue/run1/a" {
			p.Errorf("rescue refs: %s", got)
		}
		if got := p.git(p.dir, "show", "refs/gaffer/rescue/run1/a:open.txt"); got != "y" {
			p.Errorf("rescued: %s", got)
		}
		if n := p.worktrees(); n != 0 {
			p.Errorf("%d worktrees are left", n)
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, "run1", ".*")); len(left) > 0 {
			p.Errorf("left: %q", left)
		}
	})
}

func TestMergeIsDoneOnceAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	spec := MergeSpec{Into: "main", Branches: []string{"gaffer/run1/a", "gaffer/run1/b"}}
	prepare := func(p project) any {
		p.work("a", "a.txt", "x\n")
		p.work("b", "b.txt", "y\n")
		return spec
	}
	eachCrash(t, "merge", prepare, func(p project) {
		if _, err := p.repo.Merge(p.Context(), spec); err != nil {
			p.Error(err)
		}
		if got := p.git(p.dir, "rev-list", "--merges", "--count", "main"); got != "2" {
			p.Errorf("%s merges, want 2", got)
		}
		if got := p.git(p.dir, "status", "--porcelain"); got != "" {
			p.Errorf("the person's worktree: %s", got)
		}
		if p.read(p.dir, "a.txt")+p.read(p.dir, "b.txt") != "x\ny\n" {
			p.Error("a file is missing")
		}
	})
}

func TestWhatAKilledGitLeftIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(p project, tree Tree){
		"an empty folder": func(p project, tree Tree) {
			p.must(os.RemoveAll(tree.Path))
			p.must(os.Mkdir(tree.Path, 0o755))
			p.git(p.dir, "worktree", "prune")
		},
		"a folder without a link": func(p project, tree Tree) { p.must(os.Remove(filepath.Join(tree.Path, ".git"))) },
		"a worktree that git has locked": func(p project, tree Tree) {
			p.write(p.dir, ".git/worktrees/a/locked", "initializing")
			p.must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
		},
		"no index": func(p project, tree Tree) { p.must(os.Remove(filepath.Join(p.dir, ".git/worktrees/a/index"))) },
		"a lock on the index": func(p project, tree Tree) {
			p.write(p.dir, ".git/worktrees/a/index.lock", "")
			p.must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
		},
		"the branch alone": func(p project, tree Tree) { p.git(p.dir, "worktree", "remove", "--force", tree.Path) },
		"the record alone": func(p project, tree Tree) {
			p.git(p.dir, "worktree", "remove", "--force", tree.Path)
			p.git(p.dir, "branch", "-D", tree.Branch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			tree := p.create("a")
			p.must(p.repo.save(record{Tree: tree})) // the record as it was before the creation was complete
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
	p.must(p.repo.save(record{Tree: tree, Made: true, Removing: "refs/gaffer/rescue/run1/a"}))
	p.write(tree.Path, "new.txt", "x\n")
	_, err := p.repo.Remove(t.Context(), tree, false) // it checks the state again
	_ = as[*KeptError](t, err)
	if again := p.create("a"); again != tree || p.read(tree.Path, "new.txt") != "x\n" {
		t.Errorf("got %+v", again)
	}
	if rec, err := p.repo.read("run1", "a"); err != nil || rec.Removing != "" {
		t.Errorf("record: %+v, %v", rec, err)
	}
}

func TestFilesInAFolderThatWasNeverAWorktreeAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.must(p.repo.save(record{Tree: tree}))
	p.git(p.dir, "worktree", "remove", tree.Path)
	p.write(tree.Path, "mine.txt", "x\n")
	_, err := p.repo.Create(t.Context(), p.spec("a"))
	_ = as[*git.TakenError](t, err)
	_, err = p.repo.Remove(t.Context(), tree, true)
	_ = as[*git.TakenError](t, err)
	p.read(tree.Path, "mine.txt")
}

func TestABranchThatMovedBeforeTheTreeWasMadeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.must(p.repo.save(record{Tree: tree}))
	tip := p.commitEmpty()
	p.git(p.dir, "worktree", "remove", tree.Path)
	p.git(p.dir, "branch", "--force", tree.Branch, tip)
	spec := p.spec("a")
	_, err := p.repo.Create(t.Context(), spec)
	if e := as[*git.TakenError](t, err); e.What != "branch" || p.git(p.dir, "rev-parse", tree.Branch) != tip {
		t.Errorf("%v", err)
	}
}

func (p project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}
