package runs

import (
	"context"
	"math"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// maxDoing is the maximum number of attempts that are returned. No fleet has so many.
const maxDoing = 5000

// Doing implements [server.Runs]. What an attempt does is not an event, so a client has
// to poll it.
func (d *runReader) Doing(ctx context.Context) (list []coordinator.AttemptChange, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		list = nil
		running, err := r.Due(time.Unix(0, math.MaxInt64), maxDoing) // due at any time: all running attempts
		for _, a := range running {
			if !d.runs.hide(store.Run{ID: a.Run}) {
				list = append(list, coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)})
			}
		}
		return err
	})
	return list, err
}
