package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

func (p project) rescue(tree Tree) string {
	p.Helper()
	ref, err := p.repo.Rescue(p.Context(), tree)
	if err != nil {
		p.Fatal(err)
	}
	return ref
}

func TestARescueRefHasEveryFileThatIsNotIgnored(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "done.txt", "x\n")
	head := p.git(tree.Path, "rev-parse", "HEAD")
	p.write(tree.Path, "shared.txt", "changed\n")
	p.write(tree.Path, "new folder/new.txt", "new\n")
	p.write(tree.Path, "noise.log", "ignored\n")
	p.must(os.Remove(filepath.Join(tree.Path, "done.txt")))
	p.must(os.Symlink("shared.txt", filepath.Join(tree.Path, "link")))
	check, checkMain := p.untouched(tree.Path), p.untouched(p.dir)
	ref := p.rescue(tree)
	check()
	checkMain()
	if ref != "refs/gaffer/rescue/run1/a" {
		t.Errorf("ref is %s", ref)
	}
	if got, want := p.git(p.dir, "ls-tree", "-r", "--name-only", ref), ".gitignore\nlink\nnew folder/new.txt\nshared.txt"; got != want {
		t.Errorf("files: %s", got)
	}
	if p.git(p.dir, "show", ref+":shared.txt") != "changed" || p.git(p.dir, "show", ref+":new folder/new.txt") != "new" {
		t.Error("the content is another")
	}
	if got := p.git(p.dir, "rev-parse", ref+"^"); got != head {
		t.Errorf("parent is %s, want %s", got, head)
	}
	if got := p.git(p.dir, "log", "-1", "--format=%an <%ae> %s", ref); got != "Person <person@example.com> gaffer rescue: what was not committed in task a" {
		t.Errorf("commit: %s", got)
	}
}

func TestTheSameContentIsKeptOnceAndOtherContentBesideIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	clean := p.rescue(tree)
	if got := p.git(p.dir, "rev-parse", clean); got != tree.Base.Commit {
		t.Errorf("a clean tree is kept as %s, want %s", got, tree.Base.Commit)
	}
	var refs []string
	for i := range 3 {
		p.write(tree.Path, "x.txt", fmt.Sprint(i))
		refs = append(refs, p.rescue(tree), p.rescue(tree))
	}
	want := "refs/gaffer/rescue/run1/a-2 refs/gaffer/rescue/run1/a-2 refs/gaffer/rescue/run1/a-3 refs/gaffer/rescue/run1/a-3 " +
		"refs/gaffer/rescue/run1/a-4 refs/gaffer/rescue/run1/a-4"
	if got := strings.Join(refs, " "); got != want {
		t.Errorf("refs: %s", got)
	}
	for i := range 3 {
		if got := p.git(p.dir, "show", fmt.Sprintf("refs/gaffer/rescue/run1/a-%d:x.txt", i+2)); got != fmt.Sprint(i) {
			t.Errorf("rescue %d has %s", i, got)
		}
	}
}

func TestTheSameContentIsKnownAgainAtAnotherTime(t *testing.T) {
	p := newProject(t)
	tree := p.create("a")
	p.write(tree.Path, "x.txt", "x\n")
	ref := p.rescue(tree)
	t.Setenv("GIT_COMMITTER_DATE", "2001-02-03T04:05:06Z")
	old := p.git(p.dir, "commit-tree", "-m", "long ago", "-p", ref+"^", ref+"^{tree}")
	p.git(p.dir, "update-ref", ref, old)
	if again := p.rescue(tree); again != ref || p.git(p.dir, "rev-parse", ref) != old {
		t.Errorf("kept again as %s", again)
	}
}

func TestWhatIsStagedAndNotInTheFilesIsKeptToo(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.write(tree.Path, "x.txt", "staged\n")
	p.git(tree.Path, "add", "x.txt")
	p.must(os.Remove(filepath.Join(tree.Path, "x.txt")))
	check := p.untouched(tree.Path)
	ref := p.rescue(tree)
	check()
	if got := p.git(p.dir, "show", ref+"^2:x.txt"); got != "staged" {
		t.Errorf("staged: %s", got)
	}
	if again := p.rescue(tree); again != ref {
		t.Errorf("kept again as %s", again)
	}
}

