package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// tryFile looks for a file in the work folder. A link that leads out of it does
// not count.
func tryFile(ctx context.Context, dir string, c Check) finding {
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return finding{problem: fmt.Sprintf("open the work folder: %v", err)}
	}
	defer func() { _ = root.Close() }() // nothing was written
	name := filepath.ToSlash(filepath.Clean(c.File))
	_, err = root.Stat(name) // before the pattern: names such as [id].tsx are common
	if err == nil {
		return finding{output: name + " exists"}
	}
	// A pattern that is malformed is only a name.
	found, _ := fs.Glob(bounded{root.FS(), ctx}, name)
	for _, match := range found {
		if _, err := root.Stat(match); err == nil { // a pattern does not look where links lead
			return finding{output: match + " exists"}
		}
	}
	return finding{problem: err.Error()}
}

// bounded is a tree that is empty once ctx has ended, so that a pattern with
// many stars comes to an end.
type bounded struct {
	fs.FS
	ctx context.Context
}

// ReadDir implements fs.ReadDirFS.
func (b bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	return fs.ReadDir(b.FS, name)
}
