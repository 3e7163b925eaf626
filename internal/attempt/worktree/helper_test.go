package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gaffer/internal/git"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) {
	gittest.Main(act)
	goleak.VerifyTestMain(m)
}

// act performs the named operation in the repository at dir. It runs in another process, which
// tests kill.
func act(name, dir, argument string) error {
	ctx := context.Background()
	r, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	var s Spec
	var t Tree
	switch name {
	case "create":
		if err := json.Unmarshal([]byte(argument), &s); err != nil {
			return err
		}
		_, err = r.Create(ctx, s)
		return err
	case "remove", "discard":
		if err := json.Unmarshal([]byte(argument), &t); err != nil {
			return err
		}
		if name == "remove" {
			_, err = r.Remove(ctx, t, true)
		} else {
			_, err = r.Discard(ctx, t)
		}
		return err
	}
	return errors.New("no such act: " + name)
}

// eachCrash runs one round for each call of git in the named act: it prepares a new project, kills
// the act at that call, and checks the project.
func eachCrash(t *testing.T, name string, prepare func(project) any, check func(project)) {
	gittest.EachCrash(t, 2, func(env []string) error {
		p := newProject(t)
		err := gittest.Child(t, name, p.Dir, prepare(p), env...).Run()
		check(p)
		return err
	})
}

// project is a user's repository, with a folder for worktrees beside it.
type project struct {
	*gittest.Repo
	root string
	repo *Repo
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{Repo: gittest.New(t, "my project")}
	p.root = filepath.Join(p.Top, "trees")
	p.Write(p.Dir, "shared.txt", "one\ntwo\nthree\n")
	p.Write(p.Dir, ".gitignore", "*.log\n")
	p.Commit(p.Dir, "first")
	p.repo = p.open(p.Dir)
	return p
}

func (p project) open(dir string) *Repo {
	p.Helper()
	r, err := Open(p.Context(), dir)
	p.Must(err)
	return r
}

func (p project) base() git.Base {
	p.Helper()
	b, err := p.repo.Base(p.Context(), "")
	p.Must(err)
	return b
}

func (p project) spec(task string) Spec {
	p.Helper()
	return Spec{Run: "run1", Task: task, Base: p.base(), Root: p.root}
}

func (p project) create(task string) Tree {
	p.Helper()
	return p.createSpec(p.spec(task))
}

func (p project) createSpec(s Spec) Tree {
	p.Helper()
	tree, err := p.repo.Create(p.Context(), s)
	p.Must(err)
	return tree
}

// work creates a tree, with a commit that writes text to a file.
func (p project) work(task, file, text string) Tree {
	p.Helper()
	tree := p.create(task)
	p.Write(tree.Path, file, text)
	p.Commit(tree.Path, "work of "+task)
	return tree
}

func (p project) status(tree Tree) Status {
	p.Helper()
	s, err := p.repo.Status(p.Context(), tree)
	p.Must(err)
	return s
}

func (p project) branches() []string {
	p.Helper()
	return strings.Fields(p.Git(p.Dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

// whole fails the test unless the tree is complete and the only one: it has its branch checked out,
// is clean, and has these files.
func (p project) whole(tree Tree, files ...string) {
	p.Helper()
	if got := p.Git(tree.Path, "rev-parse", "--abbrev-ref", "HEAD"); got != tree.Branch {
		p.Errorf("%s has %s checked out, want %s", tree.Path, got, tree.Branch)
	}
	if got := p.Git(tree.Path, "status", "--porcelain"); got != "" {
		p.Errorf("%s is not clean: %s", tree.Path, got)
	}
	for _, f := range files {
		p.Read(tree.Path, f)
	}
	if n := p.Worktrees(); n != 1 {
		p.Errorf("%d worktrees, want 1:\n%s", n, p.Git(p.Dir, "worktree", "list"))
	}
	if list, err := p.repo.List(p.Context(), tree.Run); err != nil || len(list) != 1 || list[0] != tree {
		p.Errorf("list: %+v, %v", list, err)
	}
	if got := p.Git(p.Dir, "worktree", "prune", "--dry-run", "--verbose"); got != "" {
		p.Errorf("traces: %s", got)
	}
}

// appears waits for a file that another process creates.
func appears(t *testing.T, path string) {
	t.Helper()
	testenv.Wait(t, path, func() error { _, err := os.Stat(path); return err })
}
