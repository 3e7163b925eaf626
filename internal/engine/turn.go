package engine

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
)

// Turn is [Engine.Finish] and then [Engine.Claim] for the same worker, in one
// transaction; a claim of no worker is none. The assignment is nil if there is
// nothing to start. If the word on the end comes too late nothing is claimed. A turn
// that is made again, because its answer was lost, changes nothing and is answered as
// before, with what was given then if that still runs. It needs no key for that.
func (e *Engine) Turn(ctx context.Context, f Finish, r Claim) (o Outcome, next *Assignment, err error) {
	err = e.write(ctx, "", TurnNeed(f, r), func(c *change) error {
		o, next, err = c.turn(f, r)
		return err
	})
	return o, next, err
}

// TurnNeed is what a turn will look up.
func TurnNeed(f Finish, r Claim) store.Need {
	need := store.Need{Attempts: []string{f.Attempt}}
	if r.Worker != "" {
		need.Claims = 1
	}
	return need
}

// turned is the answer to a turn, as it is kept.
type turned struct {
	Outcome Outcome `json:"outcome"`
	Next    *string `json:"next,omitempty"` // the attempt that was given
}

// turnOp is the name under which answers to turns are kept.
const turnOp = "work-turn"

// completed is what follows from nearly all turns. It can be told from the attempts,
// and is not kept.
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

// turnAgain answers a turn whose attempt has ended: as before, if that was by a turn.
// Only the word of its worker completes an attempt; of one that ended in any other
// way without an answer that was kept, the word comes too late.
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

// givenAfter returns the attempt that runs and was given in the turn that ended one.
func (c *change) givenAfter(ended store.Attempt) (*string, error) {
	running, err := c.heldBy(ended.Worker)
	for _, a := range running {
		if a.After == ended.ID {
			return &a.ID, err
		}
	}
	return nil, err
}

// stillGiven is what a worker is to do now about an attempt that it was given a while
// ago: nothing, if that is over. Starting it again would let two agents work on one
// task.
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
