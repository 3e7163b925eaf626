package engine

import (
	"context"
	"time"
)

// sweepAtOnce is the maximum number of rows of each kind that one sweep handles.
const sweepAtOnce = 100

// Sweep makes all changes that become due by the passing of time. It ends attempts whose worker has
// stopped sending heartbeats, asks workers to end attempts past their deadline, closes expired
// questions, ends pauses of accounts when their time is over, and makes delayed tasks ready. It
// also ends the pause because of the user's limit for a day or a month, if the user has raised that
// limit. An expired question gets its default answer, or is denied if it has none. Sweep handles a
// limited number of rows. If unfinished is true, there may be more, and the caller should call
// Sweep again at once.
//
// reachableSince is the time since which workers have been able to reach this process without
// interruption. Earlier heartbeats may have been lost. So Sweep ends no attempt for missing
// heartbeats until a whole lease has passed after that time. The zero time means that workers could
// always reach this process.
func (e *Engine) Sweep(ctx context.Context, reachableSince time.Time) (unfinished bool, err error) {
	err = e.write(ctx, "sweep", func(tx *transaction) error {
		// If the write had to wait until ctx has ended, reachableSince is out of date, so change
		// nothing.
		if err := ctx.Err(); err != nil {
			return err
		}
		unfinished = false
		attempts := func() (int, error) { return tx.finishes.expireAttempts(reachableSince) }
		for _, sweep := range []func() (int, error){attempts, tx.questions.expireQuestions, tx.rateLimits.reopenAccounts, tx.budgets.checkLanes, tx.states.startDelayed} {
			n, err := sweep()
			if err != nil {
				return err
			}
			unfinished = unfinished || n >= sweepAtOnce
		}
		return nil
	})
	return unfinished, err
}
