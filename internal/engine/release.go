package engine

import (
	"context"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Release ends attempts that a worker hands back because it is stopping. Their tasks
// are queued again at once, without using up a retry. No process of these attempts may
// still be running. Attempts that do not belong to the worker (any more) are skipped,
// so Release may be repeated.
func (e *Engine) Release(ctx context.Context, worker string, held []Held) error {
	return e.write(ctx, worker, BeatNeed(store.Worker{ID: worker}, held), func(c *change) error {
		return c.release(worker, held)
	})
}

func (c *change) release(worker string, held []Held) error {
	for _, h := range held {
		a, err := c.owned(h.Attempt, h.Token)
		if isGone(err) || err == nil && a.Worker != worker {
			continue
		}
		if err != nil {
			return err
		}
		report(&a, h.Now)
		a.Exit, a.Summary = -1, "the worker has handed it back"
		if _, err := c.end(a, failure.Released, false); err != nil {
			return err
		}
	}
	return nil
}
