package app

import (
	"context"

	"gaffer/internal/record/pending"
)

// AddPending records that the documents of a run must be written.
func AddPending(ctx context.Context, a *App, run string) error {
	return pending.List{Store: a.store, Now: a.opts.Now}.Add(ctx, run, a.opts.documentPaths(), "")
}
