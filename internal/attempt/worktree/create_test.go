package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/statefile"
)

func TestATaskGetsAWorktreeAndABranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	check := p.Untouched(p.Dir)
	tree := p.create("a")
	want := Tree{Run: "run1", Task: "a", Path: filepath.Join(p.root, "run1/a"), Branch: "gaffer/run1/a", Base: p.base()}
	if tree != want {
		t.Errorf("got %+v, want %+v", tree, want)
	}
	p.whole(tree, "shared.txt", ".gitignore")
	check()
}

func TestTheSameSpecGivesTheSameWorktreeWithTheWorkInIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	spec := p.spec("a")
	tree := p.work("a", "done.txt", "x\n")
	p.Write(tree.Path, "open.txt", "y\n")
	p.commitEmpty() // moves the base branch forward
	for _, s := range []Spec{spec, p.spec("a")} {
		if again := p.createSpec(s); again != tree {
			t.Errorf("got %+v, want %+v", again, tree)
		}
	}
	if p.Read(tree.Path, "done.txt") != "x\n" || p.Read(tree.Path, "open.txt") != "y\n" || p.Worktrees() != 1 {
		t.Error("the work is gone, or there are two worktrees")
	}
}

func TestATaskHasOneWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create("a")
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Branch = "other" },
		func(s *Spec) { s.Root = p.root + "2" },
		func(s *Spec) { s.Shared = true },
	} {
		s := p.spec("a")
		change(&s)
		_, err := p.repo.Create(t.Context(), s)
		if e := gittest.As[*git.TakenError](t, err); !e.Conflict() || e.Hint() == "" {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestIdsMayHoldWhatFileNamesMay(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, task := range []string{"a b", "it's 100% ~^:?*[", "ünï.lock", "a..b", strings.Repeat("x ", 99) + "x"} {
		spec := p.spec(task)
		spec.Run = task
		tree := p.createSpec(spec)
		p.Write(tree.Path, "new.txt", task)
		p.Commit(tree.Path, "work")
		p.Git(p.Dir, "merge", "--quiet", tree.Branch)
		done, err := p.repo.Remove(t.Context(), tree, false)
		if err != nil || !done.BranchDeleted || p.Git(p.Dir, "show", done.Rescue+":new.txt") != task {
			t.Errorf("%q: %+v, %v", task, done, err)
		}
	}
	for _, task := range []string{"", "a/b", "..", ".x", "-x", "a\nb", " a", `a\b`} {
		for _, s := range []Spec{{Run: "r", Task: task}, {Run: task, Task: "t"}} {
			_, err := p.repo.Create(t.Context(), s)
			_ = gittest.As[*statefile.NameError](t, err)
		}
	}
}

func TestWhatCannotBeIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	inTheWay := p.spec("folder")
	p.Write(p.root, "run1/folder/mine.txt", "keep me")
	noRoot, main, badBranch, noBase := p.spec("a"), p.spec("a"), p.spec("a"), p.spec("a")
	noRoot.Root, main.Root, badBranch.Branch, noBase.Base = "", p.Dir, "a b", git.Base{}
	p.Git(p.Dir, "branch", "taken")
	p.Git(p.Dir, "branch", "gaffer")
	taken, blocked := p.spec("a"), p.spec("a")
	taken.Branch = "taken"
	for name, s := range map[string]Spec{
		"no root": noRoot, "the repository as root": main, "a branch's name": badBranch, "no base": noBase,
		"a branch that is there": taken, "a branch in the way": blocked, "a folder that is there": inTheWay,
	} {
		if tree, err := p.repo.Create(t.Context(), s); err == nil {
			t.Errorf("%s: got %+v", name, tree)
		}
	}
	if list, err := p.repo.List(t.Context(), ""); err != nil || len(list) > 0 || p.Worktrees() > 0 {
		t.Errorf("left: %+v, %v, %d worktrees", list, err, p.Worktrees())
	}
	if got := p.branches(); !slices.Equal(got, []string{"gaffer", "main", "taken"}) {
		t.Errorf("branches: %q", got)
	}
	if p.Read(p.root, "run1/folder/mine.txt") != "keep me" {
		t.Error("someone's file is gone")
	}
	p.Git(p.Dir, "branch", "-d", "gaffer")
	p.create("a") // works: after an error another spec may be tried
}

func TestABranchThatIsThereCanBeSharedAndStays(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	first := p.work("first", "new.txt", "x\n")
	p.Git(p.Dir, "branch", "feature", first.Branch)
	s := p.spec("a")
	s.Branch, s.Shared = "feature", true
	tree := p.createSpec(s)
	if p.Read(tree.Path, "new.txt") != "x\n" {
		t.Error("the branch's work is not there")
	}
	p.Write(tree.Path, "more.txt", "y\n")
	p.Commit(tree.Path, "more")
	other := s
	other.Task = "b"
	_, err := p.repo.Create(t.Context(), other)
	if e := gittest.As[*git.TakenError](t, err); !strings.Contains(e.Error(), tree.Path) {
		t.Errorf("a second worktree on one branch: %v", err)
	}
	// The tree's commits stay on the shared branch, so nothing prevents the removal.
	if done, err := p.repo.Remove(t.Context(), tree, false); err != nil || done.BranchDeleted {
		t.Errorf("%+v, %v", done, err)
	}
	if p.Git(p.Dir, "show", "feature:more.txt") != "y" {
		t.Error("the branch lost its work")
	}
	p.createSpec(other)
}

func TestAWorktreeThatWasDeletedByHandIsMadeAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "done.txt", "x\n")
	p.Git(tree.Path, "checkout", "--quiet", "--detach")
	p.Write(tree.Path, "detached.txt", "y\n")
	only := p.Commit(tree.Path, "only HEAD knows")
	for range 2 {
		if err := os.RemoveAll(tree.Path); err != nil {
			t.Fatal(err)
		}
		if again := p.create("a"); again != tree {
			t.Errorf("got %+v, want %+v", again, tree)
		}
		p.whole(tree, "shared.txt", "done.txt")
	}
	if got := p.Git(p.Dir, "rev-parse", "refs/gaffer/rescue/run1/a"); got != only {
		t.Errorf("what only HEAD knew is %s, and %s is kept", only, got)
	}
	p.Git(p.Dir, "worktree", "remove", tree.Path) // the user removes the worktree with git, not only its folder
	p.create("a")
	p.whole(tree, "shared.txt", "done.txt")
}

