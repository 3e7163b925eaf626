package runs

import (
	"context"
	"math"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// maxRunningAttempts is the maximum number of attempts that are returned. It is more than any
// fleet has.
const maxRunningAttempts = 5000

// RunningAttempts implements [server.Runs]. The progress of an attempt is not an event, so
// clients must poll it.
func (d *runReader) RunningAttempts(ctx context.Context) (list []coordinator.AttemptChange, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		list = nil
		running, err := r.DueAttempts(time.Unix(0, math.MaxInt64), maxRunningAttempts) // with this time, all running attempts are due
		for _, a := range running {
			if !d.runs.hide(store.Run{ID: a.Run}) {
				list = append(list, coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)})
			}
		}
		return err
	})
	return list, err
}
