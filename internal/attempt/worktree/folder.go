package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// isFilled reports whether path exists and is not an empty folder.
func isFilled(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return true, nil
	}
	list, err := names(path)
	return len(list) > 0, err
}

// isWhole reports whether a folder contains its worktree. A folder with files that is
// no longer a worktree is an error, because the origin of the files is unknown.
func (r *Repo) isWhole(ctx context.Context, g git, path string) (bool, error) {
	filled, err := isFilled(path)
	if !filled || err != nil {
		return false, err
	}
	if _, err := r.gitFolder(path); err == nil {
		return true, nil
	}
	// Git can repair its links after a folder was moved.
	if _, err := g.run(ctx, "worktree", "repair"); err != nil {
		return false, err
	}
	_, err = r.gitFolder(path)
	return err == nil, err
}

// gitFolder returns git's own folder for the worktree at path. The two must point to
// each other. Otherwise git would treat the folder as a part of a surrounding
// repository.
func (r *Repo) gitFolder(path string) (string, error) {
	broken := &TakenError{
		"folder", path, "there are files in it, but it is not a worktree of this repository any more",
		"move it away, keep what you need of it, and try again",
	}
	link, err := readPointer(filepath.Join(path, ".git"))
	dir, ok := strings.CutPrefix(link, "gitdir: ")
	if err != nil || !ok {
		return "", broken
	}
	if dir = absolute(path, dir); !sameFile(filepath.Dir(dir), filepath.Join(r.common, "worktrees")) {
		return "", broken
	}
	back, err := readPointer(filepath.Join(dir, "gitdir"))
	if err != nil || !sameFile(absolute(dir, back), filepath.Join(path, ".git")) {
		return "", broken
	}
	return dir, nil
}

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
