package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/session"
)

// RunNotInDatabaseError reports a run that has documents in the project but is not in the database.
type RunNotInDatabaseError struct{ Run, Documents, Database string }

func (e *RunNotInDatabaseError) Error() string {
	return fmt.Sprintf("run %s is not in the database %s, but its documents are in %s: the database was deleted or replaced since, or another program wrote them", e.Run, e.Database, e.Documents)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *RunNotInDatabaseError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *RunNotInDatabaseError) Hint() string {
	return "'gaffer restore FILE' brings a backup back, --db names another database; without either the run cannot go on"
}

// FindRunNotInDatabase returns a [*RunNotInDatabaseError] if the project has documents of a run
// that is not in the database, and nil if there is no such run. name is a prefix of the run's id.
// If name is empty, FindRunNotInDatabase considers only runs that have not ended according to their
// documents. If several runs match, the error names the last one.
func (a *App) FindRunNotInDatabase(ctx context.Context, name string) error {
	ids, err := a.session.IDs()
	if err != nil {
		return err
	}
	forgotten := error(nil)
	err = a.store.Read(ctx, func(r store.Reader) error {
		forgotten = nil
		for _, id := range ids {
			if !strings.HasPrefix(id, name) {
				continue
			}
			if _, err := r.Run(id); !errors.Is(err, store.ErrNotFound) {
				if err != nil {
					return err
				}
				continue
			}
			doc, err := a.session.Document(id)
			if err != nil {
				continue // skip documents that cannot be read; 'gaffer validate' reports them
			}
			if status, _ := session.Decode(doc.Value()); name == "" && status.Status != session.Running {
				continue
			}
			dir, err := a.session.Dir(id)
			if err != nil {
				return err
			}
			forgotten = &RunNotInDatabaseError{id, a.opts.documentPath(dir), a.database}
		}
		return nil
	})
	return errors.Join(err, forgotten)
}
