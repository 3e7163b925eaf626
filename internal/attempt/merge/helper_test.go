package merge

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/testkit/gittest"
)

func TestMain(m *testing.M) {
	gittest.Main(act)
	goleak.VerifyTestMain(m)
}

// act performs the named merge or undo in the repository at dir. It runs in another process, which
// tests kill.
func act(name, dir, argument string) error {
	ctx := context.Background()
	r, err := worktree.Open(ctx, dir)
	if err != nil {
		return err
	}
	var merge checkedMerge
	var land LandSpec
	var undo UndoSpec
	spec, ok := map[string]any{"merge": &merge.Spec, "check": &merge, "land": &land, "undo": &undo}[name]
	if !ok {
		return errors.New("no such act: " + name)
	}
	if err := json.Unmarshal([]byte(argument), spec); err != nil {
		return err
	}
	switch name {
	case "merge":
		_, err = Branches(ctx, r, merge.Spec)
	case "check":
		_, err = Branches(ctx, r, merge.spec())
	case "land":
		land.Check = func(context.Context, string) error { return nil }
		_, err = Land(ctx, r, land)
	case "undo":
		list, e := Landings(ctx, r, undo.Landing.Run)
		if e != nil {
			return e
		}
		undo.Landing = list[0]
		_, err = Undo(ctx, r, undo)
	}
	return err
}

// checkedMerge is a merge with a shell command as its check.
type checkedMerge struct {
	Spec
	Command string
}

func (c checkedMerge) spec() Spec {
	s := c.Spec
	s.Check = func(ctx context.Context, dir string) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", c.Command)
		cmd.Dir = dir
		return cmd.Run()
	}
	return s
}

// eachCrash runs one round for each call of git in the named act: it prepares a new project, kills
// the act at that call, and checks the project. It fails if there are fewer than minCalls calls.
func eachCrash(t *testing.T, name string, minCalls int, prepare func(project) any, check func(project)) {
	gittest.EachCrash(t, minCalls, func(env []string) error {
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
	repo *worktree.Repo
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

func (p project) open(dir string) *worktree.Repo {
	p.Helper()
	r, err := worktree.Open(p.Context(), dir)
	p.Must(err)
	return r
}

// spec describes a task's worktree that starts at the commit which the user has checked out.
func (p project) spec(task string) worktree.Spec {
	p.Helper()
	base, err := p.repo.Base(p.Context(), "")
	p.Must(err)
	return worktree.Spec{Run: "run1", Task: task, Base: base, Root: p.root}
}

func (p project) create(s worktree.Spec) worktree.Tree {
	p.Helper()
	tree, err := p.repo.Create(p.Context(), s)
	p.Must(err)
	return tree
}

// work creates a task's worktree, with a commit that writes text to a file.
func (p project) work(task, file, text string) worktree.Tree {
	p.Helper()
	tree := p.create(p.spec(task))
	p.Write(tree.Path, file, text)
	p.Commit(tree.Path, "work of "+task)
	return tree
}

func (p project) status(tree worktree.Tree) worktree.Status {
	p.Helper()
	s, err := p.repo.Status(p.Context(), tree)
	p.Must(err)
	return s
}
