package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Worktree is an entry in git's list of worktrees.
type Worktree struct {
	Path   string
	Head   string // id of the checked-out commit; empty if there is none
	Branch string // name of the checked-out branch without refs/heads/; empty if HEAD is detached
	Locked bool
	Reason string // reason that was given when the worktree was locked
}

// Initializing is the lock reason that git itself sets on a worktree while git creates the
// worktree.
const Initializing = "initializing"

// Worktrees returns git's list of worktrees, the main one first.
func (r *Repo) Worktrees(ctx context.Context, g Client) ([]Worktree, error) {
	out, err := g.Run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	list := parseWorktrees(out)
	if len(list) > 0 {
		list[0].Path = r.main // git may report the git folder here instead of the main worktree
	}
	return list, nil
}

func parseWorktrees(out string) []Worktree {
	var list []Worktree
	for block := range strings.SplitSeq(out, "\x00\x00") {
		var e Worktree
		for line := range strings.SplitSeq(block, "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				e.Path = value
			case "HEAD":
				e.Head = strings.Trim(value, "0")
				if e.Head != "" {
					e.Head = value
				}
			case "branch":
				e.Branch = strings.TrimPrefix(value, Heads)
			case "locked":
				e.Locked, e.Reason = true, value
			}
		}
		if e.Path != "" {
			list = append(list, e)
		}
	}
	return list
}

// FindLinked returns the linked worktree with this path, from a list in which the main worktree is
// the first. It never returns the main worktree.
func FindLinked(list []Worktree, path string) (Worktree, bool) {
	for i, e := range list {
		if i > 0 && e.Path == path {
			return e, true
		}
	}
	return Worktree{}, false
}

// CheckedOut returns the worktrees in list that have the branch checked out.
func CheckedOut(list []Worktree, branch string) []Worktree {
	return slices.DeleteFunc(slices.Clone(list), func(e Worktree) bool { return e.Branch != branch })
}

// GitFolder returns the path of the folder in which git keeps its files about the linked worktree
// at path. The worktree's file .git contains the path of that folder, and a file in that folder
// contains the path of the worktree. If one of these paths is wrong or missing, GitFolder returns a
// [*TakenError], because git in the worktree might use a repository in a parent folder.
func (r *Repo) GitFolder(path string) (string, error) {
	broken := &TakenError{
		"folder", path, "there are files in it, but it is not a worktree of this repository any more",
		"move it away, keep what you need of it, and try again",
	}
	link, err := readPointer(filepath.Join(path, ".git"))
	dir, ok := strings.CutPrefix(link, "gitdir: ")
	if err != nil || !ok {
		return "", broken
	}
	if dir = absolute(path, dir); !sameFile(filepath.Dir(dir), filepath.Join(r.Folder, "worktrees")) {
		return "", broken
	}
	back, err := readPointer(filepath.Join(dir, "gitdir"))
	if err != nil || !sameFile(absolute(dir, back), filepath.Join(path, ".git")) {
		return "", broken
	}
	return dir, nil
}

// readPointer reads a small git file, such as .git or head-name, that contains a path or a ref
// name.
func readPointer(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return "", errors.New(path + ": not a pointer of git")
	}
	data, err := os.ReadFile(path)
	return strings.TrimRight(string(data), "\r\n"), err
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// InWorktree returns a client that runs git in the worktree at path. The client passes the
// worktree's git folder to git, so that git cannot use another repository by mistake.
func (r *Repo) InWorktree(g Client, path string) (Client, error) {
	dir, err := r.GitFolder(path)
	if err != nil {
		return Client{}, err
	}
	g.GitFolder = dir
	return g.In(path).With("GIT_DIR="+dir, "GIT_WORK_TREE="+path), nil
}

// FindRebase returns the path of the worktree with an unfinished rebase of a branch, or "" if there
// is none. gaffer must not move a branch during its rebase, because git could not finish the
// rebase. [CheckedOut] does not find it: during a rebase, git lists the branch as checked out in no
// worktree.
func (r *Repo) FindRebase(branch string) (string, error) {
	linked, err := os.ReadDir(filepath.Join(r.Folder, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	dirs := []string{r.Folder}
	for _, entry := range linked {
		dirs = append(dirs, filepath.Join(r.Folder, "worktrees", entry.Name()))
	}
	for _, dir := range dirs {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			if on, err := readPointer(filepath.Join(dir, kind, "head-name")); err != nil || on != Heads+branch {
				continue
			}
			if dir == r.Folder {
				return r.main, nil
			}
			link, err := readPointer(filepath.Join(dir, "gitdir"))
			if err != nil {
				return dir, nil
			}
			return filepath.Dir(link), nil
		}
	}
	return "", nil
}
