package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
	"gaffer/internal/project/trust"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

// landSpec returns a spec that brings the branch of a tree into another branch.
func (p project) landSpec(tree worktree.Tree, into string, method Method) LandSpec {
	return LandSpec{Tree: tree, Into: into, Method: method, Title: "Merge " + tree.Task, MoveCheckedOut: true, Scratch: filepath.Join(p.root, "scratch")}
}

func (p project) land(tree worktree.Tree, into string, method Method) Landing {
	p.Helper()
	done, err := Land(p.Context(), p.repo, p.landSpec(tree, into, method))
	if err != nil {
		p.Fatal(err)
	}
	return done
}

func (p project) log(branch string) string {
	p.Helper()
	return strings.ReplaceAll(p.Git(p.Dir, "log", "--first-parent", "--format=%s", branch), "\n", "|")
}

func TestEachMethodLandsOnceAndCanBeUndone(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} { // main is checked out, target is not
		for method, want := range map[Method]string{
			ByMerge: "Merge a|meanwhile|first", BySquash: "Merge a|meanwhile|first", ByRebase: "second|work of a|meanwhile|first",
		} {
			t.Run(into+" "+string(method), func(t *testing.T) {
				t.Parallel()
				p := newProject(t)
				tree := p.work("a", "a.txt", "a\n")
				p.Write(tree.Path, "b.txt", "b\n")
				p.Git(tree.Path, "add", "--all")
				p.Git(tree.Path, "-c", "user.name=Agent", "-c", "user.email=agent@example.com", "commit", "--quiet", "-m", "second")
				p.Write(p.Dir, "c.txt", "c\n")
				before := p.Commit(p.Dir, "meanwhile")
				p.Git(p.Dir, "branch", "target")
				done := p.land(tree, into, method)
				if done.Before != before || done.After != p.Git(p.Dir, "rev-parse", into) || done.Tip != p.Git(p.Dir, "rev-parse", tree.Branch) {
					t.Errorf("%+v", done)
				}
				if got := p.log(into); got != want {
					t.Errorf("log: %s", got)
				}
				if got := p.Git(p.Dir, "ls-tree", "--name-only", into); got != ".gitignore\na.txt\nb.txt\nc.txt\nshared.txt" {
					t.Errorf("files: %s", got)
				}
				body := p.Git(p.Dir, "log", "-1", "--format=%B|%an", into)
				switch method {
				case BySquash:
					if body != "Merge a\n\n* work of a\n* second\n\nCo-authored-by: Agent <agent@example.com>\n|Person" {
						t.Errorf("commit: %q", body)
					}
				case ByRebase:
					if !strings.HasSuffix(body, "|Agent") {
						t.Errorf("commit: %q", body)
					}
				}
				if got := p.Git(p.Dir, "status", "--porcelain"); got != "" {
					t.Errorf("status: %s", got)
				}
				again := p.land(tree, into, method)
				if again.Undo != done.Undo || !again.Earlier || p.Git(p.Dir, "rev-parse", into) != done.After {
					t.Errorf("landed again: %+v", again)
				}
				if list, err := Landings(t.Context(), p.repo, "run1"); err != nil || len(list) != 1 || !list[0].Present || list[0].After != done.After {
					t.Errorf("landings: %+v, %v", list, err)
				}
				if _, err := Undo(t.Context(), p.repo, UndoSpec{Landing: done, MoveCheckedOut: true}); err != nil {
					t.Fatal(err)
				}
				if p.Git(p.Dir, "rev-parse", into) != before || p.Git(p.Dir, "status", "--porcelain") != "" {
					t.Errorf("after the undo: %s", p.log(into))
				}
				if list, err := Landings(t.Context(), p.repo, "run1"); err != nil || len(list) > 0 {
					t.Errorf("landings: %+v, %v", list, err)
				}
				if third := p.land(tree, into, method); !strings.HasSuffix(third.Undo, "/2") || p.log(into) != want {
					t.Errorf("after the undo: %+v", third)
				}
				p.Git(p.Dir, "fsck", "--strict")
			})
		}
	}
}

