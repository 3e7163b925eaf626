package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

const role = "WORKTREE_TEST_CHILD"

// TestMain hides the user's own git configuration, and can run the test binary as a
// child process.
func TestMain(m *testing.M) {
	if act := os.Getenv(role); act != "" {
		if err := play(act, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "", "GIT_AUTHOR_EMAIL": "",
		"GIT_COMMITTER_NAME": "", "GIT_COMMITTER_EMAIL": "", "EMAIL": "",
	} {
		if value == "" {
			_ = os.Unsetenv(name)
		} else {
			_ = os.Setenv(name, value)
		}
	}
	goleak.VerifyTestMain(m)
}

// play performs one action in the repository at dir. how is its argument as JSON.
func play(act, dir, how string) error {
	ctx := context.Background()
	r, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	switch act {
	case "create":
		var s Spec
		if err := json.Unmarshal([]byte(how), &s); err != nil {
			return err
		}
		_, err = r.Create(ctx, s)
	case "remove":
		var t Tree
		if err := json.Unmarshal([]byte(how), &t); err != nil {
			return err
		}
		_, err = r.Remove(ctx, t, true)
	case "merge":
		var s MergeSpec
		if err := json.Unmarshal([]byte(how), &s); err != nil {
			return err
		}
		_, err = r.Merge(ctx, s)
	case "check":
		var s checkedMerge
		if err := json.Unmarshal([]byte(how), &s); err != nil {
			return err
		}
		_, err = r.Merge(ctx, s.spec())
	case "land":
		var s LandSpec
		if err := json.Unmarshal([]byte(how), &s); err != nil {
			return err
		}
		s.Check = func(context.Context, string) error { return nil }
		_, err = r.Land(ctx, s)
	case "undo":
		var s UndoSpec
		if err := json.Unmarshal([]byte(how), &s); err != nil {
			return err
		}
		list, err := r.Landings(ctx, s.Landing.Run)
		if err != nil {
			return err
		}
		s.Landing = list[0]
		_, err = r.Undo(ctx, s)
		return err
	case "discard":
		var t Tree
		if err := json.Unmarshal([]byte(how), &t); err != nil {
			return err
		}
		_, err = r.Discard(ctx, t)
	default:
		err = errors.New("no such act: " + act)
	}
	return err
}

// checkedMerge is a merge with a shell command as its check.
type checkedMerge struct {
	MergeSpec
	Command string
}

func (c checkedMerge) spec() MergeSpec {
	s := c.MergeSpec
	s.Check = func(ctx context.Context, dir string) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", c.Command)
		cmd.Dir = dir
		return cmd.Run()
	}
	return s
}

// child returns a command that runs play in another process.
func child(t *testing.T, act, dir string, how any, env ...string) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(how)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, dir, string(data))
	cmd.Env = append(append(os.Environ(), role+"="+act, "TMPDIR="+t.TempDir()), env...) // a folder of its own, because it may be killed
	return cmd
}

// project is a user's repository and the folder for worktrees beside it.
type project struct {
	*testing.T
	dir, root string
	repo      *Repo
}

func newProject(t *testing.T) project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := project{T: t, dir: filepath.Join(top, "my project"), root: filepath.Join(top, "trees")}
	p.git(top, "init", "--quiet", "--initial-branch=main", p.dir)
	p.git(p.dir, "config", "user.name", "Person")
	p.git(p.dir, "config", "user.email", "person@example.com")
	p.write(p.dir, "shared.txt", "one\ntwo\nthree\n")
	p.write(p.dir, ".gitignore", "*.log\n")
	p.commit(p.dir, "first")
	p.repo = p.open(p.dir)
	return p
}

func (p project) open(dir string) *Repo {
	p.Helper()
	r, err := Open(p.Context(), dir)
	if err != nil {
		p.Fatal(err)
	}
	return r
}

// git runs git as a user would.
func (p project) git(dir string, args ...string) string {
	p.Helper()
	out, err := p.try(dir, args...)
	if err != nil {
		p.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (p project) try(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (p project) write(dir, name, text string) {
	p.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p project) read(dir, name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

func (p project) commit(dir, message string) string {
	p.Helper()
	p.git(dir, "add", "--all")
	p.git(dir, "commit", "--quiet", "-m", message)
	return p.git(dir, "rev-parse", "HEAD")
}

func (p project) base() git.Base {
	p.Helper()
	b, err := p.repo.Base(p.Context(), "")
	if err != nil {
		p.Fatal(err)
	}
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
	if err != nil {
		p.Fatal(err)
	}
	return tree
}

// work creates a tree with a commit that changes a file.
func (p project) work(task, file, text string) Tree {
	p.Helper()
	tree := p.create(task)
	p.write(tree.Path, file, text)
	p.commit(tree.Path, "work of "+task)
	return tree
}

func (p project) status(tree Tree) Status {
	p.Helper()
	s, err := p.repo.Status(p.Context(), tree)
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// untouched returns a function that checks that a worktree has not changed since.
func (p project) untouched(dir string) func() {
	p.Helper()
	look := func() string {
		return p.git(dir, "rev-parse", "--symbolic-full-name", "HEAD") + "\n" + p.git(dir, "rev-parse", "HEAD") + "\n" +
			p.git(dir, "status", "--porcelain") + "\n" + p.git(dir, "ls-files", "--stage")
	}
	before := look()
	return func() {
		p.Helper()
		if now := look(); now != before {
			p.Errorf("%s was\n%s\nand is\n%s", dir, before, now)
		}
	}
}

func (p project) branches() []string {
	p.Helper()
	return strings.Fields(p.git(p.dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

// worktrees counts git's worktrees, without the main one.
func (p project) worktrees() int {
	p.Helper()
	return strings.Count(p.git(p.dir, "worktree", "list", "--porcelain"), "worktree ") - 1
}

// whole checks that a tree exists once and is complete.
func (p project) whole(tree Tree, files ...string) {
	p.Helper()
	if got := p.git(tree.Path, "rev-parse", "--abbrev-ref", "HEAD"); got != tree.Branch {
		p.Errorf("%s has %s checked out, want %s", tree.Path, got, tree.Branch)
	}
	if got := p.git(tree.Path, "status", "--porcelain"); got != "" {
		p.Errorf("%s is not clean: %s", tree.Path, got)
	}
	for _, f := range files {
		p.read(tree.Path, f)
	}
	if n := p.worktrees(); n != 1 {
		p.Errorf("%d worktrees, want 1:\n%s", n, p.git(p.dir, "worktree", "list"))
	}
	if list, err := p.repo.List(p.Context(), tree.Run); err != nil || len(list) != 1 || list[0] != tree {
		p.Errorf("list: %+v, %v", list, err)
	}
	if got := p.git(p.dir, "worktree", "prune", "--dry-run", "--verbose"); got != "" {
		p.Errorf("traces: %s", got)
	}
}

// appears waits for a file that another process creates.
func appears(t *testing.T, path string) {
	t.Helper()
	testenv.Wait(t, path, func() error { _, err := os.Stat(path); return err })
}

// as returns the error of type E in err, or fails the test.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("error is %T: %v, want %T", err, err, e)
	}
	return e
}
