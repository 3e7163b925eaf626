package runs

import (
	"context"
	"math"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// maxRunningAttempts is how many attempts RunningAttempts returns at most. No fleet has that many.
const maxRunningAttempts = 5000

// RunningAttempts implements [server.Runs]. Clients must poll it, because the store records no
// events about the progress of an attempt.
func (d *runReader) RunningAttempts(ctx context.Context) (list []coordinator.AttemptChange, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		list = nil
		running, err := r.DueAttempts(time.Unix(0, math.MaxInt64), maxRunningAttempts) // by this time, every running attempt is due
		for _, a := range running {
			if !d.runs.hide(store.Run{ID: a.Run}) {
				list = append(list, coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)})
			}
		}
		return err
	})
	return list, err
}
