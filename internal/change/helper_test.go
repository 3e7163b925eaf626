package change

import (
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/testkit/gittest"
)

func TestMain(m *testing.M) {
	gittest.Main(nil)
	m.Run()
}

// work is a user's repository and the worktree of task "a" of run "run1" in it.
type work struct {
	*gittest.Repo
	repo *worktree.Repo
	dir  string // path of the task's worktree
	tree worktree.Tree
}

// newWork commits files in a new repository, and creates the worktree of task "a".
func newWork(t *testing.T, files map[string]string) work {
	t.Helper()
	return newWorkIn(t, files)
}

func newWorkIn(t *testing.T, files map[string]string, init ...string) work {
	t.Helper()
	w := work{Repo: gittest.New(t, "project", init...)}
	w.Write(w.Dir, "README", "read me\n")
	for name, text := range files {
		w.Write(w.Dir, name, text)
	}
	w.Commit(w.Dir, "first")
	var err error
	w.repo, err = worktree.Open(t.Context(), w.Dir)
	w.Must(err)
	base, err := w.repo.Base(t.Context(), "")
	w.Must(err)
	base.Branch = "" // the base in a plan has only the commit
	w.tree, err = w.repo.Create(t.Context(), worktree.Spec{Run: "run1", Task: "a", Base: base, Root: filepath.Join(w.Top, "trees")})
	w.Must(err)
	w.dir = w.tree.Path
	return w
}

func (w work) reader() *Reader {
	w.Helper()
	r, err := Open(w.Context(), w.Dir)
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

// shown lists the files of a change, one per line: status, name and, if renamed, old name.
func shown(c fleet.Change) string {
	var b strings.Builder
	for _, f := range c.Files {
		b.WriteString(strings.TrimSpace(f.Status+" "+f.Path+" "+f.From) + "\n")
	}
	return b.String()
}
