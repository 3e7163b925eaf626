package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
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
	head := p.Git(tree.Path, "rev-parse", "HEAD")
	p.Write(tree.Path, "shared.txt", "changed\n")
	p.Write(tree.Path, "new folder/new.txt", "new\n")
	p.Write(tree.Path, "noise.log", "ignored\n")
	p.Must(os.Remove(filepath.Join(tree.Path, "done.txt")))
	p.Must(os.Symlink("shared.txt", filepath.Join(tree.Path, "link")))
	check, checkMain := p.Untouched(tree.Path), p.Untouched(p.Dir)
	ref := p.rescue(tree)
	check()
	checkMain()
	if ref != "refs/gaffer/rescue/run1/a" {
		t.Errorf("ref is %s", ref)
	}
	if got, want := p.Git(p.Dir, "ls-tree", "-r", "--name-only", ref), ".gitignore\nlink\nnew folder/new.txt\nshared.txt"; got != want {
		t.Errorf("files: %s", got)
	}
	if p.Git(p.Dir, "show", ref+":shared.txt") != "changed" || p.Git(p.Dir, "show", ref+":new folder/new.txt") != "new" {
		t.Error("the content is another")
	}
	if got := p.Git(p.Dir, "rev-parse", ref+"^"); got != head {
		t.Errorf("parent is %s, want %s", got, head)
	}
	if got := p.Git(p.Dir, "log", "-1", "--format=%an <%ae> %s", ref); got != "Person <person@example.com> gaffer rescue: what was not committed in task a" {
		t.Errorf("commit: %s", got)
	}
}

func TestTheSameContentIsKeptOnceAndOtherContentBesideIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	clean := p.rescue(tree)
	if got := p.Git(p.Dir, "rev-parse", clean); got != tree.Base.Commit {
		t.Errorf("a clean tree is kept as %s, want %s", got, tree.Base.Commit)
	}
	var refs []string
	for i := range 3 {
		p.Write(tree.Path, "x.txt", fmt.Sprint(i))
		refs = append(refs, p.rescue(tree), p.rescue(tree))
	}
	want := "refs/gaffer/rescue/run1/a-2 refs/gaffer/rescue/run1/a-2 refs/gaffer/rescue/run1/a-3 refs/gaffer/rescue/run1/a-3 " +
		"refs/gaffer/rescue/run1/a-4 refs/gaffer/rescue/run1/a-4"
	if got := strings.Join(refs, " "); got != want {
		t.Errorf("refs: %s", got)
	}
	for i := range 3 {
		if got := p.Git(p.Dir, "show", fmt.Sprintf("refs/gaffer/rescue/run1/a-%d:x.txt", i+2)); got != fmt.Sprint(i) {
			t.Errorf("rescue %d has %s", i, got)
		}
	}
}

func TestTheSameContentIsKnownAgainAtAnotherTime(t *testing.T) {
	p := newProject(t)
	tree := p.create("a")
	p.Write(tree.Path, "x.txt", "x\n")
	ref := p.rescue(tree)
	t.Setenv("GIT_COMMITTER_DATE", "2001-02-03T04:05:06Z")
	old := p.Git(p.Dir, "commit-tree", "-m", "long ago", "-p", ref+"^", ref+"^{tree}")
	p.Git(p.Dir, "update-ref", ref, old)
	if again := p.rescue(tree); again != ref || p.Git(p.Dir, "rev-parse", ref) != old {
		t.Errorf("kept again as %s", again)
	}
}

