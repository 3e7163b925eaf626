package app

import (
	"crypto/rand"
	"path/filepath"

	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
)

// runDesk returns the service that answers requests about runs.
func (a *App) runDesk(e *engine.Engine) *runs.Service {
	return runs.New(runs.Options{
		Store: a.store, Engine: e, Now: a.clock(), Random: rand.Reader,
		Logs:          runs.Logs{Span: logstore.Span, Read: logstore.Read, Done: logstore.Done},
		Hide:          func(run store.Run) bool { return protocol.Owns(run.ID) },
		AddMergeTasks: workspace.AddMergeTasks, File: a.logFile, Annotate: a.annotate, EnsureProcess: a.Background.Attend,
	})
}

// logFile returns the log file of an attempt on this machine. It accepts only attempts
// of a run's own worker, a path with the expected names, and runs that were worked on
// here. It does not trust the attempt's row further, since other programs can write it.
func (a *App) logFile(run store.Run, at store.Attempt) (string, bool) {
	switch {
	case at.Worker != run.Place || !filepath.IsAbs(at.Log) || filepath.Clean(at.Log) != at.Log:
		return "", false
	case filepath.Base(at.Log) != at.Task+".log" || filepath.Base(filepath.Dir(at.Log)) != run.ID:
		return "", false
	}
	return at.Log, a.locks.WorkedOn(run)
}
