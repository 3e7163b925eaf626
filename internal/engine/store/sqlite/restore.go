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

// InUseError is a database that a process has open.
type InUseError struct {
	Path string
	PID  int // 0 if it is not known
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return e.Path + " is in use"
	}
	return fmt.Sprintf("%s is in use by the process with pid %d", e.Path, e.PID)
}

// Conflict marks the error as one about what somebody else does.
func (e *InUseError) Conflict() bool { return true }

// Hint says what to do.
func (e *InUseError) Hint() string {
	return "stop every gaffer that uses it first; agents that run go on meanwhile"
}

// Restored says what a database was replaced with, and where the one before is.
type Restored struct {
	Copied
	Before string // empty if there was none
}

// Restore puts a copy of a database in the place of the one at path. It refuses
// while any process has that one open, and lets none open it meanwhile. The copy
// is checked first; the database before stays beside it, under another name.
func Restore(ctx context.Context, from, path string, now time.Time, tell func(done, total int64)) (r Restored, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if err := apart(from, path); err != nil {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	if err := unused(path); err != nil {
		return r, err // at once, and again when nobody can open it
	}
	temp, c, err := copyBeside(ctx, from, path, tell)
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

// replace puts a file in the place of a database, while it is our turn to write:
// who opens the database waits for that, and then looks whether it is still the
// same file.
func replace(ctx context.Context, file, path string, now time.Time) (before string, err error) {
	turn, err := queueOf(path).wait(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, turn.Unlock()) }()
	if absent(path) {
		return "", give(file, path)
	}
	free, err := hold(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, free()) }()
	if before, err = keepBeside(path, now); err != nil {
		return "", err
	}
	// The log of another file would be taken for that of the new one. Should this
	// be interrupted, there is no database rather than one without its log.
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := ignoreAbsent(os.Remove(path + end)); err != nil {
			return before, err
		}
	}
	return before, give(file, path)
}

// keepBeside gives a database a second name, with its log if it has one.
func keepBeside(path string, now time.Time) (name string, err error) {
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

// unused returns an [*InUseError] if a process has a database open.
func unused(path string) error {
	free, err := hold(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return free()
}
