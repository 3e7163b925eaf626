package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

// scratch returns the folder in which merges of a project are checked.
func (p project) scratch() string { return filepath.Join(p.root, "scratch") }

// checked returns the spec of a merge with a check. It merges the branches of the trees into
// another branch.
func (p project) checked(into string, check func(dir string) error, trees ...worktree.Tree) Spec {
	s := Spec{Into: into, Scratch: p.scratch(), Check: func(_ context.Context, dir string) error { return check(dir) }}
	for _, t := range trees {
		s.Branches = append(s.Branches, t.Branch)
	}
	return s
}

// tidy fails the test if a merge has left files of its check, or if the repository does not have
// this number of worktrees.
func (p project) tidy(worktrees int) {
	p.Helper()
	if n := p.Worktrees(); n != worktrees {
		p.Errorf("%d worktrees, want %d:\n%s", n, worktrees, p.Git(p.Dir, "worktree", "list"))
	}
	for _, dir := range []string{p.scratch(), p.repo.StatePath("checks")} {
		if left, err := folder.Names(dir); err != nil || len(left) > 0 {
			p.Errorf("left in %s: %q, %v", dir, left, err)
		}
	}
}

func TestACheckSeesTheMergeBeforeTheBranchIsMoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
	before, seen := p.Git(p.Dir, "rev-parse", "main"), ""
	got, err := Branches(t.Context(), p.repo, p.checked("main", func(dir string) error {
		seen = p.Git(dir, "rev-parse", "HEAD")
		if p.Read(dir, "a.txt")+p.Read(dir, "b.txt") != "a\nb\n" || p.Git(p.Dir, "rev-parse", "main") != before {
			t.Error("it is not the merge that is seen, or main has it already")
		}
		if on := p.Git(dir, "rev-parse", "--abbrev-ref", "HEAD"); on != "HEAD" || filepath.Dir(dir) != p.scratch() {
			t.Errorf("%s has %s checked out", dir, on)
		}
		p.Write(dir, "built/read only/x", "what a test leaves")
		return os.Chmod(filepath.Join(dir, "built/read only"), 0o500)
	}, a, b))
	if err != nil || got.After != seen || got.Updated != p.Dir || len(got.Merged) != 2 {
		t.Fatalf("%+v, %v; seen %s", got, err, seen)
	}
	if p.Git(p.Dir, "rev-parse", "main") != seen || p.Git(p.Dir, "status", "--porcelain") != "" {
		t.Errorf("main: %s", p.Git(p.Dir, "status", "--branch"))
	}
	p.tidy(2)
}

func TestWhatACheckRefusesIsNotMerged(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		p := newProject(t)
		p.Git(p.Dir, "branch", "target")
		a := p.work("a", "a.txt", "a\n")
		untouched, refs := p.Untouched(p.Dir), p.Git(p.Dir, "for-each-ref")
		broken := errors.New("it is broken")
		got, err := Branches(t.Context(), p.repo, p.checked(into, func(string) error { return broken }, a))
		e := gittest.As[*CheckError](t, err)
		if !errors.Is(err, broken) || !e.Conflict() || e.Hint() == "" || e.Into != into || e.Commit == "" {
			t.Errorf("%+v", e)
		}
		if got.After != got.Before || got.After != a.Base.Commit || len(got.Merged) > 0 {
			t.Errorf("%+v", got)
		}
		untouched()
		if now := p.Git(p.Dir, "for-each-ref"); now != refs {
			t.Errorf("refs were\n%s\nand are\n%s", refs, now)
		}
		p.tidy(1)
	}
}

func TestWhatIsMergedAlreadyIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	if _, err := p.merge("main", a); err != nil {
		t.Fatal(err)
	}
	got, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error { return errors.New("checked") }, a))
	if err != nil || !slices.Equal(got.Skipped, []string{a.Branch}) {
		t.Errorf("%+v, %v", got, err)
	}
	p.tidy(1)
}

func TestWhatCanBeMergedBeforeAConflictIsChecked(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "one\nA\nthree\n")
	b := p.work("b", "shared.txt", "one\nB\nthree\n")
	checks := 0
	got, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error { checks++; return nil }, a, b))
	if e := gittest.As[*ConflictError](t, err); e.Branch != b.Branch || len(got.Merged) != 1 || checks != 1 {
		t.Errorf("%+v: %+v, %d checks", e, got, checks)
	}
	got, err = Branches(t.Context(), p.repo, p.checked("main", func(string) error { checks++; return nil }, a, b))
	if _ = gittest.As[*ConflictError](t, err); len(got.Merged) != 0 || checks != 1 {
		t.Errorf("%+v, %d checks", got, checks)
	}
	p.tidy(2)
}

