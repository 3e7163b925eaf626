package engine

import (
	"context"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Release ends attempts that a worker hands back, because it stops: their tasks
// are queued again at once, and no retry is used up. Nothing of them must run any
// more. Those that are not the worker's, or not any more, are passed over, so that
// it may be said twice.
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
		h.Now.apply(&a)
		a.Exit, a.Summary = -1, "the worker has handed it back"
		if _, err := c.end(a, failure.Released, false); err != nil {
			return err
		}
	}
	return nil
}
