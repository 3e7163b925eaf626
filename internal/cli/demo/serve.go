package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/page"
)

// lease is how long a worker keeps a task without a heartbeat. It is short, so that the tasks of a
// dead worker are soon given to another worker.
const lease = 20 * time.Second

// serve starts the coordinator and the dashboard of the demo on the listener l. They run until the
// returned page is closed. If serve returns an error, it has closed l.
func serve(ctx context.Context, e *env.Env, l net.Listener, notice func(text string)) (_ *page.Page, err error) {
	a, err := openfleet.OpenApp(ctx, e, notice)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c, err := a.Serve(app.ServerOptions{Lease: lease})
	if err != nil {
		return nil, errors.Join(err, l.Close(), a.Close())
	}
	b := page.BackendOf(c)
	b.Close = func() error { c.Close(); return a.Close() }
	// Create the first access token in a file in the state folder, where workers and commands on
	// this machine find it.
	tokens, err := credential.LockTokenFile(filepath.Join(b.State, "token"))
	if err == nil {
		// Release the lock on return: no other server uses the demo's state folder.
		defer tokens.Release()
		_, err = tokens.CreateFirst(ctx, credential.NewTokenStore(b.Tokens, e.Now, rand.Reader))
	}
	if err == nil {
		var p *page.Page
		if p, err = page.Serve(ctx, e, b, l, "", notice); err == nil {
			return p, nil
		}
	}
	return nil, errors.Join(err, l.Close(), b.Close())
}
