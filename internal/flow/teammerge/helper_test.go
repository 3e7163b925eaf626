package teammerge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teammerge"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/git"
)

const role = "TEAMMERGE_TEST_CHILD"

// TestMain isolates the tests from the user's configuration. It also lets the test
// binary act as the merge program.
func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		os.Exit(teammerge.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"} {
		_ = os.Setenv(name, value)
	}
	goleak.VerifyTestMain(m)
}

const session, run = "gaffer/s1/team", "s1"

// project is a user's repository, with main checked out and a session's branch.
type project struct {
	*testing.T
	top, dir string
	repo     *worktree.Repo
	start    string // the first commit, from which all branches start
}

func newProject(t *testing.T) project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := project{T: t, top: top, dir: filepath.Join(top, "project")}
	p.git(top, "init", "--quiet", "--initial-branch=main", p.dir)
	p.git(p.dir, "config", "user.name", "Person")
	p.git(p.dir, "config", "user.email", "person@example.com")
	p.write(p.dir, "shared.txt", "one\n")
	p.start = p.commit(p.dir, "first")
	p.git(p.dir, "branch", session)
	p.repo, err = worktree.Open(t.Context(), p.dir)
	p.must(err)
	return p
}

func (p project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p project) git(dir string, args ...string) string {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p project) write(dir, name, text string) {
	p.Helper()
	p.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func (p project) read(dir, name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	p.must(err)
	return string(data)
}

func (p project) commit(dir, message string) string {
	p.Helper()
	p.git(dir, "add", "--all")
	p.git(dir, "commit", "--quiet", "-m", message)
	return p.git(dir, "rev-parse", "HEAD")
}

func (p project) at(branch string) string { return p.git(p.dir, "rev-parse", branch) }

// group creates the worktree of a group.
func (p project) group(name string) worktree.Tree {
	p.Helper()
	return p.tree(worktree.Spec{Task: name, Branch: "gaffer/s1/" + name})
}

func (p project) tree(s worktree.Spec) worktree.Tree {
	p.Helper()
	s.Run, s.Base, s.Root = run, git.Base{Commit: p.start}, filepath.Join(p.top, "trees")
	tree, err := p.repo.Create(p.Context(), s)
	p.must(err)
	return tree
}

// worked creates a group and commits a file on its branch.
func (p project) worked(name, file, text string) worktree.Tree {
	p.Helper()
	tree := p.group(name)
	p.write(tree.Path, file, text)
	p.commit(tree.Path, "work of "+name)
	return tree
}

// order returns the spec for merging a group.
func (p project) order(tree worktree.Tree, tests ...string) teammerge.Spec {
	return teammerge.Spec{Run: run, Tree: tree.Task, Branch: tree.Branch, Into: session, Tests: tests, Scratch: filepath.Join(p.top, "scratch")}
}

// deliver returns the spec for merging the session's branch into the user's.
func (p project) deliver(tests ...string) teammerge.Spec {
	return teammerge.Spec{Run: run, Branch: session, Into: "main", Tests: tests, Scratch: filepath.Join(p.top, "scratch"), Deliver: true}
}

// merge runs the merge in this process.
func (p project) merge(o teammerge.Spec) (teamstate.Merged, string) {
	p.Helper()
	var out bytes.Buffer
	p.must(teammerge.Run(p.Context(), p.dir, p.input(o), &out))
	return p.parse(out.String())
}

func (p project) input(o teammerge.Spec) io.Reader {
	p.Helper()
	data, err := json.Marshal(o)
	p.must(err)
	return bytes.NewReader(data)
}

// parse returns the result in the last line, and the other lines.
func (p project) parse(out string) (teamstate.Merged, string) {
	p.Helper()
	text, ended := strings.CutSuffix(out, "\n")
	said, last := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		said, last = text[:i+1], text[i+1:]
	}
	var m teamstate.Merged
	if err := json.Unmarshal([]byte(last), &m); err != nil || !ended {
		p.Fatalf("%v in the last line of:\n%s", err, out)
	}
	return m, said
}

// child returns the command that runs the merge program.
func (p project) child(o teammerge.Spec, env ...string) *exec.Cmd {
	p.Helper()
	exe, err := os.Executable()
	p.must(err)
	cmd := exec.CommandContext(p.Context(), exe)
	cmd.Dir, cmd.Stdin = p.dir, p.input(o)
	cmd.Env = append(append(os.Environ(), role+"=1", "TMPDIR="+p.TempDir()), env...)
	return cmd
}

// noLeftovers checks the number of worktrees, and that no temporary files exist.
func (p project) noLeftovers(worktrees int) {
	p.Helper()
	if n := strings.Count(p.git(p.dir, "worktree", "list", "--porcelain"), "worktree ") - 1; n != worktrees {
		p.Errorf("%d worktrees, want %d:\n%s", n, worktrees, p.git(p.dir, "worktree", "list"))
	}
	for _, dir := range []string{filepath.Join(p.top, "scratch"), filepath.Join(p.dir, ".git/gaffer/checks")} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			p.Errorf("left in %s: %v", dir, left)
		}
	}
}

// until waits for a change by another process: until ok returns true.
func (p project) until(what string, ok func() bool) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waited 30 s for %s", what)
		}
	}
}
