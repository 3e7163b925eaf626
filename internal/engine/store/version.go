package store

import "fmt"

// NewerError is a database that a newer gaffer has written.
type NewerError struct {
	Database     string
	Found, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s has schema version %d, and this gaffer knows versions up to %d", e.Database, e.Found, e.Known)
}

// Conflict marks the error as one about what somebody else did.
func (e *NewerError) Conflict() bool { return true }

// Hint says what to do.
func (e *NewerError) Hint() string {
	return "use the newer gaffer that has written it, or another database (--db, GAFFER_DB)"
}
