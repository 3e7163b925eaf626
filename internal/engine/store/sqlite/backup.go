package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"gaffer/internal/engine/store"
)

// Copied describes a database file that [Backup] or [Restore] has written, or that [Check] has
// checked.
type Copied struct {
	Path    string
	Bytes   int64
	Version int   // version of the database's schema
	Last    int64 // sequence number of the last event
}

// ExistsError reports that a file exists and must not be overwritten.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " is there already" }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ExistsError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ExistsError) Hint() string { return "--force replaces it" }

// Backup writes a consistent copy of the database at path to the file target. Other processes may
// use the database at the same time. The copy is synced to disk and checked before it gets the name
// target. Backup replaces an existing target if force is set, and otherwise returns an
// [*ExistsError] for it. If the function progress is not nil, it is called regularly with the
// number of bytes that were written and the approximate total.
func Backup(ctx context.Context, path, target string, force bool, progress func(done, total int64)) (Copied, error) {
	if err := checkDifferentFiles(path, target); err != nil {
		return Copied{}, err
	}
	if _, err := os.Lstat(target); err == nil && !force {
		return Copied{}, &ExistsError{target}
	}
	temp, c, err := copyBeside(ctx, path, target, progress)
	if err != nil {
		return Copied{}, fmt.Errorf("back up %s: %w", path, err)
	}
	if err := errors.Join(removeLog(target), renameDurably(temp, target)); err != nil {
		return Copied{}, errors.Join(fmt.Errorf("back up %s: %w", path, err), os.Remove(temp))
	}
	c.Path = target
	return c, nil
}

var errSame = errors.New("it is the database itself")

// checkDifferentFiles returns an error if path and other are the same file, or if no file exists at
// path. A file at other need not exist.
func checkDifferentFiles(path, other string) error {
	a, err := os.Stat(path)
	if err != nil {
		return err
	}
	if b, err := os.Stat(other); err == nil && os.SameFile(a, b) {
		return &DamagedError{other, errSame}
	}
	return nil
}

// copyBeside copies the database source to a temporary file in the folder of target, and checks the
// copy. Only the owner of the temporary file can read it.
func copyBeside(ctx context.Context, source, target string, progress func(done, total int64)) (temp string, c Copied, err error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return "", c, err
	}
	temp = f.Name()
	if err = f.Close(); err == nil {
		err = copyInto(ctx, source, temp, progress)
	}
	if err == nil {
		err = syncFile(temp)
	}
	if err == nil {
		c, err = Check(ctx, temp)
	}
	if err != nil {
		return "", c, errors.Join(err, os.Remove(temp))
	}
	return temp, c, nil
}

// copyInto copies the database source into the empty file target. The copy contains no unused
// pages.
func copyInto(ctx context.Context, source, target string, progress func(done, total int64)) error {
	return openReadOnly(ctx, source, func(c *conn) error {
		if _, err := knownVersion(c); err != nil {
			return err
		}
		total, free, err := c.size()
		if err != nil {
			return err
		}
		stop := reportProgress(target, total-free, progress)
		defer stop()
		_, err = c.ExecContext(ctx, "VACUUM INTO ?", target)
		return withPath(source, err)
	})
}

// progressInterval is how often the progress of a copy is reported.
const progressInterval = 2 * time.Second

// reportProgress starts to call the function progress regularly with the current size of the file
// and with total, its expected size. The calls end when the caller calls the returned function
// stop, which waits until the last call of progress has returned.
func reportProgress(file string, total int64, progress func(done, total int64)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if info, err := os.Stat(file); err == nil {
					progress(min(info.Size(), total), total)
				}
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// openReadOnly opens the database at path for reading, and calls the function read with the
// connection. It returns an error if no file exists at path.
func openReadOnly(ctx context.Context, path string, read func(c *conn) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() < smallestFile:
		return &DamagedError{path, errTooSmall}
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds())}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return err
	}
	c, err := connect(ctx, db, path)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(read(c), c.close(), db.Close())
}

// knownVersion returns the version of a database's schema. It returns a [*store.NewerError] if the
// version is newer than this program, and a [*DamagedError] if the database is empty.
func knownVersion(c *conn) (int, error) {
	steps, err := readMigrations(schemas)
	if err != nil {
		return 0, err
	}
	version, err := c.version()
	switch {
	case err != nil:
		return 0, err
	case version == 0:
		return 0, &DamagedError{c.path, errEmpty}
	case version > len(steps):
		return 0, &store.NewerError{Database: c.path, Found: version, Known: len(steps)}
	}
	return version, nil
}

var errEmpty = errors.New("it has no tables")

// Check checks the integrity of the whole database at path. No process should change the database
// during the check: Check reads the fields of its result one after the other, so they might not
// match each other.
func Check(ctx context.Context, path string) (Copied, error) {
	copied := Copied{Path: path}
	info, err := os.Stat(path)
	if err != nil {
		return copied, err
	}
	copied.Bytes = info.Size()
	err = openReadOnly(ctx, path, func(c *conn) (err error) {
		if copied.Version, err = knownVersion(c); err != nil {
			return err
		}
		if err := c.check(ctx); err != nil {
			return err
		}
		return c.get("SELECT coalesce(max(seq), 0) FROM event", []any{&copied.Last})
	})
	return copied, err
}

// check runs the integrity check of SQLite, which reads all pages of the database.
func (c *conn) check(ctx context.Context) error {
	var found string
	if err := c.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return withPath(c.path, err)
	}
	if found != "ok" {
		return &DamagedError{c.path, errors.New(found)}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// renameDurably renames a file and syncs its folder, so that the new name survives a crash.
func renameDurably(file, name string) error {
	if err := os.Rename(file, name); err != nil {
		return err
	}
	return syncFile(filepath.Dir(name))
}

// absent reports whether no file exists at the path.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
