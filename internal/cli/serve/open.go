package serve

import (
	"context"
	"errors"
	"time"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/open"
	"gaffer/internal/server"
	"gaffer/internal/token"
)

// Backend is what the command puts behind HTTP.
type Backend struct {
	Desk   server.Desk   // what requests mean
	Runs   server.Runs   // and those about runs; nil for none
	Work   server.Work   // what those of gaffer's own workers mean
	Viewer server.Viewer // what those of a workflow's viewer mean; nil for none
	Tokens token.Rows    // where tokens are kept, beside what the desk keeps
	State  string        // the folder of this machine's own files
	// Retain takes away what ended longer ago, every hour, until stop is called.
	Retain func(older time.Duration) (stop func())
	Close  func() error // gives everything back; called once, after the last request
}

// Opener opens the database that the settings name.
type Opener func(ctx context.Context, terms app.Terms) (Backend, error)

// Open returns what opens the desk and the tokens of the command's database.
func Open(e *env.Env) Opener {
	return func(ctx context.Context, terms app.Terms) (Backend, error) {
		a, err := open.App(ctx, e, func(text string) { e.Talk("gaffer: %s", env.Printable(text)) })
		if err != nil {
			return Backend{}, err
		}
		c, err := a.Coordinate(terms)
		if err != nil {
			return Backend{}, errors.Join(err, a.Close())
		}
		retain := func(older time.Duration) func() { return a.Retain(app.Retention{Older: older}) }
		return Backend{Desk: c.Desk, Runs: c.Runs, Work: c.Work, Viewer: c.Viewer, Tokens: c.Desk.Tokens(), State: c.State, Retain: retain, Close: func() error {
			c.Close()
			return a.Close()
		}}, nil
	}
}
