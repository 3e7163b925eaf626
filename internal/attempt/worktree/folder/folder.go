// Package folder has the file operations on the folders of worktrees.
package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// IsFilled reports whether path exists and is not an empty folder.
func IsFilled(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return true, nil
	}
	list, err := Names(path)
	return len(list) > 0, err
}

// Names returns the sorted names in a folder. A missing folder counts as empty.
func Names(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all, err
}

// RemoveAll deletes a folder with everything in it. It also deletes the content of read-only
// folders, such as the folders of Go's module cache.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // if this fails, os.RemoveAll below returns an error
		}
		return nil
	})
	return os.RemoveAll(path)
}
