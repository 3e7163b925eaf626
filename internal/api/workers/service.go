// Package workers implements the requests of gaffer's own workers on an engine and its store:
// heartbeats, claims, ends of attempts, questions and logs. Each request makes its changes in one
// transaction. The service keeps no state except recent changes for waiting workers, so several
// services can share one store.
package workers

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
)

// Options configures a Service.
type Options struct {
	Store  store.Store
	Engine *engine.Engine // the engine that writes to Store
	// Lease is how long a worker owns an attempt without sending a heartbeat. It must be the same
	// as the engine's lease. Zero means the engine's default.
	Lease  time.Duration
	Keep   int64 // maximum length of a stored log in bytes; zero means logstore's default
	Notice func(text string)
}

// Service implements [server.Work]. It is safe for concurrent use. Workers that wait for changes
// get them only while Run is running.
type Service struct {
	opts Options
	feed *changeFeed
}

var _ server.Work = (*Service)(nil)

// New returns a Service with the given options.
func New(opts Options) *Service {
	opts.Lease = cmp.Or(opts.Lease, engine.DefaultLease)
	opts.Keep = cmp.Or(opts.Keep, logstore.DefaultKeep)
	return &Service{opts: opts, feed: newChangeFeed(opts.Store)}
}

// Run reads changes from the store for all waiting workers, until ctx ends.
func (d *Service) Run(ctx context.Context) { d.feed.run(ctx, d.opts.Notice) }

func (d *Service) do(ctx context.Context, who string, do func(s *engine.Tx) error) error {
	return d.opts.Engine.Do(ctx, who, do)
}

func (d *Service) lease() int64 { return d.opts.Lease.Milliseconds() }

// rows reads single rows of the store. Read transactions and write transactions implement it.
type rows interface {
	Worker(id string) (store.Worker, error)
	Run(id string) (store.Run, error)
	Task(key store.TaskKey) (store.Task, error)
	Attempt(id string) (store.Attempt, error)
}

// workerOf returns a worker, or an error if the client may not act for it. If the worker is
// unknown, known is false, and the result is a new row that belongs to the client and is not
// stored. If the id of the unknown worker is the id of a run, workerOf returns an error, because
// only the worker that gaffer itself creates for a local run may have the run's id.
func workerOf(r rows, by credential.Identity, id string) (w store.Worker, known bool, err error) {
	if err := protocol.MayAct(by); err != nil {
		return w, false, err
	}
	w, err = r.Worker(id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Worker{ID: id, Owner: by.ID, OwnerName: by.Owner()}, false, protocol.CheckNotRun(r, id)
	}
	if err != nil {
		return w, false, err
	}
	if w.OwnerName == "" && by.ID == w.Owner { // rows stored by older versions have no OwnerName
		w.OwnerName = by.Owner()
	}
	return w, true, protocol.MayActFor(by, w)
}

// attemptOf returns an attempt. It returns an error if the client may not act for the attempt's
// worker, if key does not have the attempt's fencing token, or if the limits of the client's access
// token exclude the attempt's task.
func attemptOf(r rows, by credential.Identity, key coordinator.WorkKey) (store.Attempt, error) {
	if err := protocol.MayAct(by); err != nil {
		return store.Attempt{}, err
	}
	a, err := r.Attempt(key.Attempt)
	if err != nil {
		return a, protocol.NotFound(err, "attempt", key.Attempt)
	}
	if _, _, err := workerOf(r, by, a.Worker); err != nil {
		return a, err
	}
	if a.Token != key.Token {
		return a, protocol.Conflict("not_owner", "attempt %s now belongs to another worker", key.Attempt)
	}
	return a, checkLimits(r, by, a)
}

// Beat implements [server.Work].
func (d *Service) Beat(ctx context.Context, by credential.Identity, b coordinator.WorkBeat) (answer coordinator.WorkOrders, err error) {
	if err := checkBeat(b); err != nil {
		return answer, err
	}
	err = d.do(ctx, b.Worker.ID, func(s *engine.Tx) error {
		answer = coordinator.WorkOrders{LeaseMS: d.lease()}
		if answer.Orders, err = beat(s, by, b); err != nil {
			return err
		}
		answer.Seq = s.NextSeq() - 1
		return nil
	})
	return answer, err
}

