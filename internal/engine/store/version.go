package store

import "fmt"

// NewerError reports that a newer version of gaffer has written the database.
type NewerError struct {
	Database     string
	Found, Known int // version of the database's schema, and the newest version that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s has schema version %d, and this gaffer knows versions up to %d", e.Database, e.Found, e.Known)
}

// Conflict marks the error as a conflict: the user must use another program version or database.
func (e *NewerError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NewerError) Hint() string {
	return "use the newer gaffer that has written it, or another database (--db, GAFFER_DB)"
}
