package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

// landSpec returns a spec that lands a tree in a branch.
func (p project) landSpec(tree Tree, into string, method Method) LandSpec {
	return LandSpec{Tree: tree, Into: into, Method: method, Title: "Merge " + tree.Task, MoveCheckedOut: true, Scratch: filepath.Join(p.root, "scratch")}
}

func (p project) land(tree Tree, into string, method Method) Landing {
	p.Helper()
	done, err := p.repo.Land(p.Context(), p.landSpec(tree, into, method))
	if err != nil {
		p.Fatal(err)
	}
	return done
}

func (p project) log(branch string) string {
	p.Helper()
	return strings.ReplaceAll(p.git(p.dir, "log", "--first-parent", "--format=%s", branch), "\n", "|")
}

func TestEachMethodLandsOnceAndCanBeUndone(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} { // main is checked out
		for method, want := range map[Method]string{
			ByMerge: "Merge a|meanwhile|first", BySquash: "Merge a|meanwhile|first", ByRebase: "second|work of a|meanwhile|first",
		} {
			t.Run(into+" "+string(method), func(t *testing.T) {
				t.Parallel()
				p := newProject(t)
				tree := p.work("a", "a.txt", "a\n")
				p.write(tree.Path, "b.txt", "b\n")
				p.git(tree.Path, "add", "--all")
				p.git(tree.Path, "-c", "user.name=Agent", "-c", "user.email=agent@example.com", "commit", "--quiet", "-m", "second")
				p.write(p.dir, "c.txt", "c\n")
				before := p.commit(p.dir, "meanwhile")
				p.git(p.dir, "branch", "target")
				done := p.land(tree, into, method)
				if done.Before != before || done.After != p.git(p.dir, "rev-parse", into) || done.Tip != p.git(p.dir, "rev-parse", tree.Branch) {
					t.Errorf("%+v", done)
				}
				if got := p.log(into); got != want {
					t.Errorf("log: %s", got)
				}
				if got := p.git(p.dir, "ls-tree", "--name-only", into); got != ".gitignore\na.txt\nb.txt\nc.txt\nshared.txt" {
					t.Errorf("files: %s", got)
				}
				body := p.git(p.dir, "log", "-1", "--format=%B|%an", into)
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
				if got := p.git(p.dir, "status", "--porcelain"); got != "" {
					t.Errorf("status: %s", got)
				}
				again := p.land(tree, into, method)
				if again.Undo != done.Undo || !again.Earlier || p.git(p.dir, "rev-parse", into) != done.After {
					t.Errorf("landed again: %+v", again)
				}
				if list, err := p.repo.Landings(t.Context(), "run1"); err != nil || len(list) != 1 || !list[0].Present || list[0].After != done.After {
					t.Errorf("landings: %+v, %v", list, err)
				}
				if _, err := p.repo.Undo(t.Context(), UndoSpec{Landing: done, MoveCheckedOut: true}); err != nil {
					t.Fatal(err)
				}
				if p.git(p.dir, "rev-parse", into) != before || p.git(p.dir, "status", "--porcelain") != "" {
					t.Errorf("after the undo: %s", p.log(into))
				}
				if list, err := p.repo.Landings(t.Context(), "run1"); err != nil || len(list) > 0 {
					t.Errorf("landings: %+v, %v", list, err)
				}
				if third := p.land(tree, into, method); !strings.HasSuffix(third.Undo, "/2") || p.log(into) != want {
					t.Errorf("after the undo: %+v", third)
				}
				p.git(p.dir, "fsck", "--strict")
			})
		}
	}
}

// The second squash of a branch would conflict with the first, because git does not know
// that the target has the first commits.
func TestABranchIsSquashedAgainAfterMoreWork(t *testing.T) {
	t.Parallel()
	for _, method := range []Method{BySquash, ByRebase, ByMerge} {
		p := newProject(t)
		p.git(p.dir, "branch", "target")
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		s := p.spec("b")
		s.Base = git.Base{Commit: p.git(p.dir, "rev-parse", a.Branch)}
		b := p.createSpec(s)
		p.write(b.Path, "shared.txt", "one\nA\nB\nthree\n")
		p.commit(b.Path, "work of b")
		p.land(a, "target", BySquash)
		p.write(a.Path, "shared.txt", "one\nA again\nthree\n")
		p.commit(a.Path, "more of a")
		if list, err := p.repo.Prospects(t.Context(), "run1", "target", []string{a.Branch, b.Branch}); err != nil || len(list[0].Conflicts)+len(list[1].Conflicts) > 0 {
			t.Errorf("%+v, %v", list, err)
		}
		p.land(a, "target", method)
		if got := p.git(p.dir, "show", "target:shared.txt"); got != "one\nA again\nthree" {
			t.Errorf("%s: %s", method, got)
		}
		// Task b started from the first commit of a.
		_, err := p.repo.Land(t.Context(), p.landSpec(b, "target", method))
		if e := as[*MergeError](t, err); !slices.Equal(e.Files, []string{"shared.txt"}) {
			t.Errorf("%s: %v", method, e)
		}
	}
}

