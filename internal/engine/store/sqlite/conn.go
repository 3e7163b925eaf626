package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"gaffer/internal/engine/store"
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
	bare     map[string]sqldriver.StmtExecContext // those that return no rows
	args     []sqldriver.NamedValue               // of the statement that runs
}

// patience is how long a connection waits for a lock of somebody else.
const patience = 30 * time.Second

// mergeAt is how many pages the log has when whoever commits merges it into the file:
// more than those of a plan of ten thousand tasks, whose first can begin at once then.
const mergeAt = 4000

// dsn returns the name under which the driver opens a file. Every connection
// syncs what it commits before it says so.
func dsn(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()),
		"synchronous(full)",
		fmt.Sprintf("wal_autocheckpoint(%d)", mergeAt),
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func connect(ctx context.Context, db *sql.DB, path string) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, fail(path, err)
	}
	return &conn{Conn: c, path: path, prepared: map[string]*sql.Stmt{}, bare: map[string]sqldriver.StmtExecContext{}}, nil
}

// close gives the connection back. The driver's own is not closed, nor its log
// merged into the file, before all statements are.
func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	for _, stmt := range c.bare {
		errs = append(errs, stmt.(sqldriver.Stmt).Close())
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

// exec runs a statement. It asks the driver itself: what database/sql does for
// each statement is a tenth of what a small one costs.
func (c *conn) exec(query string, args ...any) error {
	err := c.Raw(func(inner any) error {
		stmt, err := c.prepareBare(inner, query)
		if err != nil {
			return err
		}
		c.args = c.args[:0]
		for i, arg := range args {
			value, err := valueOf(arg)
			if err != nil {
				return fmt.Errorf("parameter %d: %w", i+1, err)
			}
			c.args = append(c.args, sqldriver.NamedValue{Ordinal: i + 1, Value: value})
		}
		_, err = stmt.ExecContext(context.Background(), c.args)
		clear(c.args) // texts may be long
		return err
	})
	return fail(c.path, err)
}

var errNoDriver = errors.New("the driver cannot run prepared statements")

func (c *conn) prepareBare(inner any, query string) (sqldriver.StmtExecContext, error) {
	if stmt := c.bare[query]; stmt != nil {
		return stmt, nil
	}
	preparer, ok := inner.(sqldriver.ConnPrepareContext)
	if !ok {
		return nil, errNoDriver
	}
	stmt, err := preparer.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	bare, ok := stmt.(sqldriver.StmtExecContext)
	if !ok {
		return nil, errors.Join(errNoDriver, stmt.Close())
	}
	c.bare[query] = bare
	return bare, nil
}

// valueOf is a parameter as drivers take it.
func valueOf(arg any) (sqldriver.Value, error) {
	switch v := arg.(type) {
	case nil, string, int64, bool:
		return v, nil
	case store.Status:
		return string(v), nil
	}
	return sqldriver.DefaultParameterConverter.ConvertValue(arg)
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

// Damaged marks the error as one about the store's own file, and not a caller's.
func (e *DamagedError) Damaged() bool { return true }

// Hint says what to do.
func (e *DamagedError) Hint() string {
	return "move the file aside, with those beside it that end in -wal and -shm, and restore a backup, or begin with a new one"
}

// GoneError is a database whose file was deleted or moved away since it was opened.
// What is written to it now would be lost with it.
type GoneError struct{ Path string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("database %s: the file was deleted, moved or replaced while it was in use", e.Path)
}

// Busy marks the error as one that may be gone when it is tried again.
func (e *GoneError) Busy() bool { return true }

// Hint says what to do.
func (e *GoneError) Hint() string {
	return "move the file back, with those beside it that end in -wal and -shm, or start gaffer again"
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

// Busy marks the error as one that may be gone when it is tried again.
func (e *BusyError) Busy() bool { return true }

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
