package page

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/ui/dashboard"
)

// Backend is what a command puts behind HTTP.
type Backend struct {
	Desk   server.Protocol // what requests mean
	Runs   server.Runs     // and those about runs; nil for none
	Work   server.Work     // what those of gaffer's own workers mean; nil for none
	Viewer server.Viewer   // what those of a workflow's viewer mean; nil for none
	Tokens credential.Rows // where tokens are kept
	State  string          // the folder of this machine's own files
	// Retain takes away what ended longer ago, every hour, until stop is called.
	Retain func(older time.Duration) (stop func())
	Close  func() error // gives everything back; called once, after the last request
}

// Of is the backend of a coordinator, which it closes. Tokens are where the
// coordinator keeps them.
func Of(c *app.Coordinator) Backend {
	b := Backend{
		Desk: c.Desk, Runs: c.Runs, Viewer: c.Viewer, Tokens: c.Desk.Tokens(), State: c.State,
		Close: func() error { c.Close(); return nil },
	}
	if c.Work != nil {
		b.Work = c.Work
	}
	return b
}

// Options are those of a server for the backend that listens at l. The caller adds
// what differs from command to command.
func (b Backend) Options(e *env.Env, l net.Listener, hosts []string, log *slog.Logger) (server.Options, error) {
	names, err := server.HostsOf(l.Addr(), hosts)
	if err != nil {
		return server.Options{}, err
	}
	shown, err := dashboard.New()
	if err != nil {
		return server.Options{}, fmt.Errorf("dashboard: %w", err)
	}
	return server.Options{
		Protocol: b.Desk, Runs: b.Runs, Work: b.Work, Viewer: b.Viewer, Page: shown, Tokens: credential.NewBook(b.Tokens, e.Now, rand.Reader),
		Log: log, Now: e.Now, Random: rand.Reader, Version: e.Version, Hosts: names,
	}, nil
}
