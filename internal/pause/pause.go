// Package pause provides a sleep that a context can end early.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until ctx ends. It reports whether d has passed.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
