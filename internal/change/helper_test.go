package change

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
)

// TestMain hides the user's own git configuration.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Person", "GIT_AUTHOR_EMAIL": "p@example.com",
		"GIT_COMMITTER_NAME": "Person", "GIT_COMMITTER_EMAIL": "p@example.com",
	} {
		_ = os.Setenv(name, value)
	}
	m.Run()
}

// work is a user's repository and the worktree of task "a" of run "run1" in it.
type work struct {
	*testing.T
	repo *worktree.Repo
	main string // the user's own folder
	dir  string // the worktree of the task
	tree worktree.Tree
}

// newWork commits files in a new repository and creates the worktree.
func newWork(t *testing.T, files map[string]string) work {
	t.Helper()
	return newWorkIn(t, files)
}

func newWorkIn(t *testing.T, files map[string]string, init ...string) work {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := work{T: t, main: filepath.Join(top, "project")}
	w.git(top, append(append([]string{"init", "--quiet", "--initial-branch=main"}, init...), w.main)...)
	w.write(w.main, "README", "read me\n")
	for name, text := range files {
		w.write(w.main, name, text)
	}
	w.commit(w.main, "first")
	if w.repo, err = worktree.Open(t.Context(), w.main); err != nil {
		t.Fatal(err)
	}
	base, err := w.repo.Base(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	base.Branch = "" // plans record the commit alone
	w.tree, err = w.repo.Create(t.Context(), worktree.Spec{Run: "run1", Task: "a", Base: base, Root: filepath.Join(top, "trees")})
	if err != nil {
		t.Fatal(err)
	}
	w.dir = w.tree.Path
	return w
}

func (w work) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w work) write(dir, name, text string) {
	w.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w work) commit(dir, message string) {
	w.Helper()
	w.git(dir, "add", "--all")
	w.git(dir, "commit", "--quiet", "-m", message)
}

func (w work) reader() *Reader {
	w.Helper()
	r, err := Open(w.Context(), w.main)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w work) change() fleet.Change {
	w.Helper()
	c, err := w.reader().Change(w.Context(), "run1", "a")
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w work) file(c fleet.Change, path string, o Options) fleet.FileChange {
	w.Helper()
	f, err := w.reader().File(w.Context(), c, path, o)
	if err != nil {
		w.Fatal(err)
	}
	return f
}

// shown lists the files of a change, one per line: status, name, old name.
func shown(c fleet.Change) string {
	var b strings.Builder
	for _, f := range c.Files {
		b.WriteString(strings.TrimSpace(f.Status+" "+f.Path+" "+f.From) + "\n")
	}
	return b.String()
}
