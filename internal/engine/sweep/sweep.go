// Package sweep lets time pass in the engine: it calls [engine.Engine.Sweep]
// periodically, which expires leases and deadlines.
package sweep

import (
	"context"
	"fmt"
	"time"

	"gaffer/internal/engine"
)

// Every is the interval between sweeps.
const Every = time.Second

// Local sweeps the runs that only this machine can do, until ctx ends. Their leases
// never expire.
func Local(ctx context.Context, e *engine.Engine, notice func(text string)) {
	Loop(ctx, func(ctx context.Context) (bool, error) { return e.Sweep(ctx, time.Time{}) }, notice)
}

// Loop calls sweep every [Every] until ctx ends. It reports the first
// failure and the first success after it.
func Loop(ctx context.Context, sweep func(context.Context) (more bool, err error), notice func(string)) {
	tick := time.NewTicker(Every)
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