// The second squash must not conflict with the first one, although git does not know that the
// target has the first commits.
func TestABranchIsSquashedAgainAfterMoreWork(t *testing.T) {
	t.Parallel()
	for _, method := range []Method{BySquash, ByRebase, ByMerge} {
		p := newProject(t)
		p.Git(p.Dir, "branch", "target")
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		s := p.spec("b")
		s.Base = git.Base{Commit: p.Git(p.Dir, "rev-parse", a.Branch)}
		b := p.create(s)
		p.Write(b.Path, "shared.txt", "one\nA\nB\nthree\n")
		p.Commit(b.Path, "work of b")
		p.land(a, "target", BySquash)
		p.Write(a.Path, "shared.txt", "one\nA again\nthree\n")
		p.Commit(a.Path, "more of a")
		if list, err := Preview(t.Context(), p.repo, "run1", "target", []string{a.Branch, b.Branch}); err != nil || len(list[0].Conflicts)+len(list[1].Conflicts) > 0 {
			t.Errorf("%+v, %v", list, err)
		}
		p.land(a, "target", method)
		if got := p.Git(p.Dir, "show", "target:shared.txt"); got != "one\nA again\nthree" {
			t.Errorf("%s: %s", method, got)
		}
		// Task b started from the first commit of a, which the target has under another id.
		_, err := Land(t.Context(), p.repo, p.landSpec(b, "target", method))
		if e := gittest.As[*ConflictError](t, err); !slices.Equal(e.Files, []string{"shared.txt"}) {
			t.Errorf("%s: %v", method, e)
		}
	}
}

func TestARebaseOfABranchWithoutAWorktreeCanBeFinishedByHand(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Git(p.Dir, "branch", "target")
	a := p.work("a", "shared.txt", "one\nA\nthree\n")
	b := p.work("b", "shared.txt", "one\nB\nthree\n")
	p.land(a, "target", ByRebase)
	if _, err := p.repo.Remove(t.Context(), b, true); err != nil {
		t.Fatal(err)
	}
	_, err := Land(t.Context(), p.repo, p.landSpec(b, "target", ByRebase))
	e := gittest.As[*ConflictError](t, err)
	if len(e.Commands) != 4 || !strings.Contains(e.Commands[1], " rebase ") {
		t.Fatalf("%q", e.Commands)
	}
	p.finish(e)
	p.land(b, "target", ByRebase)
	if got := p.Git(p.Dir, "show", "target:shared.txt"); got != "one\nboth\nthree" {
		t.Errorf("merged: %s", got)
	}
}

func TestACheckedOutTargetIsMovedOnlyWithConsentAndChangedFilesAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	check := p.Untouched(p.Dir)
	s := p.landSpec(tree, "main", ByMerge)
	s.MoveCheckedOut = false
	_, err := Land(t.Context(), p.repo, s)
	if e := gittest.As[*ConsentError](t, err); e.Path != p.Dir || e.Hint() == "" {
		t.Errorf("%v", e)
	}
	check()
	p.Write(p.Dir, ".git/index.lock", "")
	_, err = Land(t.Context(), p.repo, p.landSpec(tree, "main", ByMerge))
	_ = gittest.As[*TargetError](t, err)
	p.Must(os.Remove(filepath.Join(p.Dir, ".git/index.lock")))
	check()
	if got := p.Git(p.Dir, "for-each-ref", "refs/gaffer/undo"); got != "" {
		t.Errorf("an undo ref without a merge: %s", got)
	}
	done := p.land(tree, "main", ByMerge)
	p.Write(p.Dir, "shared.txt", "mine\n")
	_, err = Undo(t.Context(), p.repo, UndoSpec{Landing: done})
	_ = gittest.As[*ConsentError](t, err)
	p.Write(p.Dir, "a.txt", "mine too\n") // the user's own change, which the undo would delete
	_, err = Undo(t.Context(), p.repo, UndoSpec{Landing: done, MoveCheckedOut: true})
	_ = gittest.As[*TargetError](t, err)
	if p.Git(p.Dir, "rev-parse", "main") != done.After || p.Read(p.Dir, "a.txt") != "mine too\n" {
		t.Error("an undo that was refused has changed something")
	}
	p.Git(p.Dir, "checkout", "--quiet", "a.txt")
	if _, err := Undo(t.Context(), p.repo, UndoSpec{Landing: done, MoveCheckedOut: true}); err != nil {
		t.Fatal(err)
	}
	if p.Git(p.Dir, "rev-parse", "main") != done.Before || p.Read(p.Dir, "shared.txt") != "mine\n" {
		t.Errorf("status: %s", p.Git(p.Dir, "status", "--porcelain"))
	}
}

