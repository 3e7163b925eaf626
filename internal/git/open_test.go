package git_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
)

func TestARepositoryIsFoundFromEverywhereInIt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	p.Write(p.Dir, "sub/folder/x", "")
	p.Write(tree.Path, "deep/er/x", "")
	for _, dir := range []string{
		p.Dir, filepath.Join(p.Dir, "sub/folder"), filepath.Join(p.Dir, ".git"), tree.Path, filepath.Join(tree.Path, "deep/er"),
	} {
		if got := p.open(dir).Main(); got != p.Dir {
			t.Errorf("from %s: main is %s, want %s", dir, got, p.Dir)
		}
	}
}

func TestWhatCannotBeOpenedSaysWhyAndWhatToDo(t *testing.T) {
	p := newProject(t)
	empty := filepath.Join(p.Top, "empty")
	bare := filepath.Join(p.Top, "bare.git")
	p.Git(p.Dir, "init", "--quiet", empty)
	p.Git(p.Dir, "clone", "--quiet", "--bare", ".", bare)
	outside := filepath.Dir(p.Dir)
	for dir, want := range map[string]git.Problem{outside: git.NotRepository, empty: git.NoCommit, bare: git.Bare} {
		_, err := git.Open(t.Context(), dir)
		e := gittest.As[*git.OpenError](t, err)
		if e.Problem != want || e.Hint() == "" || !strings.Contains(e.Error(), dir) || e.NotFound() == e.Conflict() {
			t.Errorf("%s: %v, hint %q, want %s", dir, e, e.Hint(), want)
		}
	}
	if _, err := git.Open(t.Context(), filepath.Join(p.Top, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	t.Setenv("PATH", p.Top)
	_, err := git.Open(t.Context(), p.Dir)
	if e := gittest.As[*git.OpenError](t, err); e.Problem != git.NoGit || e.Hint() == "" {
		t.Errorf("without git: %v", e)
	}
	p.Write(p.Top, "git", "#!/bin/sh\necho git version 2.34.1\n")
	if err := os.Chmod(filepath.Join(p.Top, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = git.Open(t.Context(), p.Dir)
	if e := gittest.As[*git.OpenError](t, err); e.Problem != git.OldGit || !strings.Contains(e.Error(), "2.34.1") || !strings.Contains(e.Hint(), "2.38") {
		t.Errorf("with an old git: %v", e)
	}
}

func TestABaseIsABranchOrACommit(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	first := p.Git(p.Dir, "rev-parse", "HEAD")
	p.Git(p.Dir, "branch", "old")
	p.Git(p.Dir, "tag", "v1")
	p.Write(p.Dir, "shared.txt", "changed\n")
	second := p.Commit(p.Dir, "second")
	p.Git(p.Dir, "tag", "main", first) // a tag with the name of a branch; the branch must win
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
		if e := gittest.As[*git.MissingError](t, err); !e.NotFound() || e.Hint() == "" {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

func TestTheBaseIsThatOfTheWorktreeOneStandsIn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.work("a", "new.txt", "x\n")
	got, err := p.open(tree.Path).Base(t.Context(), "")
	if want := (git.Base{Commit: p.Git(tree.Path, "rev-parse", "HEAD"), Branch: tree.Branch}); err != nil || got != want {
		t.Errorf("base is %+v, %v, want %+v", got, err, want)
	}
}

func TestABranchIsMadeOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	from := git.Base{Commit: p.Git(p.Dir, "rev-parse", "main"), Branch: "main"}
	want := git.Base{Commit: from.Commit, Branch: "feature/x"}
	for range 2 {
		if got, err := p.repo.Branch(t.Context(), "feature/x", from); err != nil || got != want {
			t.Fatalf("%+v, %v", got, err)
		}
		from.Commit = p.Commit(p.Dir, "nothing")
	}
	for _, name := range []string{"", "-x", "a b", "a..b", "x.lock", "HEAD"} {
		_, err := p.repo.Branch(t.Context(), name, from)
		_ = gittest.As[*git.SpecError](t, err)
	}
	_, err := p.repo.Branch(t.Context(), "feature", from)
	if e := gittest.As[*git.TakenError](t, err); !strings.Contains(e.Error(), "feature/x") || e.Hint() == "" {
		t.Errorf("a branch in the way: %v", e)
	}
	_, err = p.repo.Branch(t.Context(), "new", git.Base{Commit: strings.Repeat("1", 40)})
	_ = gittest.As[*git.MissingError](t, err)
}

func TestVariablesOfAnotherRepositoryDoNotLeadAstray(t *testing.T) {
	p, other := newProject(t), newProject(t)
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.Dir, "index"))
	r, err := git.Open(t.Context(), p.Dir)
	if err != nil || r.Main() != p.Dir {
		t.Errorf("main is %v, %v", r, err)
	}
}