func TestWhatIsStagedAndNotInTheFilesIsKeptToo(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Write(tree.Path, "x.txt", "staged\n")
	p.Git(tree.Path, "add", "x.txt")
	p.Must(os.Remove(filepath.Join(tree.Path, "x.txt")))
	check := p.Untouched(tree.Path)
	ref := p.rescue(tree)
	check()
	if got := p.Git(p.Dir, "show", ref+"^2:x.txt"); got != "staged" {
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
	p.Write(p.Dir, "shared.txt", "ours\n")
	p.Commit(p.Dir, "ours")
	_, _ = p.Try(tree.Path, "merge", "main")
	check := p.Untouched(tree.Path)
	if got := p.Git(p.Dir, "show", p.rescue(tree)+":shared.txt"); !strings.Contains(got, "<<<<<<<") {
		t.Errorf("rescued: %s", got)
	}
	check()
}

func TestAPersonWithoutANameCanBeRescued(t *testing.T) {
	p := newProject(t)
	p.Git(p.Dir, "config", "--unset", "user.name")
	p.Git(p.Dir, "config", "--unset", "user.email")
	tree := p.create("a")
	p.Write(tree.Path, "x.txt", "x\n")
	if got := p.Git(p.Dir, "log", "-1", "--format=%an <%ae>, %cn <%ce>", p.rescue(tree)); got != "gaffer <gaffer@localhost>, gaffer <gaffer@localhost>" {
		t.Errorf("made by %s", got)
	}
	t.Setenv("GIT_AUTHOR_NAME", "Someone")
	t.Setenv("GIT_AUTHOR_EMAIL", "someone@example.com")
	p.repo = p.open(p.Dir)
	p.Write(tree.Path, "x.txt", "y\n")
	if got := p.Git(p.Dir, "log", "-1", "--format=%an <%ae>, %cn <%ce>", p.rescue(tree)); got != "Someone <someone@example.com>, gaffer <gaffer@localhost>" {
		t.Errorf("made by %s", got)
	}
}

func TestATreeIsKeptAsLongAsItHasSomethingOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	dirty, ahead := p.create("dirty"), p.work("ahead", "x.txt", "x\n")
	p.Write(dirty.Path, "open.txt", "y\n")
	p.Write(ahead.Path, "noise.log", "ignored\n")
	for _, c := range []struct {
		tree Tree
		says string
	}{
		{dirty, "1 file not committed: open.txt"},
		{ahead, "1 commit that no other branch and no remote has"},
	} {
		_, err := p.repo.Remove(t.Context(), c.tree, false)
		e := gittest.As[*KeptError](t, err)
		if !e.Conflict() || !strings.HasSuffix(e.Error(), c.says) || !strings.Contains(e.Hint(), c.tree.Branch) {
			t.Errorf("%v\n%s", e, e.Hint())
		}
		p.status(c.tree)
	}
	if got := p.Git(p.Dir, "for-each-ref", "refs/gaffer"); got != "" {
		t.Errorf("a refusal left %s", got)
	}
}

func TestForceKeepsTheWorkUnderARefAndTheBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	p.Write(tree.Path, "open.txt", "y\n")
	check := p.Untouched(p.Dir)
	done, err := p.repo.Remove(t.Context(), tree, true)
	if err != nil || done != (Removal{Rescue: "refs/gaffer/rescue/run1/a"}) {
		t.Fatalf("%+v, %v", done, err)
	}
	check()
	if p.Git(p.Dir, "show", done.Rescue+":open.txt") != "y" || p.Git(p.Dir, "show", tree.Branch+":x.txt") != "x" {
		t.Error("something is lost")
	}
	if _, err := os.Stat(filepath.Dir(tree.Path)); !os.IsNotExist(err) || p.Worktrees() != 0 {
		t.Errorf("left: %v, %d worktrees", err, p.Worktrees())
	}
	_, err = p.repo.Remove(t.Context(), tree, true)
	_ = gittest.As[*git.MissingError](t, err)
}

func TestAMergedTreeGoesWithItsBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	p.Git(p.Dir, "config", "branch."+tree.Branch+".remote", "origin")
	p.Git(p.Dir, "merge", "--quiet", "--no-ff", tree.Branch)
	p.Write(tree.Path, "noise.log", "ignored\n")
	done, err := p.repo.Remove(t.Context(), tree, false)
	if err != nil || !done.BranchDeleted || done.Rescue == "" {
		t.Errorf("%+v, %v", done, err)
	}
	if got := p.branches(); len(got) != 1 || got[0] != "main" {
		t.Errorf("branches: %q", got)
	}
	if got := p.Read(p.Dir, ".git/config"); strings.Contains(got, tree.Branch) {
		t.Errorf("the configuration still has the branch:\n%s", got)
	}
}

