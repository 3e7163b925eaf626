package app

import (
	"context"
	"errors"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/recorder"
)

// recorder returns the writer of a run's documents.
func (a *App) recorder(run store.Run) *recorder.Recorder {
	return recorder.New(recorder.Options{
		Store: a.store, Run: run.ID, Session: a.session, Ledger: a.ledger, Project: run.Project, Notice: a.opts.Notice, Quiet: a.pays,
		Cancel: func(ctx context.Context, task, why string) error {
			err := a.Fleet.Cancel(ctx, run.ID, task, why)
			if ended := (*engine.ConflictError)(nil); errors.As(err, &ended) {
				return nil
			}
			return err
		},
	})
}
