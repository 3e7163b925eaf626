package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"gaffer/internal/store"
)

// conn is a connection with its prepared statements. It is not safe for
// concurrent use.
//
// Its statements never get the context of a request: a write that is
// interrupted half way, or a watcher for each statement, is worth less than the
// moment that a statement takes.
type conn struct {
	*sql.Conn
	path     string
	prepared map[string]*sql.Stmt
}

// patience is how long a connection waits for a lock of somebody else.
const patience = 30 * time.Second

// dsn returns the name under which the driver opens a file. Every connection
// syncs what it commits before it says so.
func dsn(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()),
		"synchronous(full)",
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func connect(ctx context.Context, db *sql.DB, path string) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fail(path, err)
	}
	return &conn{Conn: c, path: path, prepared: map[string]*sql.Stmt{}}, nil
}

// close gives the connection back. The driver's own is not closed, nor its log
// merged into the file, before all statements are.
func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.Close())...)
}

func (c *conn) prepare(query string) (*sql.Stmt, error) {
	if stmt := c.prepared[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fail(c.path, err)
	}
	c.prepared[query] = stmt
	return stmt, nil
}

// exec runs a statement.
func (c *conn) exec(query string, args ...any) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(context.Background(), args...)
	return fail(c.path, err)
}

// each runs a query and calls row for each row of its answer.
func (c *conn) each(query string, row func(scan func(to ...any) error) error, args ...any) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return fail(c.path, err)
	}
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			_ = rows.Close()
			return fail(c.path, err)
		}
	}
	_ = rows.Close()
	return fail(c.path, rows.Err())
}

// get scans the only row of an answer.
func (c *conn) get(query string, to []any, args ...any) error {
	found := false
	err := c.each(query, func(scan func(...any) error) error {
		found = true
		return scan(to...)
	}, args...)
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

// DamagedError is a file that is not a whole database of gaffer.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is not a gaffer database, or is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Invalid marks the error as one about a file's content.
func (e *DamagedError) Invalid() bool { return true }

// Hint says what to do.
func (e *DamagedError) Hint() string {
	return "move the file aside, with those beside it that end in -wal and -shm, and restore a backup, or begin with a new one"
}

// BusyError is a database in which another program has been writing for too long.
type BusyError struct {
	Path string
	Err  error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another program has been writing for more than %s", e.Path, patience)
}

func (e *BusyError) Unwrap() error { return e.Err }

// Conflict marks the error as one about what somebody else does.
func (e *BusyError) Conflict() bool { return true }

// Hint says what to do.
func (e *BusyError) Hint() string {
	return "see which program has it open (fuser " + e.Path + ") and whether it is stopped"
}

// fail says which file an error is about.
func fail(path string, err error) error {
	var coded *driver.Error
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.Code() & 0xff {
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return &DamagedError{path, err}
	case codes.SQLITE_BUSY:
		return &BusyError{path, err}
	}
	return fmt.Errorf("database %s: %w", path, err)
}
