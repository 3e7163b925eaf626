package engine

import (
	"context"
	"time"
)

// sweepAtOnce is the maximum number of rows of each kind that one sweep handles.
const sweepAtOnce = 100

// Sweep makes all changes that depend only on time. It ends attempts whose worker has
// stopped sending heartbeats, asks workers to end attempts past their deadline, closes
// expired questions, ends the pauses of accounts, and makes delayed tasks ready. An
// expired question gets its default answer, or is denied if it has none. Sweep reports
// whether there may be more to do.
//
// since is the time since when workers could reach this process without interruption.
// Heartbeats before it may have been lost. So no attempt is ended for missing heartbeats
// until a whole lease has passed since then. The zero time means long ago.
func (e *Engine) Sweep(ctx context.Context, since time.Time) (more bool, err error) {
	err = e.write(ctx, "sweep", func(tx *transaction) error {
		// If the wait for the database was too long, since is out of date.
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
