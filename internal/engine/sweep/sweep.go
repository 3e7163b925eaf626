// Package sweep calls [engine.Engine.Sweep] periodically, which ends attempts past their
// lease or deadline and makes the other changes that depend only on time.
package sweep

import (
	"context"
	"fmt"
	"time"

	"gaffer/internal/engine"
)

// Every is the interval between sweeps.
const Every = time.Second

// Local sweeps the store of this machine every second until ctx ends. The leases of local
// runs never expire. notice gets messages for the user.
func Local(ctx context.Context, e *engine.Engine, notice func(text string)) {
	Loop(ctx, func(ctx context.Context) (bool, error) { return e.Sweep(ctx, time.Time{}) }, notice)
}

// Loop calls sweep every second until ctx ends, and at once again if there is more to do.
// It passes the first failure, and the first success after it, to notice as a message.
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
