package app

import (
	"gaffer/internal/recorder"
	"gaffer/internal/store"
)

// recorder writes the documents of a run.
func (a *App) recorder(run store.Run) *recorder.Recorder {
	return recorder.New(recorder.Options{
		Store: a.store, Run: run.ID, Session: a.session, Ledger: a.ledger, Project: run.Project, Notice: a.opts.Notice,
	})
}
