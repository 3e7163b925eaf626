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
	"gaffer/internal/testkit/gittest"
)

const role = "TEAMMERGE_TEST_CHILD"

// TestMain isolates the tests from the user's git configuration. If the variable role is set, the
// test binary acts as the merge program.
func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		os.Exit(teammerge.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	gittest.Main(nil)
	goleak.VerifyTestMain(m)
}

const session, run = "gaffer/s1/team", "s1"

// project is a user's repository in which main is checked out. It also has the branch of a session.
type project struct {
	*gittest.Repo
	repo  *worktree.Repo
	start string // the first commit, from which all branches start
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{Repo: gittest.New(t, "project")}
	p.Write(p.Dir, "shared.txt", "one\n")
	p.start = p.Commit(p.Dir, "first")
	p.Git(p.Dir, "branch", session)
	var err error
	p.repo, err = worktree.Open(t.Context(), p.Dir)
	p.Must(err)
	return p
}

func (p project) at(branch string) string { return p.Git(p.Dir, "rev-parse", branch) }

// group creates the worktree and branch of a group.
func (p project) group(name string) worktree.Tree {
	p.Helper()
	return p.tree(worktree.Spec{Task: name, Branch: "gaffer/s1/" + name})
}

func (p project) tree(s worktree.Spec) worktree.Tree {
	p.Helper()
	s.Run, s.Base, s.Root = run, git.Base{Commit: p.start}, filepath.Join(p.Top, "trees")
	tree, err := p.repo.Create(p.Context(), s)
	p.Must(err)
	return tree
}

// worked creates a group and commits a file with this text on its branch.
func (p project) worked(name, file, text string) worktree.Tree {
	p.Helper()
	tree := p.group(name)
	p.Write(tree.Path, file, text)
	p.Commit(tree.Path, "work of "+name)
	return tree
}

// order returns the spec for merging the branch of a group into the session's branch.
func (p project) order(tree worktree.Tree, tests ...string) teammerge.Spec {
	return teammerge.Spec{Run: run, Tree: tree.Task, Branch: tree.Branch, Into: session, Tests: tests, Scratch: filepath.Join(p.Top, "scratch")}
}

// deliver returns the spec for merging the session's branch into main.
func (p project) deliver(tests ...string) teammerge.Spec {
	return teammerge.Spec{Run: run, Branch: session, Into: "main", Tests: tests, Scratch: filepath.Join(p.Top, "scratch"), Deliver: true}
}

// merge runs the merge in this process. It returns the result and the lines before it.
func (p project) merge(o teammerge.Spec) (teamstate.Merged, string) {
	p.Helper()
	var out bytes.Buffer
	p.Must(teammerge.Run(p.Context(), p.Dir, p.input(o), &out))
	return p.parse(out.String())
}

func (p project) input(o teammerge.Spec) io.Reader {
	p.Helper()
	data, err := json.Marshal(o)
	p.Must(err)
	return bytes.NewReader(data)
}

// parse returns the result in the last line of out, and the other lines.
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

// child returns a command that runs the merge program in another process.
func (p project) child(o teammerge.Spec, env ...string) *exec.Cmd {
	p.Helper()
	exe, err := os.Executable()
	p.Must(err)
	cmd := exec.CommandContext(p.Context(), exe)
	cmd.Dir, cmd.Stdin = p.Dir, p.input(o)
	cmd.Env = append(append(os.Environ(), role+"=1", "TMPDIR="+p.TempDir()), env...)
	return cmd
}

// noLeftovers checks that this number of worktrees exists, and that no temporary files are left.
func (p project) noLeftovers(worktrees int) {
	p.Helper()
	if n := strings.Count(p.Git(p.Dir, "worktree", "list", "--porcelain"), "worktree ") - 1; n != worktrees {
		p.Errorf("%d worktrees, want %d:\n%s", n, worktrees, p.Git(p.Dir, "worktree", "list"))
	}
	for _, dir := range []string{filepath.Join(p.Top, "scratch"), filepath.Join(p.Dir, ".git/gaffer/checks")} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			p.Errorf("left in %s: %v", dir, left)
		}
	}
}

// until waits until ok returns true. Another process causes that change.
func (p project) until(what string, ok func() bool) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waited 30 s for %s", what)
		}
	}
}
