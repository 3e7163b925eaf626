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

// replace replaces the file at path atomically, or creates it. If writing fails, the old file is
// unchanged. A file that exists keeps its permissions. A new file gets the permissions that the
// user's umask allows. Therefore replace does not use os.CreateTemp, which creates a file that only
// the user can read.
func replace(path string, write func(io.Writer) error) (err error) {
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return err
	case !before.Mode().IsRegular():
		return &exit.Error{Code: exit.CodeConflict, Err: errors.New("is not a regular file, and is not replaced"), Next: "name another file"}
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
	// Ignore the error: after success f is already closed, and after a failure the first error is
	// returned.
	defer func() { _ = f.Close() }()
	out := bufio.NewWriter(f)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if before != nil {
		if err := f.Chmod(before.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
