package app

import (
	"context"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/viewers"
	"gaffer/internal/api/workers"
	"gaffer/internal/engine"
	"gaffer/internal/engine/sweep"
	"gaffer/internal/record/notify"
)

// Coordinator serves the engine to workers in other processes. It gives up an attempt
// when its worker has sent no heartbeat for the time of a lease.
type Coordinator struct {
	Desk   *protocol.Service
	Runs   *runs.Service
	Work   *workers.Service // nil if Show created it
	Viewer *viewers.Viewer
	State  string // the state folder of this machine

	stop   context.CancelFunc
	all    sync.WaitGroup
	teller *notify.Notifier // nil if no notifications are sent
}

// Terms are the settings of a server. Zero values mean the defaults.
type Terms struct {
	Lease   time.Duration // how long an attempt lives without a heartbeat of its worker
	KeepLog int64         // how many bytes of each attempt's log are kept
	Tell    bool          // send notifications, according to the settings
}

// Coordinate starts serving workers and supervising their attempts. Close ends it.
func (a *App) Coordinate(terms Terms) (*Coordinator, error) {
	if s, ok := a.store.(interface{ TuneForServer() }); ok {
		s.TuneForServer()
	}
	c, e, err := a.desks(terms)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.Work = workers.New(workers.Options{Store: a.store, Engine: e, Lease: terms.Lease, Keep: terms.KeepLog, Notice: a.opts.Notice})
	c.all.Go(func() { c.Work.Run(ctx) })
	s := &sweep.Server{Engine: e, Store: a.store, Now: a.clock(), OfflineAfter: coordinator.OfflineAfter}
	c.all.Go(func() { sweep.Loop(ctx, s.Sweep, a.opts.Notice) })
	c.all.Go(func() { tellByHand(ctx, a.presence(c.Desk), a.opts.Config, a.state, a.database) })
	c.all.Go(func() { a.Pending.Retry(ctx) })
	if terms.Tell {
		c.teller = a.Notifications.Start("", 0)
	}
	return c, nil
}

// Show returns the services with which users watch and control runs, for a process that
// works on a run itself. Close ends them. They give up no attempts and have no work for
// workers of other machines.
func (a *App) Show() (*Coordinator, error) {
	c, _, err := a.desks(Terms{})
	if err != nil {
		return nil, err
	}
	a.served.Store(true)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = func() { stop(); a.served.Store(false) }
	c.all.Go(func() { tellByHand(ctx, a.presence(c.Desk), a.opts.Config, a.state, a.database) })
	return c, nil
}

// desks creates the services that answer users and their programs.
func (a *App) desks(terms Terms) (*Coordinator, *engine.Engine, error) {
	now := a.clock()
	e := engine.New(a.store, engine.Options{
		Now: now, NewID: newID, Rand: mathrand.Float64, Lease: terms.Lease, Who: a.opts.who(),
	})
	v, err := a.viewer(e)
	if err != nil {
		return nil, nil, err
	}
	return &Coordinator{Desk: protocol.New(a.store, e, now), Runs: a.runDesk(e), Viewer: v, State: a.state}, e, nil
}

// clock returns the database's clock, if it has one, because several servers may share
// a database.
func (a *App) clock() func() time.Time {
	if s, ok := a.store.(interface{ Now() time.Time }); ok {
		return s.Now
	}
	return a.opts.Now
}

// Close stops everything that Coordinate or Show started. The store stays open.
func (c *Coordinator) Close() {
	c.stop()
	if c.teller != nil {
		c.teller.Stop()
	}
	c.Viewer.Close()
	c.all.Wait()
}
