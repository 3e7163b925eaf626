package workers

import (
	"cmp"
	"context"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Turn implements [server.Work].
func (d *Service) Turn(ctx context.Context, by credential.Identity, t coordinator.WorkTurn) (done coordinator.Turned, err error) {
	if err := checkTurn(t); err != nil {
		return done, err
	}
	err = d.do(ctx, "", func(s *engine.Tx) error {
		// Do both lookups before checking their errors. With a remote database, a lookup fails with
		// ErrNotLoaded if its result is not loaded yet. One round trip then loads the results of
		// all lookups that failed, and this function runs again, see [store.Loader].
		a, errAttempt := attemptOf(s, by, t.Finish.WorkKey)
		next, errNext := nextOf(s, by, a, t.Claim)
		if err := cmp.Or(errAttempt, errNext); err != nil {
			return err
		}
		o, given, err := s.FinishAndClaim(finishOf(t.Finish, s.Now()), next)
		if err != nil {
			return err
		}
		done = coordinator.Turned{Outcome: wireOutcome(o, s.Now()), LeaseMS: d.lease()}
		done.Work, err = workFor(s, given)
		return err
	})
	return done, err
}

// nextOf converts c, the claim that a worker makes at the end of an attempt, to the engine's type.
// If c is nil, the worker does not want another task, and nextOf returns an empty claim.
func nextOf(s *engine.Tx, by credential.Identity, ended store.Attempt, c *coordinator.WorkClaim) (engine.Claim, error) {
	if c == nil {
		return engine.Claim{}, nil
	}
	w, err := s.Worker(c.Worker)
	switch {
	case c.Worker != ended.Worker:
		return engine.Claim{}, protocol.Invalid("claim.worker: attempt %s is of worker %s", ended.ID, ended.Worker)
	case err != nil:
		return engine.Claim{}, protocol.NotFound(err, "worker", c.Worker)
	}
	return claimOf(by, w, *c)
}
