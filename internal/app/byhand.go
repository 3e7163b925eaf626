package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/byhand/discover"
	"gaffer/internal/byhand/register"
	"gaffer/internal/config"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/connect/workerclient"
	"gaffer/statefile/host"
)

// newFinder returns a finder of agents that users started by hand on this machine, without gaffer.
func newFinder(state string, getenv func(string) string, now func() time.Time) *discover.Finder {
	return discover.NewFinder(state, getenv("HOME"), now)
}

// workers lists the workers in this App's database and the agents that users started by hand on
// this machine.
func (a *App) workers(ctx context.Context) ([]fleet.Worker, error) {
	agents, err := protocol.New(a.store, a.engine, a.clock()).Agents(ctx)
	list := make([]fleet.Worker, len(agents))
	for i, agent := range agents {
		list[i] = serverfleet.WorkerOf(agent)
	}
	return fleet.MergeWorkers(list, workersByHand(ctx, a.state, a.opts)), err
}

// WorkersByHand returns the agents that users started by hand on this machine, with their current
// state. It does not open the database.
func WorkersByHand(ctx context.Context, opts Options) ([]fleet.Worker, error) {
	state, err := stateFolder(opts.Getenv)
	if err != nil {
		return nil, err
	}
	return workersByHand(ctx, state, opts), nil
}

func workersByHand(ctx context.Context, state string, opts Options) (list []fleet.Worker) {
	seen, err := newFinder(state, opts.Getenv, opts.Now).Find(ctx)
	if err != nil {
		return nil // Find returns an error only when ctx ends
	}
	machine, _ := os.Hostname() // only for display, so ignore an error
	for _, s := range seen {
		list = append(list, register.Worker(s, machine, opts.Now()))
	}
	return list
}

// registerByHand registers the agents that users start by hand on this machine as workers in a
// database or at a server, until ctx ends. The parameter fleet identifies the database or the
// server. registerByHand does nothing if the setting hooks.share is false. It first waits for a
// lock, so that only one process of this machine at a time registers agents there.
func registerByHand(ctx context.Context, o register.Options, c *config.Config, state, fleet string) {
	if c.Choice("hooks.share") == "false" {
		return
	}
	name := fmt.Sprintf("teller-%x", sha256.Sum256([]byte(fleet)))[:23]
	if err := os.MkdirAll(filepath.Join(state, "interactive"), 0o700); err != nil {
		o.Notice(fmt.Sprintf("cannot report agents that users started: %v", err))
		return
	}
	lock, err := host.OS().Lock(ctx, "presence", filepath.Join(state, "interactive", name))
	if err != nil {
		if ctx.Err() == nil {
			o.Notice(fmt.Sprintf("cannot report agents that users started: %v", err))
		}
		return
	}
	defer func() { _ = lock.Unlock() }() // ignore the error: the kernel releases the lock when the process ends
	register.Run(ctx, o)
}

// registration returns the options with which [register.Run] writes the agents that users start by
// hand to this App's database.
func (a *App) registration(d *protocol.Service) register.Options {
	machine, _ := os.Hostname() // only for display, so ignore an error
	by := credential.Identity{ID: "by-hand", Name: "by hand", Role: credential.Admin}
	return register.Options{
		Find: newFinder(a.state, a.opts.Getenv, a.opts.Now).Find, Host: machine, Now: a.opts.Now, Notice: a.opts.Notice,
		Beat: func(ctx context.Context, h coordinator.Heartbeat) error {
			_, err := d.Heartbeat(ctx, by, h)
			return err
		},
	}
}

// registerByHand registers the agents that users start by hand on this machine at the server of
// this worker.
func (s *ServerWorker) registerByHand(ctx context.Context) {
	client, err := s.connect(register.BeatTimeout)
	if err != nil {
		return // ignore the error: the worker's own requests report the same error
	}
	machine, _ := os.Hostname() // only for display, so ignore an error
	registerByHand(ctx, register.Options{
		Find: newFinder(s.state, s.opts.Getenv, s.opts.Now).Find, Host: machine, Now: s.opts.Now,
		Notice: func(text string) { s.report(workerclient.Event{Kind: "notice", Text: text}) },
		Beat: func(ctx context.Context, h coordinator.Heartbeat) error {
			_, err := client.Agents.Heartbeat(ctx, h)
			return err
		},
	}, s.opts.Config, s.state, "server "+s.opts.Config.Server())
}
