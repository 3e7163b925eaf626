package engine

import (
	"context"
	"time"
)

// sweepAtOnce is the maximum number of rows that one sweep handles of each kind.
const sweepAtOnce = 100

// Sweep applies everything that depends only on time. It gives up attempts whose worker
// has stopped sending heartbeats, asks workers to end attempts past their deadline,
// closes expired questions, opens paused lanes, and makes delayed tasks ready. An expired
// question gets its default answer, or is denied if it has none. Sweep reports whether
// there may be more to do.
//
// since is the start of the period in which workers could reach the coordinator without
// interruption. Before it, a worker may have tried to send a heartbeat in vain. No
// attempt is given up until its worker has had a whole lease since then. The zero time
// means long ago.
func (e *Engine) Sweep(ctx context.Context, since time.Time) (more bool, err error) {
	err = e.write(ctx, "sweep", func(tx *transaction) error {
		// Waiting for the database may have made since out of date.
		if err := ctx.Err(); err != nil {
			return err
		}
		more = false
		attempts := func() (int, error) { return tx.finishes.expireAttempts(since) }
		for _, sweep := range []func() (int, error){attempts, tx.questions.expireQuestions, tx.rateLimits.reopenAccounts, tx.schedule.startDelayed} {
			n, err := sweep()
			if err != nil {
				return err
			}
			more = more || n >= sweepAtOnce
		}
		return nil
	})
	return more, err
}
