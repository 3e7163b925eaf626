package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/testkit/gittest"
)

// keeps fails the test unless Remove keeps the tree even with force. The error must contain the
// reason.
func (p project) keeps(tree Tree, reason string) {
	p.Helper()
	_, err := p.repo.Remove(p.Context(), tree, true)
	if e := gittest.As[*KeptError](p.T, err); !strings.Contains(e.Error(), reason) {
		p.Errorf("%v", e)
	}
}

func TestWhatGitDoesNotLookIntoIsNotRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "update-index", "--add", "--cacheinfo", "160000,"+p.Git(p.Dir, "rev-parse", "HEAD")+",lib")
	p.Git(p.Dir, "commit", "--quiet", "-m", "a submodule")
	p.Write(p.Dir, "pkg/deep/a.txt", "x\n")
	p.Git(p.Dir, "add", "pkg")
	p.Git(p.Dir, "commit", "--quiet", "-m", "a folder")
	a, b, c := p.create("a"), p.create("b"), p.create("c")
	p.Write(a.Path, "lib/work.c", "work\n")
	p.keeps(a, "lib")
	p.Git(b.Path, "init", "--quiet", "pkg")
	p.keeps(b, "pkg")
	if s := p.status(c); len(s.Nested) > 0 || len(s.Dirty) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestFilesThatGitIsToldNotToLookAtAreSeenAndKept(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(project, Tree){
		"assumed unchanged": func(p project, a Tree) { p.Git(a.Path, "update-index", "--assume-unchanged", "shared.txt") },
		"skipped":           func(p project, a Tree) { p.Git(a.Path, "update-index", "--skip-worktree", "shared.txt") },
		"by a setting":      func(p project, a Tree) { p.Git(a.Path, "-c", "core.ignoreStat=true", "reset", "--quiet", "--hard") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			if name == "by a setting" {
				p.Git(p.Dir, "config", "core.ignoreStat", "true")
			}
			a := p.create("a")
			hide(p, a)
			p.Write(a.Path, "shared.txt", "changed\n")
			check := p.Untouched(a.Path)
			if s := p.status(a); !slices.Equal(s.Dirty, []File{{" M", "shared.txt"}}) || s.Diff.Files != 1 {
				t.Errorf("%+v", s)
			}
			if got := p.Git(p.Dir, "show", p.rescue(a)+":shared.txt"); got != "changed" {
				t.Errorf("it is kept as %q", got)
			}
			check()
		})
	}
}

// Git reads a file again if it is not older than the index, since the file may have been changed in
// the same second.
func TestAFileThatWasChangedInTheSecondOfTheIndexIsKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "config", "core.trustctime", "false")
	a := p.create("a")
	file, index := filepath.Join(a.Path, "shared.txt"), p.Git(a.Path, "rev-parse", "--path-format=absolute", "--git-path", "index")
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	p.Must(os.Chtimes(file, then, then))
	p.Git(a.Path, "update-index", "--refresh")
	p.Write(a.Path, "shared.txt", "ONE\ntwo\nthree\n")
	for _, path := range []string{file, index} {
		p.Must(os.Chtimes(path, then, then))
	}
	if s := p.status(a); s.Diff.Files != 1 || len(s.Dirty) != 1 {
		t.Errorf("%+v", s)
	}
	if got := p.Git(p.Dir, "show", p.rescue(a)+":shared.txt"); !strings.HasPrefix(got, "ONE") {
		t.Errorf("it is kept as %q", got)
	}
}

func TestCommitsOnABranchOfTheAgentsOwnAreNotPassedOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.create("a")
	p.Git(a.Path, "switch", "--quiet", "--create", "mine")
	if _, err := p.commitLeft(a); err != nil {
		t.Errorf("without work: %v", err)
	}
	p.Write(a.Path, "new.txt", "x\n")
	p.Commit(a.Path, "work")
	_, err := p.commitLeft(a)
	if e := gittest.As[*UnfinishedError](t, err); e.On != "mine" {
		t.Errorf("%+v", e)
	}
	p.Git(a.Path, "push", "--quiet", ".", "mine:"+a.Branch)
	if _, err := p.commitLeft(a); err != nil {
		t.Errorf("when the branch has it: %v", err)
	}
}
