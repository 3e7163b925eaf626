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

// writePage writes the HTML report to a file, or to stdout if the name is "-".
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

// replace atomically replaces the file at path. After an error the old file is
// unchanged. It creates the new file in a temporary folder, so that the file gets the
// permissions of the user's umask.
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
	defer func() { _ = f.Close() }() // after success it is already closed; otherwise an earlier error is returned
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

// mayReplace returns the file at path, or nil if nothing exists there. It returns an
// error if something other than a regular file exists there.
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
