package git_test

import (
	"path/filepath"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
)

func TestMain(m *testing.M) {
	gittest.Main(nil)
	m.Run()
}

// project is a user's repository.
type project struct {
	*gittest.Repo
	repo *git.Repo
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{Repo: gittest.New(t, "my project")}
	p.Write(p.Dir, "shared.txt", "one\ntwo\nthree\n")
	p.Commit(p.Dir, "first")
	p.repo = p.open(p.Dir)
	return p
}

func (p project) open(dir string) *git.Repo {
	p.Helper()
	r, err := git.Open(p.Context(), dir)
	p.Must(err)
	return r
}

// linked is a linked worktree, with the branch that it has checked out.
type linked struct{ Path, Branch, Base string }

func (p project) create(name string) linked {
	p.Helper()
	l := linked{Path: filepath.Join(p.Top, name), Branch: "gaffer/run1/" + name, Base: p.Git(p.Dir, "rev-parse", "HEAD")}
	p.Git(p.Dir, "worktree", "add", "--quiet", "-b", l.Branch, l.Path)
	return l
}

// work creates a worktree with a commit that writes text to a file.
func (p project) work(name, file, text string) linked {
	p.Helper()
	l := p.create(name)
	p.Write(l.Path, file, text)
	p.Commit(l.Path, "work of "+name)
	return l
}
