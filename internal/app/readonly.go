package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// ReadOnlyError reports that a change cannot be stored because the database's folder is
// read-only.
type ReadOnlyError struct {
	Folder string
	Err    error
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("the state folder %s is read-only: %v", e.Folder, e.Err)
}
func (e *ReadOnlyError) Unwrap() error { return e.Err }

// Hint returns advice for the user.
func (e *ReadOnlyError) Hint() string {
	return "make it writable, or name another with XDG_STATE_HOME or --db; 'gaffer status', 'gaffer ps' and 'gaffer logs' work all the same"
}

// readOnly returns a [*ReadOnlyError] if the database's folder exists but cannot be written.
func readOnly(database string) error {
	const writable = 2
	dir := filepath.Dir(database)
	err := syscall.Access(dir, writable)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) {
		return &ReadOnlyError{dir, err}
	}
	return nil
}

// readOnlyCopy is a temporary copy of a database whose folder is read-only. SQLite cannot open the
// original, because the database is in WAL mode. In this mode SQLite must write files beside the
// database even to read it.
type readOnlyCopy struct {
	store.Store
	dir string
	err error
}

// openReadOnlyCopy copies the database to a temporary folder and opens the copy. Every write to the
// copy fails with the error in the parameter why. Close deletes the copy.
func openReadOnlyCopy(ctx context.Context, database string, why error) (_ *readOnlyCopy, err error) {
	dir, err := os.MkdirTemp("", "gaffer-read-only-")
	if err != nil {
		return nil, errors.Join(why, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	to := filepath.Join(dir, "gaffer.db")
	for _, part := range []string{"", "-wal"} {
		err := copyFile(to+part, database+part)
		if err != nil && (part == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, errors.Join(why, err)
		}
	}
	s, err := sqlite.Open(ctx, to)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	return &readOnlyCopy{s, dir, why}, nil
}

// Write always returns the [*ReadOnlyError] that openReadOnlyCopy was given.
func (s *readOnlyCopy) Write(context.Context, func(*store.Tx) error) error { return s.err }

// Close closes and deletes the copy.
func (s *readOnlyCopy) Close() error { return errors.Join(s.Store.Close(), os.RemoveAll(s.dir)) }

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