func TestABranchThatSomeoneHasCheckedOutStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Git(tree.Path, "checkout", "--quiet", "--detach")
	p.Git(p.Dir, "checkout", "--quiet", tree.Branch)
	if done, err := p.repo.Remove(t.Context(), tree, false); err != nil || done.BranchDeleted {
		t.Errorf("%+v, %v", done, err)
	}
	p.Git(p.Dir, "rev-parse", tree.Branch)
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
		if e := gittest.As[*KeptError](t, err); !strings.HasSuffix(e.Error(), fmt.Sprintf("in use by pid %d (sleep)", cmd.Process.Pid)) || e.Hint() == "" {
			t.Errorf("%v", e)
		}
	}
	p.Must(cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func TestATreeThatAPersonHasLockedStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Git(p.Dir, "worktree", "lock", "--reason", "mine", tree.Path)
	_, err := p.repo.Remove(t.Context(), tree, true)
	if e := gittest.As[*KeptError](t, err); !strings.HasSuffix(e.Error(), "locked: mine") || !strings.Contains(e.Hint(), "unlock") {
		t.Errorf("%v", e)
	}
}

func TestARepositoryInsideATreeKeepsIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, make := range map[string]func(dir string){
		"empty":     func(dir string) { p.Git(dir, "init", "--quiet", "inner") },
		"untracked": func(dir string) { p.inner(dir) },
		"committed": func(dir string) {
			p.inner(dir)
			p.Commit(dir, "adds it as a link")
			p.Git(p.Dir, "branch", "copy", "gaffer/run1/committed")
		},
	} {
		tree := p.create(name)
		make(tree.Path)
		p.Write(tree.Path, "inner/x.txt", "x\n")
		p.Write(tree.Path, "beside.txt", "y\n")
		if s := p.status(tree); len(s.Nested) != 1 || s.Nested[0] != "inner" {
			t.Errorf("%s: status is %+v", name, s)
		}
		_, err := p.repo.Remove(t.Context(), tree, true)
		if e := gittest.As[*KeptError](t, err); !strings.HasSuffix(e.Error(), "other repositories in it: inner") {
			t.Errorf("%s: %v", name, e)
		}
		if got := p.Git(p.Dir, "show", p.rescue(tree)+":beside.txt"); got != "y" {
			t.Errorf("%s: rescued %s", name, got)
		}
	}
}

func (p project) inner(dir string) {
	p.Helper()
	p.Git(dir, "init", "--quiet", "inner")
	p.Git(filepath.Join(dir, "inner"), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "first")
}

func TestATreeWhoseFolderIsGoneIsRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "x.txt", "x\n")
	tip := p.Git(p.Dir, "rev-parse", tree.Branch)
	p.Must(os.RemoveAll(tree.Path))
	_, err := p.repo.Remove(t.Context(), tree, false)
	if e := gittest.As[*KeptError](t, err); e.Status.Unpushed != 1 {
		t.Errorf("%v", e)
	}
	done, err := p.repo.Remove(t.Context(), tree, true)
	if err != nil || p.Git(p.Dir, "rev-parse", done.Rescue) != tip || p.Git(p.Dir, "rev-parse", tree.Branch) != tip || p.Worktrees() != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestARemovalThatStoppedWhileItDeletedGoesOn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Must(p.repo.records.save(record{Tree: tree, Made: true, Removing: p.rescue(tree)}))
	aside := filepath.Join(filepath.Dir(tree.Path), ".a.removed")
	p.Must(os.Rename(tree.Path, aside))
	p.Must(os.Remove(filepath.Join(aside, ".git")))
	done, err := p.repo.Remove(t.Context(), tree, false)
	if err != nil || !done.BranchDeleted || p.Worktrees() != 0 {
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
	p.Must(p.repo.records.save(record{Tree: tree}))
	p.Must(os.Remove(filepath.Join(tree.Path, "shared.txt")))
	if done, err := p.repo.Remove(t.Context(), tree, false); err != nil || !done.BranchDeleted || p.Worktrees() != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestFoldersThatMayNotBeWrittenToAreRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	p := project{Repo: &gittest.Repo{T: t}}
	p.Write(dir, "cache/mod/x", "")
	p.Must(os.Chmod(filepath.Join(dir, "cache/mod"), 0o555))
	p.Must(os.Chmod(filepath.Join(dir, "cache"), 0o555))
	p.Must(removeFolder(dir))
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}
