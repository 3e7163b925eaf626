// Package gittest creates a user's git repository for tests, and kills programs while they use git.
package gittest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repo is a user's repository with the branch main checked out.
type Repo struct {
	*testing.T
	Top string // path of a temporary folder
	Dir string // path of the repository, a folder in Top
}

// New creates an empty repository in a folder called name. options are passed to git init.
func New(t *testing.T, name string, options ...string) *Repo {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Repo{T: t, Top: top, Dir: filepath.Join(top, name)}
	r.Git(top, append(append([]string{"init", "--quiet", "--initial-branch=main"}, options...), r.Dir)...)
	r.Git(r.Dir, "config", "user.name", "Person")
	r.Git(r.Dir, "config", "user.email", "person@example.com")
	return r
}

// Must ends the test if err is not nil.
func (r *Repo) Must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Git runs git in the folder dir and returns git's output. If git fails, the test ends.
func (r *Repo) Git(dir string, args ...string) string {
	r.Helper()
	out, err := r.Try(dir, args...)
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Try is like Git, but the command may fail.
func (r *Repo) Try(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Write writes text to the file with this name in the folder dir. It creates missing folders.
func (r *Repo) Write(dir, name, text string) {
	r.Helper()
	path := filepath.Join(dir, name)
	r.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	r.Must(os.WriteFile(path, []byte(text), 0o644))
}

// Read returns the text of a file in a folder.
func (r *Repo) Read(dir, name string) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	r.Must(err)
	return string(data)
}

// Commit commits all files of the worktree dir, even if none has changed. It returns the id of the
// commit.
func (r *Repo) Commit(dir, message string) string {
	r.Helper()
	r.Git(dir, "add", "--all")
	r.Git(dir, "commit", "--quiet", "--allow-empty", "-m", message)
	return r.Git(dir, "rev-parse", "HEAD")
}

// Untouched returns a function that fails the test if the worktree dir has changed since Untouched
// was called.
func (r *Repo) Untouched(dir string) func() {
	r.Helper()
	look := func() string {
		return r.Git(dir, "rev-parse", "--symbolic-full-name", "HEAD") + "\n" + r.Git(dir, "rev-parse", "HEAD") + "\n" +
			r.Git(dir, "status", "--porcelain") + "\n" + r.Git(dir, "ls-files", "--stage")
	}
	before := look()
	return func() {
		r.Helper()
		if now := look(); now != before {
			r.Errorf("%s was\n%s\nand is\n%s", dir, before, now)
		}
	}
}

// Worktrees returns the number of worktrees, without the main one.
func (r *Repo) Worktrees() int {
	r.Helper()
	return strings.Count(r.Git(r.Dir, "worktree", "list", "--porcelain"), "worktree ") - 1
}

const childVariable = "GITTEST_CHILD"

// Main must be called first in TestMain. In a child process, which a command from [Child] has
// started, Main calls the function act and exits. In any other process it only hides the user's git
// configuration from the tests.
func Main(act func(name, dir, argument string) error) {
	if name := os.Getenv(childVariable); name != "" {
		if err := act(name, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"} {
		_ = os.Unsetenv(name)
	}
	_ = os.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	_ = os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// Child returns a command that starts the test program again as a child process. In the child
// process, [Main] calls its parameter act with name, dir and the argument as JSON.
func Child(t *testing.T, name, dir string, argument any, env ...string) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(argument)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, dir, string(data))
	// Use a separate TMPDIR, because the child process may be killed and leave files there.
	cmd.Env = append(append(os.Environ(), childVariable+"="+name, "TMPDIR="+t.TempDir()), env...)
	return cmd
}

// As returns the error of type E that err contains. If there is none, it ends the test.
func As[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("error is %T: %v, want %T", err, err, e)
	}
	return e
}
