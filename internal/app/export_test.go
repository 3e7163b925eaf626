package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/pending"
)

// EngineOf returns the App's engine.
func EngineOf(a *App) *engine.Engine { return a.engine }

// MorningNote returns the notification with the morning report.
func MorningNote(ctx context.Context, a *App, since, until time.Time) (title, text string, ok bool, err error) {
	return a.dailyReport(ctx, since, until)
}

// AddPending adds a run to the list of runs whose documents must be written.
func AddPending(ctx context.Context, a *App, run string) error {
	return pending.List{Store: a.store, Now: a.opts.Now}.Add(ctx, run, a.opts.documentPaths(), "")
}

// LookAtSources looks once at each watched source whose interval is over.
func LookAtSources(ctx context.Context, a *App, o ServerOptions) {
	watched := a.opts.Config.Sources()
	for _, name := range slices.Sorted(maps.Keys(watched)) {
		a.Sources.lookIfDue(ctx, name, watched[name], a.Sources.watchRefusal(o))
	}
}

// StartedBy returns what started a run.
func StartedBy(ctx context.Context, a *App, run string) (by string, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		row, err := r.Run(run)
		by = row.StartedBy
		return err
	})
	return by, err
}
