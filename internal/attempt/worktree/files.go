package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// inTree returns a git client that works in the worktree's folder. It returns a [*git.MissingError]
// if the folder is missing or empty.
func (r *Repo) inTree(g git.Client, t Tree) (git.Client, error) {
	filled, err := folder.IsFilled(t.Path)
	if err != nil {
		return git.Client{}, err
	}
	if !filled {
		return git.Client{}, &git.MissingError{What: "worktree", Name: t.Path, Advice: "its folder is gone; its branch is " + t.Branch}
	}
	return r.InWorktree(g, t.Path)
}

// File is a file in a worktree that differs from the checked-out commit.
type File struct {
	// State is git's two status letters, such as " M". The first is for the index, the second for
	// the file in the worktree.
	State string
	Path  string
}

// uncommittedFiles lists files that are neither committed nor ignored.
func uncommittedFiles(ctx context.Context, g git.Client) ([]File, error) {
	paths, err := uncheckedFiles(ctx, g)
	if err != nil {
		return nil, err
	}
	if len(paths) > 0 {
		s, err := newScratch(ctx, g)
		if err != nil {
			return nil, err
		}
		defer s.close()
		g = s.git
	}
	out, err := g.Run(ctx, "status", "--porcelain=v1", "-z", "--no-renames",
		"--untracked-files=all", "--ignored=no",
		// Do not look at files in submodules: git would run programs that the submodules' settings
		// name.
		"--ignore-submodules=dirty")
	if err != nil {
		return nil, err
	}
	var list []File
	for line := range strings.SplitSeq(out, "\x00") {
		if len(line) > 3 {
			list = append(list, File{State: line[:2], Path: line[3:]})
		}
	}
	return list, nil
}

// nestedRepositories lists repositories inside a worktree: untracked repositories, and submodules
// that have files. git does not add the files of these repositories to the task's branch.
func nestedRepositories(ctx context.Context, g git.Client, dirty []File) ([]string, error) {
	var found []string
	for _, f := range dirty {
		if f.State == "??" && strings.HasSuffix(f.Path, "/") {
			found = append(found, strings.TrimSuffix(f.Path, "/"))
		}
	}
	out, err := g.Run(ctx, "ls-files", "--stage", "-z")
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(about, "160000 ") {
			continue
		}
		// gaffer does not check out submodules, so the folder of a submodule is normally empty. If
		// it has files, the agent has written them. The submodule is then listed here, because
		// git's status does not show it.
		if filled, err := folder.IsFilled(filepath.Join(g.Dir, path)); err != nil || filled {
			found = append(found, path)
		}
	}
	return found, err
}

// hiddenRepositories lists the repositories that were created in folders with tracked files. Git's
// status does not show these repositories.
func hiddenRepositories(ctx context.Context, g git.Client) ([]string, error) {
	out, err := g.Run(ctx, "ls-files", "-z")
	var found []string
	seen := map[string]bool{".": true}
	for path := range strings.SplitSeq(out, "\x00") {
		for dir := filepath.Dir(path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if _, err := os.Lstat(filepath.Join(g.Dir, dir, ".git")); err == nil {
				found = append(found, dir)
			}
		}
	}
	return found, err
}