func TestALinkThatBrokeIsRepaired(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "done.txt", "x\n")
	p.Write(tree.Path, "open.txt", "y\n")
	if err := os.Remove(filepath.Join(tree.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	_, err := p.repo.Status(t.Context(), tree)
	_ = gittest.As[*git.TakenError](t, err)
	if again := p.create("a"); again != tree || p.Read(tree.Path, "open.txt") != "y\n" {
		t.Errorf("got %+v", again)
	}
	if s := p.status(tree); len(s.Dirty) != 1 || s.Ahead != 1 {
		t.Errorf("status is %+v", s)
	}
}

func TestFilesThatGitForgotAreLeftAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Write(tree.Path, "open.txt", "y\n")
	if err := os.RemoveAll(filepath.Join(p.Dir, ".git/worktrees")); err != nil {
		t.Fatal(err)
	}
	_, err := p.repo.Create(t.Context(), p.spec("a"))
	if e := gittest.As[*git.TakenError](t, err); e.Hint() == "" {
		t.Error("no hint")
	}
	_, err = p.repo.Remove(t.Context(), tree, true)
	_ = gittest.As[*git.TakenError](t, err)
	if p.Read(tree.Path, "open.txt") != "y\n" {
		t.Error("the file is gone")
	}
}

func TestACopyOfAnotherTreeIsNoTree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a, b := p.create("a"), p.create("b")
	p.Write(b.Path, ".git", p.Read(a.Path, ".git"))
	_, err := p.repo.Rescue(t.Context(), b)
	_ = gittest.As[*git.TakenError](t, err)
}