func TestABranchThatMovesDuringACheckIsCheckedAnew(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(p project, a worktree.Tree){
		"the target": func(p project, _ worktree.Tree) { p.Write(p.Dir, "more.txt", "x\n"); p.Commit(p.Dir, "meanwhile") },
		"the branch": func(p project, a worktree.Tree) { p.Write(a.Path, "more.txt", "x\n"); p.Commit(a.Path, "meanwhile") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			a := p.work("a", "a.txt", "a\n")
			var seen []string
			got, err := Branches(t.Context(), p.repo, p.checked("main", func(dir string) error {
				seen = append(seen, p.Git(dir, "rev-parse", "HEAD"))
				if len(seen) == 1 {
					move(p, a)
				}
				return nil
			}, a))
			if err != nil || len(seen) != 2 || got.After != seen[1] || p.Git(p.Dir, "rev-parse", "main") != seen[1] {
				t.Fatalf("%+v, %v; seen %q", got, err, seen)
			}
			if p.Read(p.Dir, "a.txt")+p.Read(p.Dir, "more.txt") != "a\nx\n" || p.Git(p.Dir, "rev-list", "--merges", "--count", "main") != "1" {
				t.Error(p.Git(p.Dir, "log", "--graph", "--oneline"))
			}
			p.tidy(1)
		})
	}
}

func TestAMergeGivesUpOnABranchThatMovesAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	checks := 0
	got, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error {
		checks++
		p.Git(p.Dir, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
		return nil
	}, a))
	if !errors.Is(err, errMoved) || checks != maxTries || len(got.Merged) > 0 {
		t.Errorf("%+v, %v, %d checks", got, err, checks)
	}
	if log := p.Git(p.Dir, "log", "--format=%s"); log != strings.Repeat("meanwhile\n", maxTries)+"first" {
		t.Errorf("log: %s", log)
	}
	p.tidy(1)
}

func TestAPersonsChangesDuringACheckAreNotTouched(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	_, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error {
		p.Write(p.Dir, "shared.txt", "mine\n")
		return nil
	}, a))
	if e := gittest.As[*TargetError](t, err); !slices.Equal(e.Files, []string{"shared.txt"}) {
		t.Errorf("%v", e)
	}
	if p.Read(p.Dir, "shared.txt") != "mine\n" || p.Git(p.Dir, "rev-parse", "main") != a.Base.Commit {
		t.Error("touched")
	}
	p.tidy(1)
}

func TestOthersUseTheRepositoryDuringACheck(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	b := p.work("b", "b.txt", "b\n")
	p.Git(p.Dir, "branch", "other")
	_, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error {
		p.create(p.spec("c"))
		if _, err := p.merge("other", b); err != nil {
			return err
		}
		_, err := Branches(t.Context(), p.repo, p.checked("other", func(string) error { return nil }, a))
		return err
	}, a))
	if err != nil {
		t.Fatal(err)
	}
	p.tidy(3)
}

func TestChecksOfOneBranchWaitForEachOther(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
	first, go1 := make(chan struct{}), make(chan struct{})
	done := make(chan error, 2)
	go func() {
		_, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error { close(first); <-go1; return nil }, a))
		done <- err
	}()
	<-first
	second := 0
	go func() {
		_, err := Branches(t.Context(), p.repo, p.checked("main", func(string) error { second++; return nil }, b))
		done <- err
	}()
	p.create(p.spec("c")) // the merge that waits for the first does not block the creation of worktrees
	close(go1)
	if err := errors.Join(<-done, <-done); err != nil || second != 1 {
		t.Errorf("%v; the second was checked %d times", err, second)
	}
	p.tidy(3)
}

func TestACheckThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "a\n")
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	_, err := Branches(ctx, p.repo, p.checked("main", func(string) error { stop(enough); return errors.New("killed") }, a))
	if e, ok := errors.AsType[*CheckError](err); ok || !errors.Is(err, enough) {
		t.Errorf("%v, %v", e, err)
	}
	p.tidy(1)
	if p.Git(p.Dir, "rev-parse", "main") != a.Base.Commit {
		t.Error("main was moved")
	}
}

func TestACheckedMergeIsDoneOnceAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	var s checkedMerge
	prepare := func(p project) any {
		a := p.work("a", "a.txt", "x\n")
		s = checkedMerge{Spec{Into: "main", Branches: []string{a.Branch}, Scratch: p.scratch()}, "test -e a.txt"}
		return s
	}
	eachCrash(t, "check", 2, prepare, func(p project) {
		if _, err := Branches(p.Context(), p.repo, s.spec()); err != nil {
			p.Error(err)
		}
		if got := p.Git(p.Dir, "rev-list", "--merges", "--count", "main"); got != "1" {
			p.Errorf("%s merges, want 1", got)
		}
		if p.Git(p.Dir, "status", "--porcelain") != "" || p.Read(p.Dir, "a.txt") != "x\n" {
			p.Errorf("the person's worktree: %s", p.Git(p.Dir, "status"))
		}
		p.tidy(1)
	})
}

