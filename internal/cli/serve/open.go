package serve

import (
	"context"
	"errors"
	"time"

	"gaffer/internal/app"
	"gaffer/internal/app/retention"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/page"
	"gaffer/internal/text/display"
)

// Opener opens a database and returns a backend: the request handlers and the token storage with
// which a server gives access to that database.
type Opener func(ctx context.Context, terms app.ServerOptions) (page.Backend, error)

// Open returns an Opener for the database that the command's settings name.
func Open(e *env.Env) Opener {
	return func(ctx context.Context, terms app.ServerOptions) (page.Backend, error) {
		a, err := openfleet.OpenApp(ctx, e, func(text string) { e.Talk("gaffer: %s", display.Printable(text)) })
		if err != nil {
			return page.Backend{}, err
		}
		c, err := a.Serve(terms)
		if err != nil {
			return page.Backend{}, errors.Join(err, a.Close())
		}
		b := page.BackendOf(c)
		b.DeleteOldRuns = func(older time.Duration) func() { return a.Pruner.Run(retention.Policy{OlderThan: older}) }
		b.Close = func() error {
			c.Close()
			return a.Close()
		}
		return b, nil
	}
}
