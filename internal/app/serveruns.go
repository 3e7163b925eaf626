package app

import (
	"crypto/rand"

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
		Weave: weave,
	})
}
