// Package sweep calls [engine.Engine.Sweep] every second. A sweep makes the changes that become due
// by the passing of time, such as the end of an attempt whose lease has expired.
package sweep

import (
	"context"
	"fmt"
	"time"

	"gaffer/internal/engine"
)

// Every is the interval between sweeps.
const Every = time.Second

// Local calls [engine.Engine.Sweep] every second until ctx ends. It is for runs that work without a
// gaffer server: their leases never expire. The function notice shows a message to the user.
func Local(ctx context.Context, e *engine.Engine, notice func(text string)) {
	Loop(ctx, func(ctx context.Context) (bool, error) { return e.Sweep(ctx, time.Time{}) }, notice)
}

// Loop calls the function sweep every second until ctx ends. If sweep returns true for more, Loop
// calls it again at once. When sweep begins to fail, and when it works again, Loop passes a message
// for the user to the function notice.
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
