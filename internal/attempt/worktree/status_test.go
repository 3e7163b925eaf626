package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

func TestAFreshTreeIsClean(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Write(tree.Path, "noise.log", "ignored\n")
	s := p.status(tree)
	if !s.Clean() || s.Ahead != 0 || s.Unpushed != 0 || s.Diff != (Diff{}) || len(s.Occupants) > 0 || s.Locked != "" {
		t.Errorf("status is %+v", s)
	}
	if s.Branch != tree.Branch || s.Head != tree.Base.Commit {
		t.Errorf("status is %+v", s)
	}
}

func TestStatusCountsFilesCommitsAndLines(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "done.txt", "1\n2\n3\n")
	p.Write(tree.Path, "shared.txt", "one\nthree\n")
	p.Write(tree.Path, "folder/with space.txt", "new\n")
	p.Write(tree.Path, "picture.bin", "\x00\x01\x02")
	p.Git(tree.Path, "add", "picture.bin")
	objects := p.Git(p.Dir, "count-objects")
	index := p.Read(p.Dir, ".git/worktrees/a/index")
	s := p.status(tree)
	want := []File{{" M", "shared.txt"}, {"A ", "picture.bin"}, {"??", "folder/with space.txt"}}
	slices.SortFunc(s.Dirty, func(a, b File) int { return strings.Compare(a.State, b.State) })
	slices.SortFunc(want, func(a, b File) int { return strings.Compare(a.State, b.State) })
	if s.Clean() || !slices.Equal(s.Dirty, want) {
		t.Errorf("dirty: %+v", s.Dirty)
	}
	if s.Ahead != 1 || s.Unpushed != 1 || s.Diff != (Diff{Files: 4, Insertions: 4, Deletions: 1}) {
		t.Errorf("status is %+v", s)
	}
	if now := p.Git(p.Dir, "count-objects"); now != objects {
		t.Errorf("status wrote into the repository: %s, was %s", now, objects)
	}
	if p.Read(p.Dir, ".git/worktrees/a/index") != index {
		t.Error("status wrote the index")
	}
}

func TestCommitsAreUnpushedUntilABranchOrARemoteHasThem(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, give := range map[string]func(tree Tree){
		"branch": func(tree Tree) { p.Git(p.Dir, "branch", "copy", tree.Branch) },
		"remote": func(tree Tree) {
			p.Git(p.Dir, "update-ref", "refs/remotes/origin/x", p.Git(tree.Path, "rev-parse", "HEAD"))
		},
	} {
		tree := p.work(name, name+".txt", "x\n")
		if s := p.status(tree); s.Unpushed != 1 {
			t.Errorf("%s: before: %+v", name, s)
		}
		give(tree)
		if s := p.status(tree); s.Ahead != 1 || s.Unpushed != 0 {
			t.Errorf("%s: after: %+v", name, s)
		}
	}
}

func TestCommitsOnNoBranchAreSeen(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Git(tree.Path, "checkout", "--quiet", "--detach")
	p.Write(tree.Path, "x.txt", "x\n")
	p.Commit(tree.Path, "detached")
	if s := p.status(tree); s.Branch != "" || s.Ahead != 1 || s.Unpushed != 1 {
		t.Errorf("status is %+v", s)
	}
	p.Git(tree.Path, "checkout", "--quiet", "--orphan", "empty")
	if s := p.status(tree); s.Head != "" || s.Clean() {
		t.Errorf("status on a branch without commits is %+v", s)
	}
}

func TestStatusWorksInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "shared.txt", "theirs\n")
	p.Write(p.Dir, "shared.txt", "ours\n")
	p.Commit(p.Dir, "ours")
	if out, err := p.Try(tree.Path, "merge", "main"); err == nil {
		t.Fatal(out)
	}
	if s := p.status(tree); !slices.Equal(s.Dirty, []File{{"UU", "shared.txt"}}) {
		t.Errorf("status is %+v", s)
	}
}

func TestATreeWithoutAFolderIsMissing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Must(os.RemoveAll(tree.Path))
	_, err := p.repo.Status(t.Context(), tree)
	if e := gittest.As[*git.MissingError](t, err); !e.NotFound() || !strings.Contains(e.Hint(), tree.Branch) {
		t.Errorf("%v", e)
	}
	tree.Task = "other"
	_, err = p.repo.Status(t.Context(), tree)
	_ = gittest.As[*git.MissingError](t, err)
}

func TestARepositoryPathWithSpecialCharactersHasAStatus(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	odd := filepath.Join(filepath.Dir(p.Dir), `a:b "c" \d`)
	p.Must(os.Rename(p.Dir, odd))
	p.Dir = odd
	p.repo = p.open(odd)
	tree := p.create("a")
	p.Write(tree.Path, "x.txt", "x\n")
	if s := p.status(tree); s.Diff.Files != 1 {
		t.Errorf("status is %+v", s)
	}
}

// sit starts a process whose current folder is dir. The process ends when the test ends.
func sit(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestALiveProcessInATreeOccupiesIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree, other := p.create("a"), p.create("ab")
	p.Write(tree.Path, "deep/x", "")
	cmd := sit(t, filepath.Join(tree.Path, "deep"))
	testenv.Wait(t, "sleep as the occupant", func() error {
		if s := p.status(tree); !slices.Equal(s.Occupants, []Occupant{{cmd.Process.Pid, "sleep"}}) {
			return fmt.Errorf("occupants %+v", s.Occupants)
		}
		return nil
	})
	if s := p.status(other); len(s.Occupants) > 0 {
		t.Errorf("the tree beside it: %+v", s.Occupants)
	}
	p.Must(cmd.Process.Kill())
	_ = cmd.Wait()
	if s := p.status(tree); len(s.Occupants) > 0 {
		t.Errorf("after its end: %+v", s.Occupants)
	}
}

func TestTheListOfOpenFilesIsRead(t *testing.T) {
	t.Parallel()
	out := "p1\ncinit\nfcwd\nn/\np22\nca b\nfcwd\nn/trees/run/a\np23\ncsh\nfcwd\nn/trees/run/a/deep\np24\ncx\nfcwd\nn/trees/run/ab\n"
	want := []Occupant{{22, "a b"}, {23, "sh"}}
	if got := parseLsof(out, "/trees/run/a"); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
