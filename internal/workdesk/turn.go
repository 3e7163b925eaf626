package workdesk

import (
	"context"
	"fmt"

	"gaffer/coordinator"
	"gaffer/internal/desk"
	"gaffer/internal/engine"
	"gaffer/internal/store"
	"gaffer/internal/token"
)

// turned is the answer to a turn, as it is kept.
type turned struct {
	Outcome engine.Outcome `json:"outcome"`
	Next    *string        `json:"next,omitempty"` // the attempt that was given
}

// Turn implements [server.Work].
func (d *Desk) Turn(ctx context.Context, by token.Identity, t coordinator.WorkTurn) (done coordinator.Turned, err error) {
	if err := checkTurn(t); err != nil {
		return done, err
	}
	need := store.Need{Attempts: []string{t.Finish.Attempt}}
	if t.Claim != nil {
		need.Claims, need.Workers = 1, []string{t.Claim.Worker}
	}
	err = d.do(ctx, "", need, func(s *engine.Step) error {
		a, err := attemptOf(s, by, t.Finish.WorkKey)
		if err != nil {
			return err
		}
		kept, err := turnOnce(s, a, t)
		if err != nil {
			return err
		}
		done = coordinator.Turned{Outcome: wireOutcome(kept.Outcome, s.Now()), LeaseMS: d.lease()}
		done.Work, err = taken(s, kept.Next, a.Worker)
		return err
	})
	return done, err
}

// turnOnce is turn, or what came of it if it was made before: then the attempt has
// ended. The answer to nearly all turns can be told from the attempts, and is not
// kept.
func turnOnce(s *engine.Step, a store.Attempt, t coordinator.WorkTurn) (turned, error) {
	key := fmt.Sprintf("%s %d", a.ID, a.Token)
	if a.Status != store.Running {
		return engine.Once(s, turnOp, key, func() (turned, error) { return turnedBefore(s, a, t) })
	}
	done, err := turn(s, a, t)
	if err != nil || done.Outcome == completed {
		return done, err
	}
	return done, engine.Promise(s, turnOp, key, done)
}

var completed = engine.Outcome{Status: store.Complete}

// turnedBefore is the answer to the turn that completed an attempt: only the word
// of its worker does. Of one that ended in any other way the word comes too late.
func turnedBefore(s *engine.Step, a store.Attempt, t coordinator.WorkTurn) (turned, error) {
	if a.Status != store.Complete {
		return turn(s, a, t)
	}
	done := turned{Outcome: completed}
	running, err := s.HeldBy(a.Worker)
	for _, next := range running {
		if next.After == a.ID {
			done.Next = &next.ID
		}
	}
	return done, err
}

func turn(s *engine.Step, a store.Attempt, t coordinator.WorkTurn) (done turned, err error) {
	if t.Claim != nil && t.Claim.Worker != a.Worker {
		return done, desk.Invalid("claim.worker: attempt %s is of worker %s", a.ID, a.Worker)
	}
	if done.Outcome, err = s.Finish(finishOf(t.Finish, s.Now())); err != nil || t.Claim == nil {
		return done, err
	}
	w, err := s.Worker(a.Worker)
	if err != nil {
		return done, desk.Missing(err, "worker", a.Worker)
	}
	done.Next, err = claim(s, w, *t.Claim, a.ID)
	return done, err
}