func TestAFolderInsideTheRepositoryIsHiddenFromGit(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	check := p.Untouched(p.Dir)
	p.root = filepath.Join(p.Dir, ".state/trees")
	tree := p.create("a")
	p.whole(tree, "shared.txt")
	check()
	// A folder without its link to git must not be treated as a part of the repository around it.
	if err := os.Remove(filepath.Join(tree.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	p.Write(tree.Path, "shared.txt", "changed\n")
	for name, do := range map[string]func() error{
		"status": func() error { _, err := p.repo.Status(t.Context(), tree); return err },
		"rescue": func() error { _, err := p.repo.Rescue(t.Context(), tree); return err },
		"remove": func() error { _, err := p.repo.Remove(t.Context(), tree, true); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s works on a folder that is no worktree", name)
		}
	}
	check()
}

func TestSixteenAtOnceFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	var wg sync.WaitGroup
	var want []string
	errs := make(chan error, 32)
	for i := range 16 {
		task := fmt.Sprintf("t%02d", i)
		want = append(want, task)
		spec := p.spec(task)
		for j := range 2 { // create each worktree twice
			if (i+j)%4 == 0 {
				cmd := gittest.Child(t, "create", p.Dir, spec)
				wg.Go(func() {
					if out, err := cmd.CombinedOutput(); err != nil {
						errs <- fmt.Errorf("%w: %s", err, out)
					}
				})
				continue
			}
			wg.Go(func() {
				if _, err := p.repo.Create(t.Context(), spec); err != nil {
					errs <- err
				}
			})
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	var got []string
	list, err := p.repo.List(t.Context(), "run1")
	for _, tree := range list {
		got = append(got, tree.Task)
		if s := p.Git(tree.Path, "status", "--porcelain"); s != "" {
			t.Errorf("%s: %s", tree.Task, s)
		}
	}
	if err != nil || !slices.Equal(got, want) || p.Worktrees() != 16 {
		t.Errorf("got %q, %v, %d worktrees", got, err, p.Worktrees())
	}
}

// survivor is a script in place of git. It outlives the process that starts it, until the file GO
// exists.
const survivor = `#!/bin/sh
case "$*" in
*"worktree add"*)
	kill -9 $PPID
	: >"$AT"
	while [ ! -e "$GO" ]; do sleep 0.01; done
	;;
esac
exec "$REAL_GIT" "$@"
`

func TestAGitThatOutlivedItsGafferIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	program, err := exec.LookPath("git")
	p.Must(err)
	bin, at, goOn := filepath.Join(p.root, "bin"), filepath.Join(p.root, "at"), filepath.Join(p.root, "go")
	p.Write(bin, "git", survivor)
	p.Must(os.Chmod(filepath.Join(bin, "git"), 0o755))
	defer p.Write(p.root, "go", "") // lets the survivor end in any case
	cmd := gittest.Child(t, "create", p.Dir, p.spec("a"), "REAL_GIT="+program, "AT="+at, "GO="+goOn, "PATH="+bin+":"+os.Getenv("PATH"))
	if err := cmd.Run(); err == nil {
		t.Fatal("it was not killed")
	}
	appears(t, at)

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.repo.Create(ctx, p.spec("a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v while git runs", err)
	}
	p.Write(p.root, "go", "")
	p.whole(p.create("a"), "shared.txt")
}

func TestACreateThatIsStoppedCanBeRepeated(t *testing.T) {
	p := newProject(t)
	program, err := exec.LookPath("git")
	p.Must(err)
	bin, at := filepath.Join(p.root, "bin"), filepath.Join(p.root, "at")
	p.Write(bin, "git", "#!/bin/sh\ncase \"$*\" in *'worktree add'*) : >"+git.Quote(at)+"; sleep 1000;; esac\nexec "+git.Quote(program)+" \"$@\"\n")
	p.Must(os.Chmod(filepath.Join(bin, "git"), 0o755))
	path := os.Getenv("PATH")
	t.Setenv("PATH", bin+":"+path)
	slow := p.open(p.Dir)
	t.Setenv("PATH", path)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	spec := p.spec("a")
	go func() { _, err := slow.Create(ctx, spec); done <- err }()
	appears(t, at)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p.whole(p.create("a"), "shared.txt")
}

func TestRecordsThatCannotBeReadAreNamedAndKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	good, bad := p.create("good"), p.create("bad")
	path := p.repo.records.path("run1", "bad")
	for _, text := range []string{
		"{", "null", `{"run":"run1","task":"bad"}`, `{"run":"run1","task":"good","path":"/x/run1/good","branch":"b","base":{"commit":"c"}}`,
		`{"run":"run1","task":"bad","path":"/home","branch":"b","base":{"commit":"c"}}`,
		`{"run":"run1","task":"bad","path":"run1/bad","branch":"b","base":{"commit":"c"}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := p.repo.List(t.Context(), "")
		if e := gittest.As[*RecordError](t, err); !e.Invalid() || e.Path != path || e.Hint() == "" || !slices.Equal(list, []Tree{good}) {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
		_, err = p.repo.Remove(t.Context(), bad, true)
		_ = gittest.As[*RecordError](t, err)
		_, err = p.repo.Create(t.Context(), p.spec("bad"))
		_ = gittest.As[*RecordError](t, err)
		if got := p.Read(filepath.Dir(path), "bad.json"); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	p.Read(bad.Path, "shared.txt")
}

func TestTreesAreListedByRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	b, a := p.create("b"), p.create("a")
	s := p.spec("c")
	s.Run = "run0"
	c := p.createSpec(s)
	for run, want := range map[string][]Tree{"run1": {a, b}, "run0": {c}, "": {c, a, b}, "none": nil} {
		if got, err := p.repo.List(t.Context(), run); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v", run, got, err)
		}
	}
	if _, err := p.repo.List(t.Context(), "../x"); err == nil {
		t.Error("a run that is a path")
	}
}
