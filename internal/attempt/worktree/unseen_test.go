package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// keeps checks that a tree is not removed, not even with force.
func (p project) keeps(tree Tree, why string) {
	p.Helper()
	_, err := p.repo.Remove(p.Context(), tree, true)
	if e := as[*KeptError](p.T, err); !strings.Contains(e.Error(), why) {
		p.Errorf("%v", e)
	}
}

func TestWhatGitDoesNotLookIntoIsNotRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "update-index", "--add", "--cacheinfo", "160000,"+p.git(p.dir, "rev-parse", "HEAD")+",lib")
	p.git(p.dir, "commit", "--quiet", "-m", "a submodule")
	p.write(p.dir, "pkg/deep/a.txt", "x\n")
	p.git(p.dir, "add", "pkg")
	p.git(p.dir, "commit", "--quiet", "-m", "a folder")
	a, b, c := p.create("a"), p.create("b"), p.create("c")
	p.write(a.Path, "lib/work.c", "work\n")
	p.keeps(a, "lib")
	p.git(b.Path, "init", "--quiet", "pkg")
	p.keeps(b, "pkg")
	if s := p.status(c); len(s.Nested) > 0 || len(s.Dirty) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestFilesThatGitIsToldNotToLookAtAreSeenAndKept(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(project, Tree){
		"assumed unchanged": func(p project, a Tree) { p.git(a.Path, "update-index", "--assume-unchanged", "shared.txt") },
		"skipped":           func(p project, a Tree) { p.git(a.Path, "update-index", "--skip-worktree", "shared.txt") },
		"by a setting":      func(p project, a Tree) { p.git(a.Path, "-c", "core.ignoreStat=true", "reset", "--quiet", "--hard") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			if name == "by a setting" {
				p.git(p.dir, "config", "core.ignoreStat", "true")
			}
			a := p.create("a")
			hide(p, a)
			p.write(a.Path, "shared.txt", "changed\n")
			check := p.untouched(a.Path)
			if s := p.status(a); !slices.Equal(s.Dirty, []File{{" M", "shared.txt"}}) || s.Diff.Files != 1 {
				t.Errorf("%+v", s)
			}
			if got := p.git(p.dir, "show", p.rescue(a)+":shared.txt"); got != "changed" {
				t.Errorf("it is kept as %q", got)
			}
			check()
		})
	}
}

// Git reads a file that is not older than the index, since it may have been changed in
// the same second.
func TestAFileThatWasChangedInTheSecondOfTheIndexIsKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "config", "core.trustctime", "false")
	a := p.create("a")
	file, index := filepath.Join(a.Path, "shared.txt"), p.git(a.Path, "rev-parse", "--path-format=absolute", "--git-path", "index")
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	p.must(os.Chtimes(file, then, then))
	p.git(a.Path, "update-index", "--refresh")
	p.write(a.Path, "shared.txt", "ONE\ntwo\nthree\n")
	for _, path := range []string{file, index} {
		p.must(os.Chtimes(path, then, then))
	}
	if s := p.status(a); s.Diff.Files != 1 || len(s.Dirty) != 1 {
		t.Errorf("%+v", s)
	}
	if got := p.git(p.dir, "show", p.rescue(a)+":shared.txt"); !strings.HasPrefix(got, "ONE") {
		t.Errorf("it is kept as %q", got)
	}
}

func TestAMergeOverwritesNoIgnoredFileOfAPerson(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(p.dir, "notes.log", "my notes\n")
	a := p.create("a")
	p.write(a.Path, "notes.log", "agent\n")
	p.git(a.Path, "add", "--force", "notes.log")
	p.git(a.Path, "commit", "--quiet", "-m", "work")
	check := p.untouched(p.dir)
	_, err := p.merge("main", a)
	if e := as[*TargetError](t, err); !strings.Contains(e.Error(), "notes.log") {
		t.Errorf("%v", e)
	}
	check()
	if got := p.read(p.dir, "notes.log"); got != "my notes\n" {
		t.Errorf("it has %q", got)
	}
}

func TestNoSettingHasAMergeDoLess(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"--squash", "--no-commit"} {
		p := newProject(t)
		p.git(p.dir, "config", "branch.main.mergeOptions", options)
		a := p.work("a", "new.txt", "x\n")
		done, err := p.merge("main", a)
		if err != nil || p.git(p.dir, "rev-parse", "main") != done.After || p.git(p.dir, "status", "--porcelain") != "" {
			t.Errorf("%s: %v, %s", options, err, p.git(p.dir, "status", "--porcelain"))
		}
	}
}

func TestABranchThatIsBeingRebasedIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "branch", "up")
	linked := filepath.Join(p.root, "linked")
	for i, dir := range []string{p.dir, linked} {
		if i == 1 {
			p.git(p.dir, "worktree", "add", "--quiet", "-b", "side", linked, "main~1")
		}
		branch := p.git(dir, "symbolic-ref", "--short", "HEAD")
		a := p.work("a"+branch, branch+".txt", "x\n")
		p.write(dir, "shared.txt", "mine of "+branch+"\n")
		p.commit(dir, "mine")
		p.git(p.dir, "worktree", "add", "--quiet", "--detach", dir+"-up", "up")
		p.write(dir+"-up", "shared.txt", "theirs of "+branch+"\n")
		p.commit(dir+"-up", "theirs")
		if out, err := p.try(dir, "rebase", p.git(dir+"-up", "rev-parse", "HEAD")); err == nil {
			t.Fatalf("no conflict: %s", out)
		}
		_, err := p.merge(branch, a)
		if e := as[*TargetError](t, err); e.Path != dir || !strings.Contains(e.Error(), "rebase") {
			t.Errorf("%v", e)
		}
		p.write(dir, "shared.txt", "both\n")
		p.git(dir, "add", "shared.txt")
		p.git(dir, "-c", "core.editor=true", "rebase", "--continue")
		if _, err := p.merge(branch, a); err != nil && branch == "main" { // the other branch has diverged too far
			t.Error(err)
		}
	}
}

func TestCommitsOnABranchOfTheAgentsOwnAreNotPassedOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.create("a")
	p.git(a.Path, "switch", "--quiet", "--create", "mine")
	if _, err := p.commitLeft(a); err != nil {
		t.Errorf("without work: %v", err)
	}
	p.write(a.Path, "new.txt", "x\n")
	p.commit(a.Path, "work")
	_, err := p.commitLeft(a)
	if e := as[*UnfinishedError](t, err); e.On != "mine" {
		t.Errorf("%+v", e)
	}
	p.git(a.Path, "push", "--quiet", ".", "mine:"+a.Branch)
	if _, err := p.commitLeft(a); err != nil {
		t.Errorf("when the branch has it: %v", err)
	}
}
