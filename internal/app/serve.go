package app

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/viewers"
	"gaffer/internal/api/workers"
	"gaffer/internal/engine"
	"gaffer/internal/record/notify"
)

// Coordinator is the engine for workers that are not this process's: their
// attempts are given up when nobody has heard of them for a while.
type Coordinator struct {
	Desk   *protocol.Service
	Runs   *runs.Service
	Work   *workers.Service // nil for one that only shows
	Viewer *viewers.Viewer
	State  string // the folder of this machine's own files

	stop   context.CancelFunc
	all    sync.WaitGroup
	teller *notify.Notifier // nil if nobody is told
}

// served is how many rows are remembered for many workers at once.
const served = 16384

// Terms are what a coordinator and its workers work by. Zero values are the
// defaults.
type Terms struct {
	Lease   time.Duration // how long an attempt lives without a word of its worker
	KeepLog int64         // bytes of each attempt's log that are kept
	Tell    bool          // a person is told what happens, as the settings say
}

// Coordinate begins to look after what workers hold, until Close.
func (a *App) Coordinate(terms Terms) (*Coordinator, error) {
	if s, ok := a.store.(interface{ Remember(rows int) }); ok {
		s.Remember(served)
	}
	c, e, err := a.desks(terms)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.Work = workers.New(workers.Options{Store: a.store, Engine: e, Lease: terms.Lease, Keep: terms.KeepLog, Notice: a.opts.Notice})
	c.all.Go(func() { c.Work.Run(ctx) })
	r := &round{engine: e, store: a.store, now: a.clock()}
	c.all.Go(func() { keepSweeping(ctx, r.sweep, a.opts.Notice) })
	c.all.Go(func() { tellByHand(ctx, a.presence(c.Desk), a.opts.Config, a.state, a.database) })
	c.all.Go(func() { a.keepPaying(ctx) })
	if terms.Tell {
		c.teller = a.teller("", 0)
	}
	return c, nil
}

// Show lets people look at what runs here and step in, until Close, beside what
// this process does: nothing is given up, and there is no work for workers of
// other machines.
func (a *App) Show() (*Coordinator, error) {
	c, _, err := a.desks(Terms{})
	if err != nil {
		return nil, err
	}
	a.shows.Store(true)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = func() { stop(); a.shows.Store(false) }
	c.all.Go(func() { tellByHand(ctx, a.presence(c.Desk), a.opts.Config, a.state, a.database) })
	return c, nil
}

// services are what answers people and their programs.
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

// clock is the database's, if it has one: several coordinators may share that.
func (a *App) clock() func() time.Time {
	if s, ok := a.store.(interface{ Now() time.Time }); ok {
		return s.Now
	}
	return a.opts.Now
}

// Close ends what Coordinate has begun. The store stays open.
func (c *Coordinator) Close() {
	c.stop()
	if c.teller != nil {
		c.teller.Stop()
	}
	c.Viewer.Close()
	c.all.Wait()
}

// sweep lets time do its work on what only this machine can run, until ctx ends.
func sweep(ctx context.Context, e *engine.Engine, notice func(string)) {
	keepSweeping(ctx, func(ctx context.Context) (bool, error) { return e.Sweep(ctx, time.Time{}) }, notice)
}

// keepSweeping sweeps until ctx ends. It says once that it cannot, and once that
// it can again.
func keepSweeping(ctx context.Context, sweep func(context.Context) (more bool, err error), notice func(string)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for failing := false; ; {
		more, err := sweep(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			notice(fmt.Sprintf("sweep: %v; trying again", err))
		case err == nil && failing:
			notice("sweep: done again")
		}
		failing = err != nil
		if more && err == nil {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
