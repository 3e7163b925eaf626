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

// Backend holds what a command needs to run a server: the handlers of HTTP requests, and the
// storage of access tokens. Every handler except Protocol may be nil. The server then answers the
// handler's requests with status 404.
type Backend struct {
	Protocol  server.Protocol    // handles requests of the coordinator protocol
	Runs      server.Runs        // handles requests about runs; if nil, they get status 404
	Changes   server.Changes     // handles requests about the files that tasks have changed; if nil, they get status 404
	Landing   server.Landing     // handles requests to merge tasks' changes; if nil, they get status 404
	Terminals server.Terminals   // handles requests to show agents' terminals; if nil, they get status 404
	NewRuns   server.NewRuns     // handles requests to start runs; if nil, they get status 404
	Schedules server.Schedules   // handles requests about schedules; if nil, they get status 404
	Work      server.Work        // handles requests of gaffer's own workers; if nil, they get status 404
	Viewer    server.Viewer      // handles requests of a workflow's viewer; if nil, they get status 404
	Tokens    credential.Storage // stores access tokens
	State     string             // path of gaffer's state folder on this machine
	// DeleteOldRuns starts a background job that deletes, once an hour, the runs that ended longer
	// ago than age. The job runs until stop is called. BackendOf does not set DeleteOldRuns.
	DeleteOldRuns func(age time.Duration) (stop func())
	Close         func() error // releases all resources; called once, after the last request
}

// BackendOf returns a backend with the handlers of the coordinator c. Access tokens are stored in
// the coordinator's store. The backend's Close closes c.
func BackendOf(c *app.Coordinator) Backend {
	b := Backend{
		Protocol: c.Protocol, Runs: c.Runs, Changes: c.Changes, Landing: c.Landing, NewRuns: c.NewRuns, Schedules: c.Schedules, Terminals: c.Terminals, Viewer: c.Viewer, Tokens: c.Protocol.Tokens(), State: c.State,
		Close: func() error { c.Close(); return nil },
	}
	if c.Workers != nil {
		b.Work = c.Workers
	}
	return b
}

// Options returns the options of a server that listens on l and serves this backend. hosts are
// additional host names that clients may use for the server. The caller may then set further
// options, such as time limits.
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
		Protocol: b.Protocol, Runs: b.Runs, Changes: b.Changes, Landing: b.Landing, NewRuns: b.NewRuns, Schedules: b.Schedules, Terminals: b.Terminals, Work: b.Work, Viewer: b.Viewer, Page: shown, Tokens: credential.NewTokenStore(b.Tokens, e.Now, rand.Reader),
		Log: log, Now: e.Now, Random: rand.Reader, Version: e.Version, Hosts: names,
	}, nil
}
