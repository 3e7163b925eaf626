package git

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"gaffer/statefile"
)

// WriteState writes a file of gaffer's state and syncs it to disk. If the file already has this
// content, it does nothing.
func (r *Repo) WriteState(path string, data []byte) error {
	if err := statefile.MkdirAll(r.Host, filepath.Dir(path)); err != nil {
		return err
	}
	old, err := statefile.ReadBytes(r.Host, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return statefile.WriteNew(r.Host, path, data, 0o644)
	case err != nil:
		return err
	case bytes.Equal(old, data):
		return nil
	}
	return statefile.Replace(r.Host, path, old, data)
}

// StatePath returns the path of a file or folder of gaffer's state, in the repository's git folder.
func (r *Repo) StatePath(parts ...string) string {
	return filepath.Join(append([]string{r.Folder, "gaffer"}, parts...)...)
}