func TestWhatACrashDuringACheckLeftIsTakenAwayByTheNextMerge(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		p := newProject(t)
		p.Git(p.Dir, "branch", "target")
		a := p.work("a", "a.txt", "x\n")
		p.killDuringCheck(Spec{Into: "main", Branches: []string{a.Branch}, Scratch: p.scratch()})
		if p.Worktrees() != 2 || p.Git(p.Dir, "rev-parse", "main") != a.Base.Commit {
			t.Fatal("it was not killed during its check")
		}
		// gaffer must not delete the user's own worktree beside the check's worktree.
		mine := filepath.Join(p.scratch(), "check-main-mine")
		p.Git(p.Dir, "worktree", "add", "--quiet", "--detach", mine)
		if _, err := p.merge(into, a); err != nil {
			t.Fatal(err)
		}
		p.Read(mine, "shared.txt")
		p.Git(p.Dir, "worktree", "remove", mine)
		p.tidy(1)
	}
}

// killDuringCheck merges in another process, and kills that process and its children during the
// check.
func (p project) killDuringCheck(s Spec) {
	p.Helper()
	begun := filepath.Join(p.root, "begun")
	cmd := gittest.Child(p.T, "check", p.Dir, checkedMerge{s, "echo $$ >" + git.Quote(begun+".tmp") + "; mv " + git.Quote(begun+".tmp") + " " + git.Quote(begun) + "; exec sleep 600"})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Must(cmd.Start())
	testenv.Wait(p.T, begun, func() error { _, err := os.Stat(begun); return err })
	p.Must(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait() // fails because the process was killed
}

func TestAFolderThatIsNotTheChecksIsNotDeleted(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "x\n")
	s := p.checked("main", func(string) error { return nil }, a)
	mine := filepath.Join(p.scratch(), checkFolderName("main"))
	p.Write(mine, "mine.txt", "mine\n")
	_, err := Branches(t.Context(), p.repo, s)
	if e := gittest.As[*git.TakenError](t, err); e.Name != mine || p.Read(mine, "mine.txt") != "mine\n" {
		t.Errorf("%v", e)
	}
	p.Write(p.repo.StatePath("checks"), checkFolderName("main")+".json", `{"into": "main", "path": "`+p.Dir+`"}`)
	_, err = Branches(t.Context(), p.repo, s)
	_ = gittest.As[*worktree.RecordError](t, err)
	p.Write(p.repo.StatePath("checks"), checkFolderName("main")+".json", `{"into": "main", "path": "`+mine+`"}`)
	_, err = Branches(t.Context(), p.repo, s)
	if e := gittest.As[*git.TakenError](t, err); e.Name != mine || p.Read(mine, "mine.txt") != "mine\n" {
		t.Errorf("%v", e)
	}
	p.Must(os.RemoveAll(p.repo.StatePath("checks")))
	p.Must(os.RemoveAll(mine))
	if _, err = Branches(t.Context(), p.repo, s); err != nil {
		t.Error(err)
	}
	p.tidy(1)
}

func TestACheckNeedsAFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "a.txt", "x\n")
	s := p.checked("main", func(string) error { return nil }, a)
	s.Scratch = ""
	_, err := Branches(t.Context(), p.repo, s)
	_ = gittest.As[*git.SpecError](t, err)
}

func TestManyMergesAreCheckedAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "branch", "one")
	p.Git(p.Dir, "branch", "two")
	done := make(chan error)
	const each = 4
	for i := range each {
		tree := p.work(string(rune('a'+i)), string(rune('a'+i))+".txt", "x\n")
		for _, into := range []string{"one", "two"} {
			go func() {
				_, err := Branches(p.Context(), p.repo, p.checked(into, func(dir string) error {
					_, err := os.Stat(filepath.Join(dir, tree.Task+".txt"))
					return err
				}, tree))
				done <- err
			}()
		}
	}
	for range 2 * each {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, into := range []string{"one", "two"} {
		if got := p.Git(p.Dir, "rev-list", "--merges", "--count", into); got != "4" {
			t.Errorf("%s has %s merges", into, got)
		}
	}
	p.tidy(each)
}

func TestWhatCannotBeDeletedIsNotInTheWayOfTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "check-x")
	for range 3 {
		if err := os.MkdirAll(filepath.Join(path, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := moveAside(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveAside(path); err != nil { // no error: the folder does not exist
		t.Fatal(err)
	}
	if got, _ := folder.Names(dir); !slices.Equal(got, []string{".check-x.removed-1", ".check-x.removed-2", ".check-x.removed-3"}) {
		t.Errorf("%q", got)
	}
}

func TestTheNameOfACheckFolderIsOfOneBranchAlone(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, branch := range []string{"a/b", "a-b", "a b", "ä", "gaffer/s1/team", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		name := checkFolderName(branch)
		if other, ok := seen[name]; ok || len(name) > 64 || git.Quote(name) != name || strings.ContainsAny(name, "/%:@") {
			t.Errorf("%s: %s, which is that of %q", branch, name, other)
		}
		seen[name] = branch
	}
}
