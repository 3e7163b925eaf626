package statusline

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gaffer/internal/cli/env"
	"gaffer/internal/ui/statusline"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// folders holds the folders whose files the status line describes.
type folders struct {
	root     string // the project's root
	dir      string // the agent's working folder, in the project or in one of its git worktrees
	workflow string
}

// findFolders finds the agent's working folder and the project. The working folder is the first
// folder of dirs that exists or, if none exists, the current folder.
//
// If named is true, a flag or an environment variable names the project. If the working folder is
// not in this project, the project's root is used instead. If named is false, findFolders sets
// e.Dir to the working folder, and uses the project that contains it. If there is no project, the
// working folder is used as the root.
func findFolders(e *env.Env, named bool, dirs []string) folders {
	dir := e.Dir
	for _, d := range dirs {
		if info, err := os.Stat(d); err == nil && info.IsDir() {
			dir = d
			break
		}
	}
	if !named {
		e.Dir = dir
	}
	found, err := e.Project()
	if err != nil {
		return folders{root: dir, dir: dir, workflow: filepath.Join(dir, ".fctry")}
	}
	p := folders{root: found.Root, dir: dir, workflow: filepath.Join(found.Root, ".fctry")}
	if named {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if below, err := filepath.Rel(found.Root, dir); err != nil || !filepath.IsLocal(below) {
			p.dir = found.Root
		}
	}
	if c, err := e.Config(); err == nil {
		p.workflow = c.Path("paths.workflow")
	}
	return p
}

// documents reads the documents that the status line needs, if they exist. It takes no lock and
// does not wait for a process that is writing them.
func (p folders) documents(agent []byte) statusline.Documents {
	d := statusline.Documents{
		Project: filepath.Base(p.root), Agent: agent, Head: readHead(p.dir),
		Spec: readBeginning(filepath.Join(p.workflow, "spec.md"), maxFront),
	}
	if info, err := os.Stat(p.workflow); err == nil {
		d.Used = info.IsDir()
	}
	d.State, _ = statefile.ReadBytes(host.OS(), filepath.Join(p.workflow, workflow.StateFile))
	d.Config = readBeginning(filepath.Join(p.workflow, "config.json"), maxConfig)
	return d
}

const (
	maxFront  = 64 << 10 // maximum number of bytes to read from spec.md, for its front matter
	maxConfig = 1 << 20
	maxHead   = 4 << 10
)

// readHead returns the content of git's HEAD file of the worktree that contains dir, or nil if dir
// is in no worktree.
func readHead(dir string) []byte {
	for {
		dotGit := filepath.Join(dir, ".git")
		if head := readBeginning(filepath.Join(dotGit, "HEAD"), maxHead); head != nil {
			return head
		}
		if link := readBeginning(dotGit, maxHead); link != nil { // in a linked worktree, .git is a file
			line, _, _ := strings.Cut(string(link), "\n")
			gitDir, ok := strings.CutPrefix(strings.TrimSpace(line), "gitdir: ")
			if !ok {
				return nil
			}
			if !filepath.IsAbs(gitDir) {
				gitDir = filepath.Join(dir, gitDir)
			}
			return readBeginning(filepath.Join(gitDir, "HEAD"), maxHead)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

// readBeginning reads at most maxBytes bytes from the start of a regular file. It returns nil if
// there is no regular file at path, and an empty slice if there is one but reading it fails. It
// opens the file with O_NONBLOCK, because opening a FIFO could block otherwise.
func readBeginning(path string, maxBytes int64) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return []byte{}
	}
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil || data == nil {
		return []byte{}
	}
	return data
}
