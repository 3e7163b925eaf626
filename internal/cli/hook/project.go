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

// eventProject is the project in which an event happened.
type eventProject struct {
	root   string // the project's root, with symbolic links resolved
	dir    string // the folder that relative paths start from
	folder string // path of the workflow's folder; empty if the folder does not exist
}

// locate sets e.Dir to the working folder of the agent, which the event names, and returns the
// project that contains that folder.
func locate(e *env.Env, event jsontree.Value) (eventProject, error) {
	if dir := event.Get("cwd").Text(); filepath.IsAbs(dir) {
		e.Dir = filepath.Clean(dir)
	}
	p, err := e.Project()
	if err != nil {
		return eventProject{}, err
	}
	c, err := e.Config()
	if err != nil {
		return eventProject{}, err
	}
	at := eventProject{root: p.Root, dir: e.Dir, folder: c.Path("paths.workflow")}
	if info, err := os.Stat(at.folder); err != nil || !info.IsDir() {
		at.folder = ""
	}
	return at, nil
}

// store opens the documents of the project's workflow.
func (p eventProject) store(e *env.Env) *workflow.Store {
	return workflow.Open(p.folder, workflow.Options{
		Now: e.Now, LockTimeout: Budget,
		Notice: func(n statefile.Notice) { e.Talk("gaffer: %s", display.PrintableLines(n.Text)) },
	})
}

// relative returns a file's path relative to the project's root. If the file is in a linked git
// worktree of the project, the path is relative to that worktree. relative returns false for files
// outside the project and for the workflow's own documents.
func (p eventProject) relative(file string) (string, bool) {
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

// worktree returns the nearest folder that contains a file or folder .git: dir or one of its
// ancestors. It returns "" if there is none.
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

// resolved resolves the symbolic links in the path of a file's folder. The file itself may be
// missing. If the file itself is a link, that link is not resolved.
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