func TestACheckedOutTargetIsMovedOnlyWithConsentAndChangedFilesAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	check := p.untouched(p.dir)
	s := p.landSpec(tree, "main", ByMerge)
	s.MoveCheckedOut = false
	_, err := p.repo.Land(t.Context(), s)
	if e := as[*ConsentError](t, err); e.Path != p.dir || e.Hint() == "" {
		t.Errorf("%v", e)
	}
	check()
	p.write(p.dir, ".git/index.lock", "")
	_, err = p.repo.Land(t.Context(), p.landSpec(tree, "main", ByMerge))
	_ = as[*TargetError](t, err)
	p.must(os.Remove(filepath.Join(p.dir, ".git/index.lock")))
	check()
	if got := p.git(p.dir, "for-each-ref", "refs/gaffer/undo"); got != "" {
		t.Errorf("an undo ref without a merge: %s", got)
	}
	done := p.land(tree, "main", ByMerge)
	p.write(p.dir, "shared.txt", "mine\n")
	_, err = p.repo.Undo(t.Context(), UndoSpec{Landing: done})
	_ = as[*ConsentError](t, err)
	p.write(p.dir, "a.txt", "mine too\n") // the undo would delete it
	_, err = p.repo.Undo(t.Context(), UndoSpec{Landing: done, MoveCheckedOut: true})
	_ = as[*TargetError](t, err)
	if p.git(p.dir, "rev-parse", "main") != done.After || p.read(p.dir, "a.txt") != "mine too\n" {
		t.Error("an undo that was refused has changed something")
	}
	p.git(p.dir, "checkout", "--quiet", "a.txt")
	if _, err := p.repo.Undo(t.Context(), UndoSpec{Landing: done, MoveCheckedOut: true}); err != nil {
		t.Fatal(err)
	}
	if p.git(p.dir, "rev-parse", "main") != done.Before || p.read(p.dir, "shared.txt") != "mine\n" {
		t.Errorf("status: %s", p.git(p.dir, "status", "--porcelain"))
	}
}

func TestABranchThatHasMovedIsRevertedInsteadOfMovedBack(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"main", "target"} {
		for _, method := range []Method{ByMerge, BySquash} {
			p := newProject(t)
			p.git(p.dir, "branch", "target")
			a, b := p.work("a", "a.txt", "a\n"), p.work("b", "b.txt", "b\n")
			done := p.land(a, into, method)
			p.land(b, into, method)
			_, err := p.repo.Undo(t.Context(), UndoSpec{Landing: done, MoveCheckedOut: true})
			if e := as[*MovedError](t, err); e.Later == 0 || !strings.Contains(e.Hint(), "run1/a --undo --revert") {
				t.Errorf("%v", e)
			}
			undone, err := p.repo.Undo(t.Context(), UndoSpec{Landing: done, MoveCheckedOut: true, Revert: true})
			if err != nil || undone.Revert != p.git(p.dir, "rev-parse", into) {
				t.Fatalf("%+v, %v", undone, err)
			}
			if got := p.git(p.dir, "ls-tree", "--name-only", into); got != ".gitignore\nb.txt\nshared.txt" || p.git(p.dir, "status", "--porcelain") != "" {
				t.Errorf("%s %s: files: %s", into, method, got)
			}
			_, err = p.repo.Land(t.Context(), p.landSpec(a, into, method))
			if method == BySquash {
				if err != nil || p.git(p.dir, "show", into+":a.txt") != "a" {
					t.Errorf("landed again: %v", err)
				}
				continue
			}
			if e := as[*RevertedError](t, err); e.Commit != undone.Revert { // git would leave out what it knows as merged
				t.Errorf("%v", e)
			}
		}
	}
}

func TestAMergeThatTheCheckRejectsChangesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	check := p.untouched(p.dir)
	s := p.landSpec(tree, "main", BySquash)
	s.Check = func(_ context.Context, dir string) error {
		if p.read(dir, "a.txt") != "a\n" {
			t.Error("the check does not see the merged files")
		}
		return errors.New("tests fail")
	}
	_, err := p.repo.Land(t.Context(), s)
	_ = as[*CheckError](t, err)
	check()
	tries := 0
	s.Check = func(_ context.Context, dir string) error {
		if tries++; tries == 1 { // the user commits meanwhile
			p.write(p.dir, "mine.txt", "x\n")
			p.commit(p.dir, "meanwhile")
		}
		_, err := os.Stat(filepath.Join(dir, "mine.txt"))
		if tries == 2 {
			return err
		}
		return nil
	}
	if _, err := p.repo.Land(t.Context(), s); err != nil || tries != 2 || p.log("main") != "Merge a|meanwhile|first" {
		t.Errorf("%d checks, %s, %v", tries, p.log("main"), err)
	}
}

func TestConflictsSayWhatToDoAndChangeNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []Method{ByMerge, ByRebase} {
		p := newProject(t)
		a := p.work("a", "shared.txt", "one\nA\nthree\n")
		p.write(p.dir, "shared.txt", "one\nmine\nthree\n")
		p.commit(p.dir, "mine")
		check := p.untouched(p.dir)
		_, err := p.repo.Land(t.Context(), p.landSpec(a, "main", method))
		e := as[*MergeError](t, err)
		check()
		if list, err := p.repo.Prospects(t.Context(), "run1", "main", []string{a.Branch, "gone"}); err != nil || !slices.Equal(list[0].Conflicts, e.Files) || list[1].Tip != "" {
			t.Errorf("%+v, %v", list, err)
		}
		p.finish(e)
		p.land(a, "main", method)
		if got := p.git(p.dir, "show", "main:shared.txt"); got != "one\nboth\nthree" {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// Git ends with 1 for a conflict and for histories that have nothing in common.
func TestUnrelatedHistoriesAreNoConflict(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.git(tree.Path, "checkout", "--quiet", "--orphan", "other")
	p.commit(tree.Path, "unrelated")
	p.git(tree.Path, "checkout", "--quiet", "-B", tree.Branch)
	check := p.untouched(p.dir)
	_, err := p.repo.Land(t.Context(), p.landSpec(tree, "main", ByMerge))
	if conflict, ok := errors.AsType[*MergeError](err); ok || err == nil {
		t.Errorf("%v, %v", conflict, err)
	}
	check()
}

func TestAMergeDriverOfTheRepositoryDoesNotRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	a := p.work("a", "shared.txt", "one\nA\nthree\n")
	p.write(p.dir, "shared.txt", "one\nmine\nthree\n")
	p.write(p.dir, ".gitattributes", "*.txt merge=evil\n")
	p.commit(p.dir, "mine")
	p.git(p.dir, "config", "merge.evil.driver", "touch "+git.Quote(filepath.Join(p.root, "ran")))
	p.repo = p.open(p.dir)
	if list, err := p.repo.Prospects(t.Context(), "run1", "main", []string{a.Branch}); err != nil || len(list[0].Conflicts) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := p.repo.Land(t.Context(), p.landSpec(a, "main", ByMerge)); err == nil {
		t.Error("merged without the program that the repository asks for")
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
			p.git(p.dir, "branch", "target")
			spec = p.landSpec(p.work("a", "a.txt", "x\n"), into, method)
			return spec
		}
		eachCrash(t, "land", prepare, func(p project) {
			moved := p.git(p.dir, "rev-list", "--count", "--first-parent", into) == "2" // read first: a git may outlive the crash
			before, err := p.repo.Landings(p.Context(), "run1")
			p.must(err)
			if seen := len(before) == 1 && before[0].Present; moved && !seen {
				p.Errorf("the branch has moved, and the landings are %+v", before)
			}
			done, err := p.repo.Land(p.Context(), spec)
			p.must(err)
			if got := p.git(p.dir, "rev-list", "--count", "--first-parent", into); got != "2" || done.After != p.git(p.dir, "rev-parse", into) {
				p.Errorf("%s commits, want 2", got)
			}
			if list, err := p.repo.Landings(p.Context(), "run1"); err != nil || len(list) != 1 || !list[0].Present {
				p.Errorf("landings: %+v, %v", list, err)
			}
			if p.git(p.dir, "status", "--porcelain") != "" {
				p.Errorf("status: %s", p.git(p.dir, "status", "--porcelain"))
			}
		})
	}
}

func TestAnUndoGoesOnAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	const into = "main" // which is checked out; another branch moves in one transaction
	for _, later := range []bool{false, true} {
		prepare := func(p project) any {
			p.git(p.dir, "branch", "target")
			done := p.land(p.work("a", "a.txt", "x\n"), into, ByMerge)
			if later {
				p.land(p.work("b", "b.txt", "x\n"), into, ByMerge)
			}
			return UndoSpec{Landing: done, MoveCheckedOut: true, Revert: later}
		}
		least := 1 // an undo has few steps
		eachCrashOf(t, "undo", least, prepare, func(p project) {
			list, err := p.repo.Landings(p.Context(), "run1")
			p.must(err)
			for _, l := range list {
				if l.Task != "a" {
					continue
				}
				_, err := p.repo.Undo(p.Context(), UndoSpec{Landing: l, MoveCheckedOut: true, Revert: later})
				if gone := (*GoneError)(nil); err != nil && !errors.As(err, &gone) {
					p.Error(err)
				}
			}
			if _, err := p.try(p.dir, "cat-file", "-e", into+":a.txt"); err == nil || p.git(p.dir, "status", "--porcelain") != "" {
				p.Errorf("status: %s", p.git(p.dir, "status", "--porcelain"))
			}
			if list, err := p.repo.Landings(p.Context(), "run1"); err != nil || len(list) > 1 || len(list) == 1 && list[0].Task == "a" {
				p.Errorf("landings: %+v, %v", list, err)
			}
		})
	}
}

func TestADiscardedTreeIsRestored(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.write(tree.Path, "open.txt", "not committed\n")
	p.write(tree.Path, "shared.txt", "changed\n")
	d, err := p.repo.Discard(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree.Path); err == nil || p.git(p.dir, "show", d.Rescue+":open.txt") != "not committed" {
		t.Errorf("%+v", d)
	}
	if again, err := p.repo.Discard(t.Context(), tree); err != nil || again != d {
		t.Errorf("again: %+v, %v", again, err)
	}
	p.git(p.dir, "gc", "--quiet", "--prune=now")
	list, err := p.repo.Discarded(t.Context(), "run1")
	if err != nil || len(list) != 1 || list[0] != d {
		t.Fatalf("%+v, %v", list, err)
	}
	back, err := p.repo.Restore(t.Context(), list[0])
	if err != nil || back != tree {
		t.Fatalf("%+v, %v", back, err)
	}
	if got := p.git(tree.Path, "status", "--porcelain"); got != "M shared.txt\n?? open.txt" {
		t.Errorf("status: %s", got)
	}
	if list, err := p.repo.Discarded(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestADiscardGoesOnAfterACrashAtAnyStep(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	var tree Tree
	prepare := func(p project) any {
		tree = p.work("a", "a.txt", "a\n")
		p.write(tree.Path, "open.txt", "x\n")
		return tree
	}
	eachCrash(t, "discard", prepare, func(p project) {
		d, err := p.repo.Discard(p.Context(), tree)
		p.must(err)
		back, err := p.repo.Restore(p.Context(), d)
		if err != nil || back != tree || p.read(tree.Path, "open.txt") != "x\n" || p.git(tree.Path, "status", "--porcelain") != "?? open.txt" {
			p.Errorf("%+v, %v", back, err)
		}
	})
}

func TestATaskIsRebasedInItsWorktree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "a.txt", "a\n")
	p.write(p.dir, "mine.txt", "x\n")
	main := p.commit(p.dir, "mine")
	done, err := p.repo.Rebase(t.Context(), tree, "main")
	if err != nil || p.log(tree.Branch) != "work of a|mine|first" || p.read(tree.Path, "mine.txt") != "x\n" || p.git(tree.Path, "status", "--porcelain") != "" {
		t.Fatalf("%+v, %s, %v", done, p.log(tree.Branch), err)
	}
	if p.git(p.dir, "rev-parse", done.Rescue) != done.Before {
		t.Errorf("%+v", done)
	}
	if list, err := p.repo.List(t.Context(), "run1"); err != nil || list[0].Base.Commit != main {
		t.Errorf("%+v, %v", list, err)
	}
	again, err := p.repo.Rebase(t.Context(), tree, "main")
	if err != nil || again.After != done.After || again.Rescue != "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	p.write(tree.Path, "a.txt", "not committed\n")
	p.write(p.dir, "mine.txt", "y\n")
	p.commit(p.dir, "more")
	_, err = p.repo.Rebase(t.Context(), tree, "main")
	_ = as[*UnfinishedError](t, err)
	if p.read(tree.Path, "a.txt") != "not committed\n" {
		t.Error("uncommitted work was lost")
	}
}
