package app

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"gaffer/internal/desk"
	"gaffer/internal/engine"
	"gaffer/internal/logstore"
	"gaffer/internal/rundesk"
	"gaffer/internal/store"
)

// runDesk answers what people ask a coordinator about runs.
func (a *App) runDesk(e *engine.Engine) *rundesk.Desk {
	return rundesk.New(rundesk.Options{
		Store: a.store, Engine: e, Now: a.clock(), Random: rand.Reader,
		Logs:  rundesk.Logs{Span: logstore.Span, Read: logstore.Read, Done: logstore.Done},
		Hide:  func(run store.Run) bool { return desk.Owns(run.ID) },
		Weave: weave, File: a.logFile, Adorn: a.adorn,
	})
}

// logFile returns the file that an attempt has written on this machine: of a run
// that only its own worker does, here, and by the name that such a file has. What
// an attempt's row says is not believed any further: others may have written it.
func (a *App) logFile(run store.Run, at store.Attempt) (string, bool) {
	switch {
	case run.Place != run.ID || at.Worker != run.Place || !filepath.IsAbs(at.Log) || filepath.Clean(at.Log) != at.Log:
		return "", false
	case filepath.Base(at.Log) != at.Task+".log" || filepath.Base(filepath.Dir(at.Log)) != run.ID:
		return "", false
	}
	_, err := os.Stat(a.ownerFile(run.ID) + ".lock") // it stays when the run has ended
	return at.Log, err == nil
}
