package engine

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// FinishAndClaim ends an attempt like [Engine.Finish], and then claims the next task for the same
// worker like [Engine.Claim], in one transaction. Nothing is claimed if r names no worker, or if the
// attempt had already ended. next is nil if no task was claimed.
//
// Such a request is called a turn. A worker may repeat a turn if it has not received the reply; it
// needs no idempotency key. A repeated turn changes nothing. It returns the same result, and the
// same assignment if that attempt is still running.
func (e *Engine) FinishAndClaim(ctx context.Context, f Finish, r Claim) (o FinishResult, next *Assignment, err error) {
	err = e.write(ctx, "", func(tx *transaction) error {
		o, next, err = tx.turns.turn(f, r)
		return err
	})
	return o, next, err
}

// storedTurn is the answer to a turn as an idempotency record stores it.
type storedTurn struct {
	Result FinishResult `json:"outcome"`
	Next   *string      `json:"next,omitempty"` // id of the attempt that the turn has assigned; nil if none
}

// turnOp is the operation in the keys of idempotency records that store answers to turns.
const turnOp = "work-turn"

// completedResult is the result of a turn whose task is complete, as in nearly all turns. It can be
// computed from the attempt's row, so no idempotency record is stored for it.
var completedResult = FinishResult{Status: store.Complete}

// turns ends attempts and assigns the next tasks to the same workers.
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
		// Forget accounts that the user has removed. They would never be paused, so the engine would
		// never find that all accounts of the agent are paused.
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

// repeatedTurn answers a turn whose attempt a has already ended. If an earlier turn has ended a,
// repeatedTurn returns the same answer again. If not, for example because a user has cancelled a,
// it returns a [*ConflictError].
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

// assignedAfter returns the id of the attempt that was assigned in the turn that ended the attempt
// previous. It returns nil if no attempt was assigned or the assigned attempt is not running any
// more.
func (t *turns) assignedAfter(previous store.Attempt) (*string, error) {
	running, err := t.heldBy(previous.Worker)
	for _, a := range running {
		if a.After == previous.ID {
			return &a.ID, err
		}
	}
	return nil, err
}
