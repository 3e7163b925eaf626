package engine

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// FinishAndClaim ends an attempt like [Engine.Finish], and then claims the next task for the same
// worker like [Engine.Claim], in one transaction. It claims nothing if r names no worker, or if the
// attempt had already ended. next is nil if no task was claimed.
//
// A call of FinishAndClaim is called a turn. If a worker has not received the reply, it may repeat
// the turn, without an idempotency key. A repeated turn changes nothing. It returns the same result
// and, if the assigned attempt is still running, the same assignment.
func (e *Engine) FinishAndClaim(ctx context.Context, f Finish, r Claim) (o FinishResult, next *Assignment, err error) {
	err = e.write(ctx, "", func(tx *transaction) error {
		o, next, err = tx.turns.turn(f, r)
		return err
	})
	return o, next, err
}

// storedTurn is the reply to a call of [Engine.FinishAndClaim], as it is stored in an idempotency
// record.
type storedTurn struct {
	Result FinishResult `json:"outcome"`
	Next   *string      `json:"next,omitempty"` // id of the attempt that was assigned next; nil if none
}

// turnOp is the first word of the keys of the idempotency records that store replies to
// [Engine.FinishAndClaim].
const turnOp = "work-turn"

// completedResult is the result of [Engine.FinishAndClaim] if the task is complete. No idempotency
// record is stored for this result, because a repeated request can compute it from the attempt's
// row.
var completedResult = FinishResult{Status: store.Complete}

// turns handles the requests of [Engine.FinishAndClaim], which are called turns.
type turns struct {
	*txContext
	claims   *claims
	finishes *finishes
}

func (t *turns) turn(f Finish, r Claim) (FinishResult, *Assignment, error) {
	a, err := t.attempt(f.Attempt)
	if err != nil {
		return FinishResult{}, nil, err
	}
	if a.Status != store.Running && a.Token == f.Token {
		return t.repeatedTurn(a, f)
	}
	if f.Class == failure.RateLimited && r.Worker != "" {
		// Forget accounts that the user has removed. A removed account never reaches a rate limit,
		// so the engine would never find that all accounts of the agent have reached one.
		stored, err := t.sharedPool()
		if err != nil {
			return FinishResult{}, nil, err
		}
		if _, err := t.claims.rememberPool(r, stored, true); err != nil {
			return FinishResult{}, nil, err
		}
	}
	o, err := t.finishes.finish(f)
	if err != nil {
		return o, nil, err
	}
	done := storedTurn{Result: o}
	var next *Assignment
	if r.Worker != "" {
		t.who, r.Key, r.After = r.Worker, "", f.Attempt
		if next, err = t.claims.claimOnce(r); err != nil {
			return o, nil, err
		}
		if next != nil {
			done.Next = &next.Attempt.ID
		}
	}
	if o == completedResult {
		return o, next, nil
	}
	return o, next, storeAnswer(t.txContext, turnOp, turnKey(f), done)
}

func turnKey(f Finish) string { return fmt.Sprintf("%s %d", f.Attempt, f.Token) }

// repeatedTurn answers a request whose attempt a has already ended. If an earlier copy of the
// request has ended a, repeatedTurn returns the same reply again. If a has ended for another
// reason, for example because a user has cancelled it, repeatedTurn returns a [*ConflictError].
func (t *turns) repeatedTurn(a store.Attempt, f Finish) (FinishResult, *Assignment, error) {
	done := storedTurn{Result: completedResult}
	kept, err := t.IdempotencyRecord(turnOp + " " + turnKey(f))
	switch {
	case err == nil:
		if done, err = storedAnswer[storedTurn](kept); err != nil {
			return FinishResult{}, nil, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return FinishResult{}, nil, err
	case a.Status != store.Complete:
		_, err := t.ownedAttempt(f.Attempt, f.Token)
		return FinishResult{}, nil, err
	default:
		if done.Next, err = t.assignedAfter(a); err != nil {
			return FinishResult{}, nil, err
		}
	}
	next, err := t.claims.stillAssigned(done.Next, a.Worker)
	return done.Result, t.claims.withLease(next), err
}

// assignedAfter returns the id of the running attempt that was assigned in the same request that
// ended the attempt previous. It returns nil if there is none.
func (t *turns) assignedAfter(previous store.Attempt) (*string, error) {
	running, err := t.heldBy(previous.Worker)
	for _, a := range running {
		if a.After == previous.ID {
			return &a.ID, err
		}
	}
	return nil, err
}
