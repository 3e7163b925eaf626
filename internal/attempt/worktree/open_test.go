package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/git"
)

func TestARepositoryIsFoundFromEverywhereInIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.write(p.dir, "sub/folder/x", "")
	p.write(tree.Path, "deep/er/x", "")
	for _, dir := range []string{
		p.dir, filepath.Join(p.dir, "sub/folder"), filepath.Join(p.dir, ".git"), tree.Path, filepath.Join(tree.Path, "deep/er"),
	} {
		if got := p.open(dir).Main(); got != p.dir {
			t.Errorf("from %s: main is %s, want %s", dir, got, p.dir)
		}
	}
}

func TestARepositoryWhoseGitFolderLiesElsewhereIsFound(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "init", "--quiet", "--separate-git-dir="+p.dir+"-git")
	p.repo = p.open(p.dir)
	if got := p.repo.Main(); got != p.dir {
		t.Errorf("main is %s, want %s", got, p.dir)
	}
	tree := p.create("a")
	p.whole(tree, "shared.txt")
	p.git(p.dir, "config", "core.worktree", p.dir)
	if got := p.open(tree.Path).Main(); got != p.dir {
		t.Errorf("from a linked worktree: main is %s, want %s", got, p.dir)
	}
	p.write(tree.Path, "new.txt", "x\n")
	p.commit(tree.Path, "work")
	if got, err := p.merge("main", tree); err != nil || got.Updated != p.dir || p.read(p.dir, "new.txt") != "x\n" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAWorktreeOfABareRepositoryIsAsGoodAsAMainOne(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	bare, dir := filepath.Join(p.root, "bare.git"), filepath.Join(p.root, "wt")
	p.git(p.dir, "clone", "--quiet", "--bare", ".", bare)
	p.git(bare, "worktree", "add", "--quiet", "-b", "here", dir)
	p.repo = p.open(dir)
	if got := p.repo.Main(); got != dir {
		t.Errorf("main is %s, want %s", got, dir)
	}
	tree := p.create("a")
	if tree.Base.Branch != "here" {
		t.Errorf("base is %+v", tree.Base)
	}
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeOpenedSaysWhyAndWhatToDo(t *testing.T) {
	p := newProject(t)
	empty := filepath.Join(p.root, "empty")
	bare := filepath.Join(p.root, "bare.git")
	p.git(p.dir, "init", "--quiet", empty)
	p.git(p.dir, "clone", "--quiet", "--bare", ".", bare)
	outside := filepath.Dir(p.dir)
	for dir, want := range map[string]git.Problem{outside: git.NotRepository, empty: git.NoCommit, bare: git.Bare} {
		_, err := Open(t.Context(), dir)
		e := as[*git.OpenError](t, err)
		if e.Problem != want || e.Hint() == "" || !strings.Contains(e.Error(), dir) || e.NotFound() == e.Conflict() {
			t.Errorf("%s: %v, hint %q, want %s", dir, e, e.Hint(), want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(p.root, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	t.Setenv("PATH", p.root)
	_, err := Open(t.Context(), p.dir)
	if e := as[*git.OpenError](t, err); e.Problem != git.NoGit || e.Hint() == "" {
		t.Errorf("without git: %v", e)
	}
	p.write(p.root, "git", "#!/bin/sh\necho git version 2.34.1\n")
	if err := os.Chmod(filepath.Join(p.root, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), p.dir)
	if e := as[*git.OpenError](t, err); e.Problem != git.OldGit || !strings.Contains(e.Error(), "2.34.1") || !strings.Contains(e.Hint(), "2.38") {
		t.Errorf("with an old git: %v", e)
	}
}

func TestABaseIsABranchOrACommit(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	first := p.git(p.dir, "rev-parse", "HEAD")
	p.git(p.dir, "branch", "old")
	p.git(p.dir, "tag", "v1")
	p.write(p.dir, "shared.txt", "changed\n")
	second := p.commit(p.dir, "second")
	p.git(p.dir, "tag", "main", first) // branches take precedence over tags
	for name, want := range map[string]git.Base{
		"": {Commit: second, Branch: "main"}, "HEAD": {Commit: second, Branch: "main"}, "main": {Commit: second, Branch: "main"}, "refs/heads/main": {Commit: second, Branch: "main"},
		"old": {Commit: first, Branch: "old"}, "v1": {Commit: first, Branch: ""}, first[:10]: {Commit: first, Branch: ""}, "HEAD~1": {Commit: first, Branch: ""},
	} {
		if got, err := p.repo.Base(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"nothing", "--all", "a b", "HEAD^{tree}:x", "main..old"} {
		got, err := p.repo.Base(t.Context(), name)
		if e := as[*git.MissingError](t, err); !e.NotFound() || e.Hint() == "" {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

func TestTheBaseOfADetachedHeadHasNoBranch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git(p.dir, "checkout", "--quiet", "--detach")
	p.write(p.dir, "more.txt", "x\n")
	tip := p.commit(p.dir, "on no branch")
	if got := p.base(); got != (git.Base{Commit: tip}) {
		t.Errorf("base is %+v, want commit %s alone", got, tip)
	}
	tree := p.create("a")
	p.whole(tree, "more.txt")
	// The commit that no branch has does not belong to the tree.
	if s := p.status(tree); s.Ahead != 0 || s.Unpushed != 0 {
		t.Errorf("status is %+v", s)
	}
	if _, err := p.repo.Remove(t.Context(), tree, false); err != nil {
		t.Error(err)
	}
}

func TestTheBaseIsThatOfTheWorktreeOneStandsIn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "new.txt", "x\n")
	got, err := p.open(tree.Path).Base(t.Context(), "")
	if want := (git.Base{Commit: p.git(tree.Path, "rev-parse", "HEAD"), Branch: tree.Branch}); err != nil || got != want {
		t.Errorf("base is %+v, %v, want %+v", got, err, want)
	}
}

func TestABranchIsMadeOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	from := p.base()
	want := git.Base{Commit: from.Commit, Branch: "feature/x"}
	for range 2 {
		if got, err := p.repo.Branch(t.Context(), "feature/x", from); err != nil || got != want {
			t.Fatalf("%+v, %v", got, err)
		}
		from.Commit = p.commitEmpty()
	}
	for _, name := range []string{"", "-x", "a b", "a..b", "x.lock", "HEAD"} {
		_, err := p.repo.Branch(t.Context(), name, from)
		_ = as[*git.SpecError](t, err)
	}
	_, err := p.repo.Branch(t.Context(), "feature", from)
	if e := as[*git.TakenError](t, err); !strings.Contains(e.Error(), "feature/x") || e.Hint() == "" {
		t.Errorf("a branch in the way: %v", e)
	}
	_, err = p.repo.Branch(t.Context(), "new", git.Base{Commit: strings.Repeat("1", 40)})
	_ = as[*git.MissingError](t, err)
}

func (p project) commitEmpty() string {
	p.Helper()
	p.git(p.dir, "commit", "--quiet", "--allow-empty", "-m", "nothing")
	return p.git(p.dir, "rev-parse", "HEAD")
}

func TestVariablesOfAnotherRepositoryDoNotLeadAstray(t *testing.T) {
	p, other := newProject(t), newProject(t)
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, "index"))
	r, err := Open(t.Context(), p.dir)
	if err != nil || r.Main() != p.dir {
		t.Errorf("main is %v, %v", r, err)
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := p.repo.Base(ctx, ""); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	if _, err := p.repo.Create(ctx, p.spec("a")); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, why)
	}
}
