package hook

import (
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/project"
	"gaffer/internal/text/display"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// place is where an event happened.
type place struct {
	root   string // of the project, behind all links
	dir    string // what relative paths are relative to
	folder string // the workflow folder, empty if there is none
}

// locate finds the project of an event: that of the folder the agent works in.
func locate(e *env.Env, event jsontree.Value) (place, error) {
	if dir := event.Get("cwd").Text(); filepath.IsAbs(dir) {
		e.Dir = filepath.Clean(dir)
	}
	p, err := e.Project()
	if err != nil {
		return place{}, err
	}
	c, err := e.Config()
	if err != nil {
		return place{}, err
	}
	at := place{root: p.Root, dir: e.Dir, folder: c.Path("paths.workflow")}
	if info, err := os.Stat(at.folder); err != nil || !info.IsDir() {
		at.folder = ""
	}
	return at, nil
}

// store opens the workflow's documents.
func (p place) store(e *env.Env) *workflow.Store {
	return workflow.Open(p.folder, workflow.Options{
		Now: e.Now, LockTimeout: Budget,
		Notice: func(n statefile.Notice) { e.Talk("gaffer: %s", display.PrintableLines(n.Text)) },
	})
}

// relative is a file's path as the spec has it. In a linked worktree it is
// relative to that worktree. Files outside of the project, and the documents of
// the workflow itself, have none.
func (p place) relative(file string) (string, bool) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	file = resolved(filepath.Clean(file))
	if isBelow(file, resolved(p.folder)) {
		return "", false
	}
	top := p.root
	if tree := worktree(filepath.Dir(file)); tree != "" && tree != p.root {
		found, err := project.Find(tree, func(string) string { return "" })
		if err == nil && found.Root == p.root {
			top = tree
		}
	}
	name, err := filepath.Rel(top, file)
	if err != nil || !filepath.IsLocal(name) || name == "." {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// worktree is the nearest folder above that git would call one.
func worktree(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// resolved follows the links of the folder that a file is in. The file itself
// may be gone, and a link in its place is what was written.
func resolved(file string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return file
	}
	return filepath.Join(dir, filepath.Base(file))
}

func isBelow(file, folder string) bool {
	return file == folder || strings.HasPrefix(file, folder+string(filepath.Separator))
}
