package app

import (
	"context"

	"gaffer/internal/engine"
	"gaffer/internal/record/pending"
)

// EngineOf returns the App's engine.
func EngineOf(a *App) *engine.Engine { return a.engine }

// AddPending adds a run to the list of runs whose documents must be written.
func AddPending(ctx context.Context, a *App, run string) error {
	return pending.List{Store: a.store, Now: a.opts.Now}.Add(ctx, run, a.opts.documentPaths(), "")
}