func beat(s *engine.Tx, by credential.Identity, b coordinator.WorkBeat) ([]coordinator.WorkOrder, error) {
	w, _, err := workerOf(s, by, b.Worker.ID)
	if err != nil {
		return nil, err
	}
	if why := by.MayHave(b.Worker.Labels); why != "" {
		return nil, protocol.ExceedsLimits(why)
	}
	if err := setName(s, w, b.Worker.Name); err != nil {
		return nil, err
	}
	held, gone, current, err := separateHeld(s, by, b)
	if err != nil {
		return nil, err
	}
	orders, err := s.Beat(rowAfterBeat(by, b, w, current), held)
	if err != nil {
		return nil, err
	}
	if b.Gone {
		if err := s.SetLastSeen(b.Worker.ID, s.Now().Add(-coordinator.OfflineAfter)); err != nil {
			return nil, err
		}
	}
	list := make([]coordinator.WorkOrder, 0, len(orders)+len(gone))
	for _, o := range orders {
		list = append(list, wireOrder(o))
	}
	for _, attempt := range gone {
		list = append(list, coordinator.WorkOrder{Attempt: attempt, Gone: true})
	}
	return list, nil
}

// separateHeld separates the attempts that a heartbeat lists. The result held contains the attempts
// that still belong to the worker, and lost contains the ids of those that do not. The result
// current is the id of the task of one of the worker's running attempts, in the form RUN.TASK. It
// is empty if no attempt is running.
func separateHeld(s *engine.Tx, by credential.Identity, b coordinator.WorkBeat) (held []engine.HeldAttempt, lost []string, current string, err error) {
	var shown store.Attempt
	for _, h := range b.Held {
		a, err := s.Attempt(h.Attempt)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && a.Worker != b.Worker.ID:
			lost = append(lost, h.Attempt)
			continue
		case err != nil:
			return nil, nil, "", err
		}
		if err := checkLimits(s, by, a); err != nil {
			return nil, nil, "", err
		}
		if a.Status == store.Running && (shown.ID == "" || a.ID < shown.ID) {
			// Choose the running attempt with the lowest id, so that current stays the same even if
			// the next heartbeat lists the attempts in another order.
			shown, current = a, a.Run+"."+a.Task
		}
		held = append(held, heldOf(h, s.Now()))
	}
	return held, lost, current, nil
}

// Claim implements [server.Work].
func (d *Service) Claim(ctx context.Context, by credential.Identity, c coordinator.WorkClaim) (given coordinator.Claimed, err error) {
	if err := checkClaim(c, true); err != nil {
		return given, err
	}
	key := c.Worker + " " + c.Key
	var work *coordinator.Work
	err = d.do(ctx, c.Worker, func(s *engine.Tx) error {
		w, known, err := workerOf(s, by, c.Worker)
		if err != nil {
			return err
		}
		if !known {
			if err := registerOnClaim(s, w); err != nil {
				return err
			}
		}
		ask, err := claimOf(by, w, c)
		if err != nil {
			return err
		}
		ask.Key = key
		a, err := s.ClaimForWorker(ask)
		if err != nil {
			return err
		}
		work, err = workFor(s, a)
		return err
	})
	switch {
	case err != nil:
		return given, err
	case work == nil:
		return given, protocol.NothingFound(coordinator.NoTasks, "no task can start now")
	}
	return coordinator.Claimed{Work: *work, LeaseMS: d.lease()}, nil
}

// registerOnClaim registers a worker that claims a task before its first heartbeat. Until that
// heartbeat, the worker's name is its id.
func registerOnClaim(s *engine.Tx, w store.Worker) error {
	if err := setName(s, w, w.ID); err != nil {
		return err
	}
	w.Name, w.Status = w.ID, coordinator.Idle
	_, err := s.Beat(w, nil)
	return err
}

// claimOf converts a worker's claim to the engine's type. It returns an error if the client's
// access token does not permit the labels of the claim, or if one of the labels selects another
// worker by name.
func claimOf(by credential.Identity, w store.Worker, c coordinator.WorkClaim) (engine.Claim, error) {
	if why := by.MayHave(c.Labels); why != "" {
		return engine.Claim{}, protocol.ExceedsLimits(why)
	}
	claim := engine.Claim{Worker: w.ID, Labels: c.Labels, OneOf: by.RequiredLabels(), Agents: c.Agents, Fallbacks: c.Fallbacks}
	for _, a := range c.Accounts {
		claim.Accounts = append(claim.Accounts, engine.WorkerAccount(a))
	}
	return claim, checkWorkerLabels(c.Labels, cmp.Or(w.Name, w.ID))
}

