package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine/store"
	"gaffer/session"
)

// ForgottenError is a run that has documents in the project and is not in the
// database.
type ForgottenError struct{ Run, Documents, Database string }

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("run %s is not in the database %s, but its documents are in %s: the database was deleted or replaced since, or another program wrote them", e.Run, e.Database, e.Documents)
}

// NotFound marks the error as one about something that is not there.
func (e *ForgottenError) NotFound() bool { return true }

// Hint says what to do next.
func (e *ForgottenError) Hint() string {
	return "'gaffer restore FILE' brings a backup back, --db names another database; without either the run cannot go on"
}

// Forgotten returns a [*ForgottenError] if there are documents of the run that a
// person names by a prefix, or of any that has not ended if the name is empty, and
// the database does not know it. The latest counts.
func (a *App) Forgotten(ctx context.Context, name string) error {
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
				continue // 'gaffer validate' names it
			}
			if status, _ := session.Decode(doc.Value()); name == "" && status.Status != session.Running {
				continue
			}
			dir, err := a.session.Dir(id)
			if err != nil {
				return err
			}
			forgotten = &ForgottenError{id, a.shown(dir), a.database}
		}
		return nil
	})
	return errors.Join(err, forgotten)
}

// InTaskError is a gaffer in the background that would be started by a task of
// gaffer.
type InTaskError struct{ Attempt string }

func (e *InTaskError) Error() string {
	return "no gaffer can be started in the background inside a task: it would be ended with the task, as all that a task starts is"
}

// Conflict marks the error as one about the state of things.
func (e *InTaskError) Conflict() bool { return true }

// Hint says what to do next.
func (e *InTaskError) Hint() string {
	return "run it without --detach; 'gaffer run --server' lets a server's workers run a plan"
}

// CheckDetach returns an [*InTaskError] in a process that a task has started, also if
// its environment does not say so.
func CheckDetach(getenv func(string) string) error {
	if id := getenv(supervisor.Mark); id != "" {
		return &InTaskError{id}
	}
	for _, agent := range caller.Above(os.Getpid()) {
		if agent.Attempt != "" {
			return &InTaskError{agent.Attempt}
		}
	}
	return nil
}
