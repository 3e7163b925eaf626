package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"gaffer/internal/engine/store"
)

var errClosed = errors.New("the store is closed")

// lockNotAvailable is PostgreSQL's error code for a lock that was not available within the timeout.
const lockNotAvailable = "55P03"

// BusyError reports that a write has waited longer than lockTimeout for the writes of other
// processes.
type BusyError struct {
	Database string
	Err      error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("database %s: another process has been writing for more than %s", e.Database, lockTimeout)
}

func (e *BusyError) Unwrap() error { return e.Err }

// Busy marks the error as temporary: the caller may try again.
func (e *BusyError) Busy() bool { return true }

// Hint returns advice for the user.
func (e *BusyError) Hint() string {
	return "look in pg_stat_activity which connection has been in a transaction for long"
}

// fail adds the name of the database to err. If err says that a query has found no row, fail
// returns [store.ErrNotFound]. If err is a lock timeout, it returns a [*BusyError]. A nil err stays
// nil.
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
