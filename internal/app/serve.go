package app

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"gaffer/internal/desk"
	"gaffer/internal/engine"
)

// Coordinator is the engine for workers that are not this process's: their
// attempts are given up when nobody has heard of them for a while.
type Coordinator struct {
	Desk  *desk.Desk
	State string // the folder of this machine's own files

	stop context.CancelFunc
	all  sync.WaitGroup
}

// served is how many rows are remembered for many workers at once.
const served = 16384

// Coordinate begins to look after what workers hold, until Close.
func (a *App) Coordinate() *Coordinator {
	if s, ok := a.store.(interface{ Remember(rows int) }); ok {
		s.Remember(served)
	}
	e := engine.New(a.store, engine.Options{Now: a.opts.Now, NewID: newID, Rand: mathrand.Float64, Who: userName(a.opts.Getenv)})
	ctx, stop := context.WithCancel(context.Background())
	c := &Coordinator{Desk: desk.New(a.store, e, a.opts.Now), State: a.state, stop: stop}
	c.all.Go(func() { sweep(ctx, e, a.opts.Notice) })
	return c
}

// Close ends what Coordinate has begun. The store stays open.
func (c *Coordinator) Close() {
	c.stop()
	c.all.Wait()
}

// sweep lets time do its work, until ctx ends.
func sweep(ctx context.Context, e *engine.Engine, notice func(string)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		more, err := e.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			notice(fmt.Sprintf("sweep: %v; trying again", err))
		}
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
