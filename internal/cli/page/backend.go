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

// Backend holds the handlers and stores that a command serves over HTTP.
type Backend struct {
	Protocol  server.Protocol    // handles the requests of the coordinator protocol
	Runs      server.Runs        // handles requests about runs; nil if there are none
	Changes   server.Changes     // handles requests about changes; nil if there are none
	Landing   server.Landing     // handles requests that merge changes; nil if there are none
	Terminals server.Terminals   // shows the terminals of agents; nil if there are none
	NewRuns   server.NewRuns     // handles requests that start runs; nil if there are none
	Schedules server.Schedules   // handles requests about schedules; nil if there are none
	Work      server.Work        // handles requests of gaffer's own workers; nil if there are none
	Viewer    server.Viewer      // handles requests of a workflow's viewer; nil if there are none
	Tokens    credential.Storage // stores access tokens
	State     string             // path of gaffer's state folder on this machine
	// DeleteOldRuns starts to delete, once an hour, the runs that ended longer ago than age. It
	// continues until stop is called. It is nil in the result of [BackendOf].
	DeleteOldRuns func(age time.Duration) (stop func())
	Close         func() error // releases all resources; called once, after the last request
}

// BackendOf returns the backend of a coordinator. The backend's Close closes the coordinator, and
// its access tokens are in the coordinator's store.
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
// further names by which clients may address the server. The caller adds the options that differ
// between commands.
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
