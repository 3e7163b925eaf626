package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/ui/report"
	"gaffer/ledger"
)

// writePage writes the page to a file, or to the result if it is called "-".
func writePage(e *env.Env, name string, r ledger.Report, from report.Source) error {
	if name == "-" {
		return report.HTML(e.Out, r, from)
	}
	path := e.Path(name)
	if err := replace(path, func(w io.Writer) error { return report.HTML(w, r, from) }); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	e.Talk("wrote %s", path)
	return nil
}

// replace puts a new file in the place of path, or leaves what is there. The
// file is made in a folder of its own, which is how it gets the permissions that
// the user's files have.
func replace(path string, write func(io.Writer) error) (err error) {
	before, err := mayReplace(path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := os.Create(filepath.Join(dir, "page"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is closed already, or its error comes second
	out := bufio.NewWriter(f)
	for _, step := range []func() error{
		func() error { return write(out) }, out.Flush,
		func() error { return keepPermissions(f, before) },
		f.Sync, f.Close,
		func() error { return os.Rename(f.Name(), path) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func keepPermissions(f *os.File, before fs.FileInfo) error {
	if before == nil {
		return nil
	}
	return f.Chmod(before.Mode().Perm())
}

// mayReplace returns what is at path, nil for nothing, and refuses to put a file
// in the place of anything but a file.
func mayReplace(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &exit.Error{Code: exit.CodeConflict, Err: errors.New("is not a regular file, and is not replaced"), Next: "name another file"}
	}
	return info, nil
}
