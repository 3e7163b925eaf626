package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tryFile looks for a file in the work folder. A symbolic link that leads out of the
// folder does not count.
func tryFile(ctx context.Context, dir string, c Check) tryResult {
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return tryResult{problem: fmt.Sprintf("open the work folder: %v", err)}
	}
	defer func() { _ = root.Close() }() // ignore the error: the folder was only read
	name := filepath.ToSlash(filepath.Clean(c.File))
	// Try the name itself before the pattern, because files with names such as [id].tsx are common.
	_, err = root.Stat(name)
	if err == nil {
		return tryResult{output: name + " exists"}
	}
	// Ignore the error: a malformed pattern can only be the name of a file, which was tried above.
	found, _ := fs.Glob(contextFS{root.FS(), ctx}, name)
	for _, match := range found {
		// Glob also returns symbolic links to missing files, so check that the file exists.
		if _, err := root.Stat(match); err == nil {
			return tryResult{output: match + " exists"}
		}
	}
	return tryResult{problem: err.Error()}
}

// contextFS is a file tree in which ReadDir fails once ctx has ended. So a search for a pattern
// with many stars does not continue after the time limit.
type contextFS struct {
	fs.FS
	ctx context.Context
}

// ReadDir implements fs.ReadDirFS.
func (b contextFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	return fs.ReadDir(b.FS, name)
}
