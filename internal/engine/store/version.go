package store

import "fmt"

// NewerError reports that a newer version of gaffer has written the database.
type NewerError struct {
	Database string
	// Found is the schema version of the database. Known is the newest schema version that this
	// program knows.
	Found, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s has schema version %d, and this gaffer knows versions up to %d", e.Database, e.Found, e.Known)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *NewerError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NewerError) Hint() string {
	return "use the newer gaffer that has written it, or another database (--db, GAFFER_DB)"
}
