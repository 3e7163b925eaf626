package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"gaffer/internal/engine/store"
)

var errClosed = errors.New("the store is closed")

// lockNotAvailable is PostgreSQL's error code for a lock timeout.
const lockNotAvailable = "55P03"

// BusyError reports that another process has been writing for too long.
type BusyError struct {
	Database string
	Err      error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("database %s: another process has been writing for more than %s", e.Database, lockTimeout)
}

func (e *BusyError) Unwrap() error { return e.Err }

// Busy marks the error as temporary: a retry may succeed.
func (e *BusyError) Busy() bool { return true }

// Hint returns what the user can do.
func (e *BusyError) Hint() string {
	return "look in pg_stat_activity which connection has been in a transaction for long"
}

// fail adds the name of the database to an error. It converts errors about missing rows
// and lock timeouts to the errors of this package and of package store.
func (s *Store) fail(err error) error {
	var coded *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return store.ErrNotFound
	case errors.As(err, &coded) && coded.Code == lockNotAvailable:
		return &BusyError{s.name, err}
	}
	return fmt.Errorf("database %s: %w", s.name, err)
}
