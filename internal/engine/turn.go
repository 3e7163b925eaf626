package engine

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
)

// Turn does [Engine.Finish] and then [Engine.Claim] for the same worker, in one
// transaction. If the claim names no worker, nothing is claimed. The assignment is nil
// if no task can start. If the finish comes too late, nothing is claimed.
//
// A turn may be repeated if its reply was lost. A repeated turn changes nothing and
// returns the same outcome, and the same assignment if that is still running. It needs
// no key.
func (e *Engine) Turn(ctx context.Context, f Finish, r Claim) (o Outcome, next *Assignment, err error) {
	err = e.write(ctx, "", TurnNeed(f, r), func(c *change) error {
		o, next, err = c.turn(f, r)
		return err
	})
	return o, next, err
}

// TurnNeed returns the rows that a turn will look up.
func TurnNeed(f Finish, r Claim) store.Need {
	need := store.Need{Attempts: []string{f.Attempt}}
	if r.Worker != "" {
		need.Claims = 1
	}
	return need
}

// turned is the stored answer to a turn.
type turned struct {
	Outcome Outcome `json:"outcome"`
	Next    *string `json:"next,omitempty"` // id of the attempt that was assigned
}

// turnOp is the operation name under which answers to turns are stored.
const turnOp = "work-turn"

// completed is the outcome of nearly all turns. It can be derived from the attempt's
// row, so it is not stored.
var completed = Outcome{Status: store.Complete}

func (c *change) turn(f Finish, r Claim) (Outcome, *Assignment, error) {
	a, err := c.Attempt(f.Attempt)
	if err != nil {
		return Outcome{}, nil, missing(err, "attempt", f.Attempt)
	}
	if a.Status != store.Running && a.Token == f.Token {
		return c.turnAgain(a, f)
	}
	o, next, err := c.turnOnce(f, r)
	if err != nil || o == completed {
		return o, next, err
	}
	done := turned{Outcome: o}
	if next != nil {
		done.Next = &next.Attempt.ID
	}
	return o, next, promise(c, turnOp, turnKey(f), done)
}

func turnKey(f Finish) string { return fmt.Sprintf("%s %d", f.Attempt, f.Token) }

func (c *change) turnOnce(f Finish, r Claim) (Outcome, *Assignment, error) {
	o, err := c.finish(f)
	if err != nil || r.Worker == "" {
		return o, nil, err
	}
	c.who, r.Key, r.After = r.Worker, "", f.Attempt
	next, err := c.claimOnce(r)
	return o, next, err
}

// turnAgain answers a turn whose attempt has already ended. If a turn ended it, the
// answer is the same as before. Only a finish by its worker completes an attempt. So if
// the attempt is not complete and no answer is stored, it ended in another way and the
// finish comes too late.
func (c *change) turnAgain(a store.Attempt, f Finish) (Outcome, *Assignment, error) {
	done := turned{Outcome: completed}
	kept, err := c.Promise(turnOp + " " + turnKey(f))
	switch {
	case err == nil:
		if done, err = answerIn[turned](kept); err != nil {
			return Outcome{}, nil, err
		}
	case !errors.Is(err, store.ErrNotFound):
		return Outcome{}, nil, err
	case a.Status != store.Complete:
		_, err := c.owned(f.Attempt, f.Token)
		return Outcome{}, nil, err
	default:
		if done.Next, err = c.givenAfter(a); err != nil {
			return Outcome{}, nil, err
		}
	}
	next, err := c.stillGiven(done.Next, a.Worker)
	return done.Outcome, c.leased(next), err
}

// givenAfter returns the running attempt that was assigned in the turn which ended the
// given one, or nil.
func (c *change) givenAfter(ended store.Attempt) (*string, error) {
	running, err := c.heldBy(ended.Worker)
	for _, a := range running {
		if a.After == ended.ID {
			return &a.ID, err
		}
	}
	return nil, err
}

// stillGiven returns the assignment of an attempt that was given to a worker earlier,
// or nil if that is not running any more. Starting it again would let two agents work
// on one task.
func (c *change) stillGiven(id *string, worker string) (*Assignment, error) {
	if id == nil {
		return nil, nil
	}
	a, err := c.Attempt(*id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (a.Status != store.Running || a.Worker != worker) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := c.Task(a.Key())
	if err != nil {
		return nil, missing(err, "task", a.Task)
	}
	before, err := c.before(t)
	return &Assignment{Attempt: a, Task: t, Before: before}, err
}