// checkLimits returns an error if the limits of the client's access token exclude the attempt's
// task.
func checkLimits(r rows, by credential.Identity, a store.Attempt) error {
	if !by.Limited() {
		return nil
	}
	t, err := r.Task(a.Key())
	if err != nil {
		return protocol.NotFound(err, "task", a.Task)
	}
	if why := by.MayTake(splitLabels(t.Labels)); why != "" {
		return protocol.ExceedsLimits(why)
	}
	return nil
}

// workFor converts an assignment of the engine into the answer for the worker. If the engine found
// no task, a is nil and workFor returns nil.
func workFor(s *engine.Tx, a *engine.Assignment) (*coordinator.Work, error) {
	if a == nil {
		return nil, nil
	}
	return workOf(s, a.Attempt, s.Now())
}

// Ask implements [server.Work].
func (d *Service) Ask(ctx context.Context, by credential.Identity, q coordinator.WorkQuestion) (id string, err error) {
	if err := checkQuestion(q); err != nil {
		return "", err
	}
	err = d.do(ctx, "", func(s *engine.Tx) error {
		if _, err := attemptOf(s, by, q.WorkKey); err != nil {
			return err
		}
		id, err = s.Ask(askOf(q))
		return err
	})
	return id, err
}

// Release implements [server.Work].
func (d *Service) Release(ctx context.Context, by credential.Identity, r coordinator.WorkRelease) error {
	if err := checkRelease(r); err != nil {
		return err
	}
	return d.do(ctx, r.Worker, func(s *engine.Tx) error {
		if _, _, err := workerOf(s, by, r.Worker); err != nil {
			return err
		}
		held := make([]engine.HeldAttempt, len(r.Attempts))
		for i, h := range r.Attempts {
			// An attempt that does not exist needs no check: s.Release skips it.
			if a, err := s.Attempt(h.Attempt); err == nil {
				if err := checkLimits(s, by, a); err != nil {
					return err
				}
			}
			held[i] = heldOf(h, s.Now())
		}
		return s.Release(r.Worker, held)
	})
}

// Held implements [server.Work].
func (d *Service) Held(ctx context.Context, by credential.Identity, worker string) (list []coordinator.Work, err error) {
	if err := protocol.CheckID("worker", worker); err != nil {
		return nil, err
	}
	err = d.do(ctx, worker, func(s *engine.Tx) error {
		list = nil
		if _, _, err := workerOf(s, by, worker); err != nil {
			return err
		}
		held, err := s.HeldBy(worker)
		if err != nil {
			return err
		}
		for _, a := range held {
			if err := checkLimits(s, by, a); err != nil {
				return err
			}
			work, err := workOf(s, a, s.Now())
			if err != nil {
				return err
			}
			list = append(list, *work)
		}
		return nil
	})
	return list, err
}

// Log implements [server.Work]. It also accepts output of attempts that have ended.
func (d *Service) Log(ctx context.Context, by credential.Identity, p coordinator.LogPiece) (next int64, err error) {
	if err := protocol.CheckID("attempt", p.Attempt); err != nil {
		return 0, err
	}
	add := logstore.Append
	if p.Done {
		add = logstore.End
	}
	err = d.do(ctx, "", func(s *engine.Tx) error {
		if _, err := attemptOf(s, by, p.WorkKey); err != nil {
			return err
		}
		next, err = add(s, p.Attempt, p.Offset, p.Data, d.opts.Keep)
		return err
	})
	return next, err
}

// Wait implements [server.Work].
func (d *Service) Wait(ctx context.Context, by credential.Identity, worker string, after int64) (news coordinator.WorkNews, err error) {
	if err := protocol.CheckID("worker", worker); err != nil {
		return news, err
	}
	var w store.Worker
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		var known bool
		if w, known, err = workerOf(r, by, worker); err == nil && !known {
			err = protocol.NotFound(store.ErrNotFound, "worker", worker)
		}
		return err
	})
	if err != nil {
		return news, err
	}
	return d.feed.wait(ctx, listener{worker, splitLabels(w.Labels)}, after)
}
