package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// InUseError reports that a process has the database open.
type InUseError struct {
	Path string
	PID  int // of the process; 0 if unknown
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return e.Path + " is in use"
	}
	return fmt.Sprintf("%s is in use by the process with pid %d", e.Path, e.PID)
}

// Conflict marks the error as a conflict with another process.
func (e *InUseError) Conflict() bool { return true }

// Hint returns what the user can do.
func (e *InUseError) Hint() string {
	return "stop every gaffer that uses it first; agents that run go on meanwhile"
}

// Restored describes a restored database, and where the previous database is kept.
type Restored struct {
	Copied
	Before string // path of the previous database; empty if there was none
}

// Restore replaces the database at path by a copy of the database at from. It returns an
// [*InUseError] if a process has the database at path open, and prevents processes from
// opening it meanwhile. It checks the copy before it replaces anything. The previous
// database is kept in the same folder under another name.
func Restore(ctx context.Context, from, path string, now time.Time, progress func(done, total int64)) (r Restored, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if err := checkDifferentFiles(from, path); err != nil {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	if err := checkUnused(path); err != nil {
		return r, err // fail before the long copy; replace checks this again
	}
	temp, c, err := copyBeside(ctx, from, path, progress)
	if err != nil {
		return r, fmt.Errorf("restore %s: %w", from, err)
	}
	r.Copied = c
	r.Path = path
	if r.Before, err = replace(ctx, temp, path, now); err != nil {
		return r, errors.Join(err, ignoreAbsent(os.Remove(temp)))
	}
	return r, nil
}

// replace replaces a database by a file while it holds the turn of the writers' queue. A
// process that opens the database waits for the turn, and then checks whether the file is
// still the same.
func replace(ctx context.Context, file, path string, now time.Time) (before string, err error) {
	turn, err := queueOf(path).wait(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, turn.Unlock()) }()
	if absent(path) {
		return "", renameDurably(file, path)
	}
	unlock, err := lockFile(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if before, err = linkPrevious(path, now); err != nil {
		return "", err
	}
	// SQLite would apply the old file's log to the new file, so delete the log too. If
	// this is interrupted, no database is left at the path, rather than one without its
	// log.
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := ignoreAbsent(os.Remove(path + end)); err != nil {
			return before, err
		}
	}
	return before, renameDurably(file, path)
}

// linkPrevious gives a database and its log a second name with hard links, and returns
// that name.
func linkPrevious(path string, now time.Time) (name string, err error) {
	base := path + ".before-" + now.UTC().Format("20060102-150405")
	name = base
	for n := 2; !absent(name) || !absent(name+"-wal"); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	if err := ignoreAbsent(os.Link(path+"-wal", name+"-wal")); err != nil {
		return "", err
	}
	if err := os.Link(path, name); err != nil {
		return "", err
	}
	return name, syncFile(filepath.Dir(path))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// checkUnused returns an [*InUseError] if a process has the database open.
func checkUnused(path string) error {
	unlock, err := lockFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return unlock()
}