func TestARescueInTheMiddleOfAMergeHasTheFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "shared.txt", "theirs\n")
	p.write(p.dir, "shared.txt", "ours\n")
	p.commit(p.dir, "ours")
	_, _ = p.try(tree.Path, "merge", "main")
	check := p.untouched(tree.Path)
	if got := p.git(p.dir, "show", p.rescue(tree)+":shared.txt"); !strings.Contains(got, "<<<<<<<") {
		t.Errorf("rescued: %s", got)
	}
	check()
}

func TestAPersonWithoutANameCanBeRescued(t *testing.T) {
	p := newProject(t)
	p.git(p.dir, "config", "--unset", "user.name")
	p.git(p.dir, "config", "--unset", "user.email")
	tree := p.create("a")
	p.write(tree.Path, "x.txt", "x\n")
	if got := p.git(p.dir, "log", "-1", "--format=%an <%ae>, %cn <%ce>", p.rescue(tree)); got != "gaffer <gaffer@localhost>, gaffer <gaffer@localhost>" {
		t.Errorf("made by %s", got)
	}
	t.Setenv("GIT_AUTHOR_NAME", "Someone")
	t.Setenv("GIT_AUTHOR_EMAIL", "someone@example.com")
	p.repo = p.open(p.dir)
	p.write(tree.Path, "x.txt", "y\n")
	if got := p.git(p.dir, "log", "-1", "--format=%an <%ae>, %cn <%ce>", p.rescue(tree)); got != "Someone <someone@example.com>, gaffer <gaffer@localhost>" {
		t.Errorf("made by %s", got)
	}
}

func TestATreeIsKeptAsLongAsItHasSomethingOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	dirty, ahead := p.create("dirty"), p.work("ahead", "x.txt", "x\n")
	p.write(dirty.Path, "open.txt", "y\n")
	p.write(ahead.Path, "noise.log", "ignored\n")
	for _, c := range []struct {
		tree Tree
		says string
	}{
		{dirty, "1 file not committed: open.txt"},
		{ahead, "1 commit that no other branch and no remote has"},
	} {
		_, err := p.repo.Remove(t.Context(), c.tree, false)
		e := as[*KeptError](t, err)
		if !e.Conflict() || !strings.HasSuffix(e.Error(), c.says) || !strings.Contains(e.Hint(), c.tree.Branch) {
			t.Errorf("%v\n%s", e, e.Hint())
		}
		p.status(c.tree)
	}
	if got := p.git(p.dir, "for-each-ref", "refs/gaffer"); got != "" {
		t.Errorf("a refusal left %s", got)
	}
}

func TestForceKeepsTheWorkUnderARefAndTheBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	p.write(tree.Path, "open.txt", "y\n")
	check := p.untouched(p.dir)
	done, err := p.repo.Remove(t.Context(), tree, true)
	if err != nil || done != (Removal{Rescue: "refs/gaffer/rescue/run1/a"}) {
		t.Fatalf("%+v, %v", done, err)
	}
	check()
	if p.git(p.dir, "show", done.Rescue+":open.txt") != "y" || p.git(p.dir, "show", tree.Branch+":x.txt") != "x" {
		t.Error("something is lost")
	}
	if _, err := os.Stat(filepath.Dir(tree.Path)); !os.IsNotExist(err) || p.worktrees() != 0 {
		t.Errorf("left: %v, %d worktrees", err, p.worktrees())
	}
	_, err = p.repo.Remove(t.Context(), tree, true)
	_ = as[*git.MissingError](t, err)
}

func TestAMergedTreeGoesWithItsBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	p.git(p.dir, "config", "branch."+tree.Branch+".remote", "origin")
	p.git(p.dir, "merge", "--quiet", "--no-ff", tree.Branch)
	p.write(tree.Path, "noise.log", "ignored\n")
	done, err := p.repo.Remove(t.Context(), tree, false)
	if err != nil || !done.BranchDeleted || done.Rescue == "" {
		t.Errorf("%+v, %v", done, err)
	}
	if got := p.branches(); len(got) != 1 || got[0] != "main" {
		t.Errorf("branches: %q", got)
	}
	if got := p.read(p.dir, ".git/config"); strings.Contains(got, tree.Branch) {
		t.Errorf("the configuration still has the branch:\n%s", got)
	}
}

func TestABranchThatSomeoneHasCheckedOutStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.git(tree.Path, "checkout", "--quiet", "--detach")
	p.git(p.dir, "checkout", "--quiet", tree.Branch)
	if done, err := p.repo.Remove(t.Context(), tree, false); err != nil || done.BranchDeleted {
		t.Errorf("%+v, %v", done, err)
	}
	p.git(p.dir, "rev-parse", tree.Branch)
}

