package runs

import (
	"context"
	"math"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// mostDoing is the maximum number of attempts that are returned. No fleet has so many.
const mostDoing = 5000

// Doing implements [server.Runs]. What an attempt does is not an event, so a client has
// to poll it.
func (d *Service) Doing(ctx context.Context) (list []coordinator.AttemptChange, err error) {
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		list = nil
		running, err := r.Due(time.Unix(0, math.MaxInt64), mostDoing) // due at any time: all running attempts
		for _, a := range running {
			if !d.opts.Hide(store.Run{ID: a.Run}) {
				list = append(list, coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)})
			}
		}
		return err
	})
	return list, err
}
