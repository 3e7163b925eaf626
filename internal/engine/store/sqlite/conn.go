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

// conn is a connection with its prepared statements. It is not safe for concurrent use.
//
// The methods exec, each and get do not use the context of a request, because their statements take
// little time. With a context, the driver would need a goroutine for each statement and could
// interrupt a write.
type conn struct {
	*sql.Conn
	path          string
	prepared      map[string]*sql.Stmt
	rawStatements map[string]sqldriver.StmtExecContext // prepared statements that return no rows
	args          []sqldriver.NamedValue               // arguments of the current statement
}

// lockTimeout is how long a connection waits until another connection releases its lock. After
// that, the statement fails with a [*BusyError].
const lockTimeout = 30 * time.Second

// checkpointPages is the size of the write-ahead log, in pages, at which a commit copies the log
// into the database file. It is larger than SQLite's default of 1000 pages. With the default, the
// commit that stores a large plan would copy the log, and the first task of the plan would start
// later.
const checkpointPages = 4000

// dsn returns the data source name of a database file. Its settings make SQLite sync a commit to
// disk before the commit succeeds.
func dsn(path string, pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds()),
		"synchronous(full)",
		fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages),
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func connect(ctx context.Context, db *sql.DB, path string) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, withPath(path, err)
	}
	return &conn{Conn: c, path: path, prepared: map[string]*sql.Stmt{}, rawStatements: map[string]sqldriver.StmtExecContext{}}, nil
}

// close closes all prepared statements and then the connection. If a statement stayed open, SQLite
// would keep the connection open, and would not copy the write-ahead log into the database file.
func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	for _, stmt := range c.rawStatements {
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
		return nil, withPath(c.path, err)
	}
	c.prepared[query] = stmt
	return stmt, nil
}

// exec executes a statement that returns no rows. It calls the driver directly, because package
// database/sql makes small statements slower.
func (c *conn) exec(query string, args ...any) error {
	err := c.Raw(func(inner any) error {
		stmt, err := c.prepareRaw(inner, query)
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
		clear(c.args) // drop the references, so that long texts can be freed
		return err
	})
	return withPath(c.path, err)
}

var errNoDriver = errors.New("the driver cannot run prepared statements")

func (c *conn) prepareRaw(inner any, query string) (sqldriver.StmtExecContext, error) {
	if stmt := c.rawStatements[query]; stmt != nil {
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
	c.rawStatements[query] = bare
	return bare, nil
}

// valueOf converts a parameter of a statement to a type that the driver accepts.
func valueOf(arg any) (sqldriver.Value, error) {
	switch v := arg.(type) {
	case nil, string, int64, bool:
		return v, nil
	case store.Status:
		return string(v), nil
	}
	return sqldriver.DefaultParameterConverter.ConvertValue(arg)
}

// each runs a query and calls the function row for each row of the result. If row returns an error,
// each stops and returns that error.
func (c *conn) each(query string, row func(scan func(to ...any) error) error, args ...any) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return withPath(c.path, err)
	}
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			_ = rows.Close()
			return withPath(c.path, err)
		}
	}
	_ = rows.Close()
	return withPath(c.path, rows.Err())
}

// get runs a query that returns at most one row, and scans its columns into dst. It returns
// [store.ErrNotFound] if the query returns no row.
func (c *conn) get(query string, dst []any, args ...any) error {
	found := false
	err := c.each(query, func(scan func(...any) error) error {
		found = true
		return scan(dst...)
	}, args...)
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

// DamagedError reports that a file is damaged, or is not a database of gaffer.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is not a gaffer database, or is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *DamagedError) Invalid() bool { return true }

// Damaged marks the error as damage to the database file, which is not the fault of the caller's
// request.
func (e *DamagedError) Damaged() bool { return true }

// Hint returns advice for the user.
func (e *DamagedError) Hint() string {
	return "move the file aside, with those beside it that end in -wal and -shm, and restore a backup, or begin with a new one"
}

// GoneError reports that the database file was deleted, moved or replaced after this process had
// opened it. The store then refuses to write, because changes to the old file would be lost.
type GoneError struct{ Path string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("database %s: the file was deleted, moved or replaced while it was in use", e.Path)
}

// Busy marks the error as temporary: the caller may try again.
func (e *GoneError) Busy() bool { return true }

// Hint returns advice for the user.
func (e *GoneError) Hint() string {
	return "move the file back, with those beside it that end in -wal and -shm, or start gaffer again"
}

// BusyError reports that a write waited longer than lockTimeout for the writes of another program.
type BusyError struct {
	Path string
	Err  error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another program has been writing for more than %s", e.Path, lockTimeout)
}

func (e *BusyError) Unwrap() error { return e.Err }

// Busy marks the error as temporary: the caller may try again.
func (e *BusyError) Busy() bool { return true }

// Hint returns advice for the user.
func (e *BusyError) Hint() string {
	return "see which program has it open (fuser " + e.Path + ") and whether it is stopped"
}

// withPath adds the path of the database file to an error of SQLite. If the file is damaged, the
// result is a [*DamagedError]. If the wait for a lock was too long, it is a [*BusyError]. An error
// that is not from SQLite is returned unchanged.
func withPath(path string, err error) error {
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