func TestATreeInUseIsNotRemovedByForceEither(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	cmd := sit(t, tree.Path)
	testenv.Wait(t, "one occupant", func() error {
		if s := p.status(tree); len(s.Occupants) != 1 {
			return fmt.Errorf("occupants %+v", s.Occupants)
		}
		return nil
	})
	for _, force := range []bool{false, true} {
		_, err := p.repo.Remove(t.Context(), tree, force)
		if e := as[*KeptError](t, err); !strings.HasSuffix(e.Error(), fmt.Sprintf("in use by pid %d (sleep)", cmd.Process.Pid)) || e.Hint() == "" {
			t.Errorf("%v", e)
		}
	}
	p.must(cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func TestATreeThatAPersonHasLockedStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.git(p.dir, "worktree", "lock", "--reason", "mine", tree.Path)
	_, err := p.repo.Remove(t.Context(), tree, true)
	if e := as[*KeptError](t, err); !strings.HasSuffix(e.Error(), "locked: mine") || !strings.Contains(e.Hint(), "unlock") {
		t.Errorf("%v", e)
	}
}

func TestARepositoryInsideATreeKeepsIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, make := range map[string]func(dir string){
		"empty":     func(dir string) { p.git(dir, "init", "--quiet", "inner") },
		"untracked": func(dir string) { p.inner(dir) },
		"committed": func(dir string) {
			p.inner(dir)
			p.commit(dir, "adds it as a link")
			p.git(p.dir, "branch", "copy", "gaffer/run1/committed")
		},
	} {
		tree := p.create(name)
		make(tree.Path)
		p.write(tree.Path, "inner/x.txt", "x\n")
		p.write(tree.Path, "beside.txt", "y\n")
		if s := p.status(tree); len(s.Nested) != 1 || s.Nested[0] != "inner" {
			t.Errorf("%s: status is %+v", name, s)
		}
		_, err := p.repo.Remove(t.Context(), tree, true)
		if e := as[*KeptError](t, err); !strings.HasSuffix(e.Error(), "other repositories in it: inner") {
			t.Errorf("%s: %v", name, e)
		}
		if got := p.git(p.dir, "show", p.rescue(tree)+":beside.txt"); got != "y" {
			t.Errorf("%s: rescued %s", name, got)
		}
	}
}

func (p project) inner(dir string) {
	p.Helper()
	p.git(dir, "init", "--quiet", "inner")
	p.git(filepath.Join(dir, "inner"), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "first")
}

func TestATreeWhoseFolderIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	tip := p.git(p.dir, "rev-parse", tree.Branch)
	p.must(os.RemoveAll(tree.Path))
	_, err := p.repo.Remove(t.Context(), tree, false)
	if e := as[*KeptError](t, err); e.Status.Unpushed != 1 {
		t.Errorf("%v", e)
	}
	done, err := p.repo.Remove(t.Context(), tree, true)
	if err != nil || p.git(p.dir, "rev-parse", done.Rescue) != tip || p.git(p.dir, "rev-parse", tree.Branch) != tip || p.worktrees() != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestARemovalThatStoppedWhileItDeletedGoesOn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.must(p.repo.save(record{Tree: tree, Made: true, Removing: p.rescue(tree)}))
	aside := filepath.Join(filepath.Dir(tree.Path), ".a.removed")
	p.must(os.Rename(tree.Path, aside))
	p.must(os.Remove(filepath.Join(aside, ".git")))
	done, err := p.repo.Remove(t.Context(), tree, false)
	if err != nil || !done.BranchDeleted || p.worktrees() != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(aside); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

func TestATreeThatWasNeverWholeIsRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.must(p.repo.save(record{Tree: tree}))
	p.must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
	if done, err := p.repo.Remove(t.Context(), tree, false); err != nil || !done.BranchDeleted || p.worktrees() != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestFoldersThatMayNotBeWrittenToAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	p := project{T: t}
	p.write(dir, "cache/mod/x", "")
	p.must(os.Chmod(filepath.Join(dir, "cache/mod"), 0o555))
	p.must(os.Chmod(filepath.Join(dir, "cache"), 0o555))
	p.must(removeFolder(dir))
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}