func TestABranchThatHasMovedIsRevertedInsteadOfMovedBack(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		for _, method := range []Method{ByMerge, BySquash} {
			p := newProject(t)
			p.Git(p.Dir, "branch", "target")
			a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
			done := p.land(a, into, method)
			p.land(b, into, method)
			_, err := Undo(t.Context(), p.repo, UndoSpec{Landing: done, MoveCheckedOut: true})
			if e := gittest.As[*MovedError](t, err); e.Later == 0 || !strings.Contains(e.Hint(), "run1/a --undo --revert") {
				t.Errorf("%v", e)
			}
			undone, err := Undo(t.Context(), p.repo, UndoSpec{Landing: done, MoveCheckedOut: true, Revert: true})
			if err != nil || undone.Revert != p.Git(p.Dir, "rev-parse", into) {
				t.Fatalf("%+v, %v", undone, err)
			}
			if got := p.Git(p.Dir, "ls-tree", "--name-only", into); got != ".gitignore\nb.txt\nshared.txt" || p.Git(p.Dir, "status", "--porcelain") != "" {
				t.Errorf("%s %s: files: %s", into, method, got)
			}
			_, err = Land(t.Context(), p.repo, p.landSpec(a, into, method))
			if method == BySquash {
				if err != nil || p.Git(p.Dir, "show", into+":a.txt") != "a" {
					t.Errorf("landed again: %v", err)
				}
				continue
			}
			if e := gittest.As[*RevertedError](t, err); e.Commit != undone.Revert { // git would treat the reverted work as merged and leave it out
				t.Errorf("%v", e)
			}
			if into != "main" {
				continue
			}
			p.Git(p.Dir, "revert", "--no-edit", undone.Revert) // as the error advises
			_, err = Land(t.Context(), p.repo, p.landSpec(a, into, method))
			_ = gittest.As[*NothingError](t, err)
			p.Write(a.Path, "more.txt", "more\n")
			p.Git(a.Path, "add", "more.txt")
			p.Git(a.Path, "commit", "-q", "-m", "more")
			if _, err := Land(t.Context(), p.repo, p.landSpec(a, into, method)); err != nil || p.Git(p.Dir, "show", into+":more.txt") != "more" || p.Git(p.Dir, "show", into+":a.txt") != "a" {
				t.Errorf("new work after the revert was reverted: %v", err)
			}
		}
	}
}

func TestAMergeThatTheCheckRejectsChangesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	check := p.Untouched(p.Dir)
	s := p.landSpec(tree, "main", BySquash)
	s.Check = func(_ context.Context, dir string) error {
		if p.Read(dir, "a.txt") != "a\n" {
			t.Error("the check does not see the merged files")
		}
		return errors.New("tests fail")
	}
	_, err := Land(t.Context(), p.repo, s)
	_ = gittest.As[*CheckError](t, err)
	check()
	tries := 0
	s.Check = func(_ context.Context, dir string) error {
		if tries++; tries == 1 { // the user commits during the first check
			p.Write(p.Dir, "mine.txt", "x\n")
			p.Commit(p.Dir, "meanwhile")
		}
		_, err := os.Stat(filepath.Join(dir, "mine.txt"))
		if tries == 2 {
			return err
		}
		return nil
	}
	if _, err := Land(t.Context(), p.repo, s); err != nil || tries != 2 || p.log("main") != "Merge a|meanwhile|first" {
		t.Errorf("%d checks, %s, %v", tries, p.log("main"), err)
	}
}

func TestConflictsSayWhatToDoAndChangeNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []Method{ByMerge, ByRebase} {
		p := newProject(t)
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		p.Write(p.Dir, "shared.txt", "one\nmine\nthree\n")
		p.Commit(p.Dir, "mine")
		check := p.Untouched(p.Dir)
		_, err := Land(t.Context(), p.repo, p.landSpec(a, "main", method))
		e := gittest.As[*ConflictError](t, err)
		check()
		if list, err := Preview(t.Context(), p.repo, "run1", "main", []string{a.Branch, "gone"}); err != nil || !slices.Equal(list[0].Conflicts, e.Files) || list[1].Tip != "" {
			t.Errorf("%+v, %v", list, err)
		}
		p.finish(e)
		p.land(a, "main", method)
		if got := p.Git(p.Dir, "show", "main:shared.txt"); got != "one\nboth\nthree" {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// Git exits with 1 for a conflict, and also for histories without a common commit.
func TestUnrelatedHistoriesAreNoConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create(p.spec("a"))
	p.Git(tree.Path, "checkout", "--quiet", "--orphan", "other")
	p.Commit(tree.Path, "unrelated")
	p.Git(tree.Path, "checkout", "--quiet", "-B", tree.Branch)
	check := p.Untouched(p.Dir)
	_, err := Land(t.Context(), p.repo, p.landSpec(tree, "main", ByMerge))
	if conflict, ok := errors.AsType[*ConflictError](err); ok || err == nil {
		t.Errorf("%v, %v", conflict, err)
	}
	check()
}

func TestAMergeDriverOfTheRepositoryDoesNotRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "one\nA\nthree\n")
	p.Write(p.Dir, "shared.txt", "one\nmine\nthree\n")
	p.Write(p.Dir, ".gitattributes", "*.txt merge=evil\n")
	p.Commit(p.Dir, "mine")
	p.Git(p.Dir, "config", "merge.evil.driver", "touch "+git.Quote(filepath.Join(p.root, "ran")))
	p.repo = p.open(p.Dir)
	if list, err := Preview(t.Context(), p.repo, "run1", "main", []string{a.Branch}); err != nil || len(list[0].Conflicts) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	untrusted := (*trust.Error)(nil)
	if _, err := Land(t.Context(), p.repo, p.landSpec(a, "main", ByMerge)); !errors.As(err, &untrusted) {
		t.Errorf("landed without the program that the repository asks for: %v", err)
	}
	if _, err := p.merge("main", a); !errors.As(err, &untrusted) {
		t.Errorf("merged without the program that the repository asks for: %v", err)
	}
	if _, err := Rebase(t.Context(), p.repo, a, "main"); !errors.As(err, &untrusted) {
		t.Errorf("rebased without the program that the repository asks for: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.root, "ran")); err == nil {
		t.Error("the program of the repository has run")
	}
}

func TestALandingIsDoneOnceAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	for into, method := range map[string]Method{"main": ByMerge, "target": BySquash} {
		var spec LandSpec
		prepare := func(p project) any {
			p.Git(p.Dir, "branch", "target")
			spec = p.landSpec(p.work("a", "a.txt", "x\n"), into, method)
			return spec
		}
		eachCrash(t, "land", 2, prepare, func(p project) {
			moved := p.Git(p.Dir, "rev-list", "--count", "--first-parent", into) == "2" // read this first: a git process may outlive the crash
			before, err := Landings(p.Context(), p.repo, "run1")
			p.Must(err)
			if seen := len(before) == 1 && before[0].Present; moved && !seen {
				p.Errorf("the branch has moved, and the landings are %+v", before)
			}
			done, err := Land(p.Context(), p.repo, spec)
			p.Must(err)
			if got := p.Git(p.Dir, "rev-list", "--count", "--first-parent", into); got != "2" || done.After != p.Git(p.Dir, "rev-parse", into) {
				p.Errorf("%s commits, want 2", got)
			}
			if list, err := Landings(p.Context(), p.repo, "run1"); err != nil || len(list) != 1 || !list[0].Present {
				p.Errorf("landings: %+v, %v", list, err)
			}
			if p.Git(p.Dir, "status", "--porcelain") != "" {
				p.Errorf("status: %s", p.Git(p.Dir, "status", "--porcelain"))
			}
		})
	}
}

func TestAnUndoGoesOnAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	const into = "main" // main is checked out; a branch that is not moves in one transaction
	for _, later := range []bool{false, true} {
		prepare := func(p project) any {
			p.Git(p.Dir, "branch", "target")
			done := p.land(p.work("a", "a.txt", "x\n"), into, ByMerge)
			if later {
				p.land(p.work("b", "b.txt", "x\n"), into, ByMerge)
			}
			return UndoSpec{Landing: done, MoveCheckedOut: true, Revert: later}
		}
		least := 1 // an undo has few steps
		eachCrash(t, "undo", least, prepare, func(p project) {
			list, err := Landings(p.Context(), p.repo, "run1")
			p.Must(err)
			for _, l := range list {
				if l.Task != "a" {
					continue
				}
				_, err := Undo(p.Context(), p.repo, UndoSpec{Landing: l, MoveCheckedOut: true, Revert: later})
				if gone := (*GoneError)(nil); err != nil && !errors.As(err, &gone) {
					p.Error(err)
				}
			}
			if _, err := p.Try(p.Dir, "cat-file", "-e", into+":a.txt"); err == nil || p.Git(p.Dir, "status", "--porcelain") != "" {
				p.Errorf("status: %s", p.Git(p.Dir, "status", "--porcelain"))
			}
			if list, err := Landings(p.Context(), p.repo, "run1"); err != nil || len(list) > 1 || len(list) == 1 && list[0].Task == "a" {
				p.Errorf("landings: %+v, %v", list, err)
			}
		})
	}
}

func TestATaskIsRebasedInItsWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.Write(p.Dir, "mine.txt", "x\n")
	main := p.Commit(p.Dir, "mine")
	done, err := Rebase(t.Context(), p.repo, tree, "main")
	if err != nil || p.log(tree.Branch) != "work of a|mine|first" || p.Read(tree.Path, "mine.txt") != "x\n" || p.Git(tree.Path, "status", "--porcelain") != "" {
		t.Fatalf("%+v, %s, %v", done, p.log(tree.Branch), err)
	}
	if p.Git(p.Dir, "rev-parse", done.Rescue) != done.Before {
		t.Errorf("%+v", done)
	}
	if list, err := p.repo.List(t.Context(), "run1"); err != nil || list[0].Base.Commit != main {
		t.Errorf("%+v, %v", list, err)
	}
	again, err := Rebase(t.Context(), p.repo, tree, "main")
	if err != nil || again.After != done.After || again.Rescue != "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	p.Write(tree.Path, "a.txt", "not committed\n")
	p.Write(p.Dir, "mine.txt", "y\n")
	p.Commit(p.Dir, "more")
	_, err = Rebase(t.Context(), p.repo, tree, "main")
	e := gittest.As[*worktree.UnfinishedError](t, err)
	if want := "uncommitted changes in a.txt, in " + tree.Path; e.Error() != want || e.Hint() != "commit or discard them there" {
		t.Errorf("%v, %s", e, e.Hint())
	}
	if p.Read(tree.Path, "a.txt") != "not committed\n" {
		t.Error("uncommitted work was lost")
	}
}
