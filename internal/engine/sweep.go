package engine

import (
	"context"
	"time"
)

// sweepAtOnce is the maximum number of attempts that one call of [Engine.Sweep] handles. The same
// maximum applies to questions and to delayed tasks.
const sweepAtOnce = 100

// Sweep makes all changes that become due by the passing of time:
//
//   - It ends attempts whose worker has stopped sending heartbeats.
//   - It asks workers to end attempts whose deadline has passed.
//   - It closes questions that were not answered in time. Such a question gets its default answer,
//     or is denied if it has none.
//   - It ends the pauses of agents' accounts (for example after a rate limit) when their time is
//     over.
//   - It checks the user's spending limits for the day and the month, which the user may have
//     changed.
//   - It makes tasks ready when their delay has ended.
//
// One call handles a limited number of attempts, questions and delayed tasks. If the result
// unfinished is true, more changes may be due, and the caller should call Sweep again at once.
//
// The parameter reachableSince is the time since which workers have been able to reach this process
// without interruption. Earlier heartbeats may have been lost. So Sweep ends no attempt for missing
// heartbeats until the duration of a lease has passed after that time. The zero time means that
// workers could always reach this process.
func (e *Engine) Sweep(ctx context.Context, reachableSince time.Time) (unfinished bool, err error) {
	err = e.write(ctx, "sweep", func(tx *transaction) error {
		// If ctx has ended while this transaction had to wait, reachableSince may be out of date.
		// Then change nothing.
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
