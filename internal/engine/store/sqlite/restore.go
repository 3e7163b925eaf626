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
	PID  int // id of the process; 0 if unknown
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return e.Path + " is in use"
	}
	return fmt.Sprintf("%s is in use by the process with pid %d", e.Path, e.PID)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *InUseError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *InUseError) Hint() string {
	return "stop every gaffer that uses it first; agents that run go on meanwhile"
}

// Restored describes a restored database, and says where the database that it replaced is kept.
type Restored struct {
	Copied
	Before string // path of the previous database; empty if none existed
}

// Restore replaces the database at path by a copy of the database at source. It returns an
// [*InUseError] if a process has the database at path open. While the file is replaced, no process
// can open it. The copy is checked before anything is replaced. The previous database is kept in
// the same folder under another name.
func Restore(ctx context.Context, source, path string, now time.Time, progress func(done, total int64)) (r Restored, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	if err := checkDifferentFiles(source, path); err != nil {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	// Check now that no process uses the database, so that Restore fails before the long copy and
	// not after it. The function replace makes the same check again after the copy.
	if err := checkUnused(path); err != nil {
		return r, err
	}
	temp, c, err := copyBeside(ctx, source, path, progress)
	if err != nil {
		return r, fmt.Errorf("restore %s: %w", source, err)
	}
	r.Copied = c
	r.Path = path
	if r.Before, err = replace(ctx, temp, path, now); err != nil {
		return r, errors.Join(err, ignoreAbsent(os.Remove(temp)))
	}
	return r, nil
}

// replace replaces the database at path by the database in the given file. It returns the new path
// of the previous database, or "" if there was none. Meanwhile it holds the lock of the
// [writerQueue]. So a process that opens the database waits, and then finds out that the file was
// replaced.
func replace(ctx context.Context, file, path string, now time.Time) (before string, err error) {
	turn, err := queueOf(path).wait(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, turn.Unlock()) }()
	if !absent(path) {
		unlock, lockErr := lockFile(path)
		if lockErr != nil {
			return "", lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
		if before, err = linkPrevious(path, now); err != nil {
			return "", err
		}
	}
	// Delete the database before its log. If gaffer is interrupted between the two steps, there is
	// no database at the path. In the other order, there would be a database without its log.
	if err := ignoreAbsent(os.Remove(path)); err != nil {
		return before, err
	}
	if err := removeLog(path); err != nil {
		return before, err
	}
	return before, renameDurably(file, path)
}

// removeLog deletes the write-ahead log of a database that is about to be replaced, because SQLite
// would apply it to the new file. There may be a log even without a database, if a restore was
// interrupted.
func removeLog(path string) error {
	return errors.Join(ignoreAbsent(os.Remove(path+"-wal")), ignoreAbsent(os.Remove(path+"-shm")))
}

// linkPrevious creates hard links to a database and to its log, so that both are kept under another
// name. It returns the new path of the database.
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

// checkUnused returns an [*InUseError] if a process has the database at path open. It returns nil
// if there is no file at path.
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
