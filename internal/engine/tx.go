package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Tx lets a caller combine several engine operations in one transaction. It is valid only until the
// function that received it returns.
type Tx struct{ tx *transaction }

// Do runs fn in one transaction: either all of its changes are stored, or none. fn may run more
// than once, so it must have no effects outside the transaction. who is the user or program that
// the events name as their cause.
func (e *Engine) Do(ctx context.Context, who string, fn func(s *Tx) error) error {
	return e.write(ctx, who, func(tx *transaction) error { return fn(&Tx{tx}) })
}

// Now returns the time at which the transaction has started, by the engine's clock.
func (s *Tx) Now() time.Time { return s.tx.now }

// NewID returns a new unique id.
func (s *Tx) NewID() string { return s.tx.opts.NewID() }

// NextSeq returns the sequence number (Seq) that the next appended event will get.
func (s *Tx) NextSeq() int64 { return s.tx.NextSeq() }

// Worker returns the worker with the given id. Like the methods Run, Task, Attempt and Item, it
// returns [store.ErrNotFound] if the row does not exist.
func (s *Tx) Worker(id string) (store.Worker, error) { return s.tx.Worker(id) }

// Run returns the run with the given id.
func (s *Tx) Run(id string) (store.Run, error) { return s.tx.Run(id) }

// Task returns the task with the given key.
func (s *Tx) Task(key store.TaskKey) (store.Task, error) { return s.tx.Task(key) }

// Attempt returns the attempt with the given id.
func (s *Tx) Attempt(id string) (store.Attempt, error) { return s.tx.Attempt(id) }

// HeldBy returns the running attempts of a worker, ordered by the end of their lease or by their
// deadline, whichever is earlier. It scans the running attempts of all workers.
func (s *Tx) HeldBy(worker string) ([]store.Attempt, error) { return s.tx.heldBy(worker) }

// Item returns the item with the given key. An item is a row for data that has no table of its own,
// such as a message.
func (s *Tx) Item(key store.ItemKey) (store.Item, error) { return s.tx.Item(key) }

// Items returns at most limit items with the given kind and parent whose Seq is greater than
// cursor, in the order of Seq.
func (s *Tx) Items(kind, parent string, cursor int64, limit int) ([]store.Item, error) {
	return s.tx.Items(kind, parent, cursor, limit)
}

// PutItem adds an item, or replaces the item with the same key.
func (s *Tx) PutItem(i store.Item) { s.tx.PutItem(i) }

// DropItem deletes the item with the given key, if it exists.
func (s *Tx) DropItem(key store.ItemKey) { s.tx.DropItem(key) }

// Event appends the event e. The parameter row is the changed row of the store: a copy of it is
// stored with the event.
func (s *Tx) Event(e store.Event, row any) error { return s.tx.event(e, row) }

// Submit does the same as [Engine.Submit], as a part of the transaction s, with one difference. A
// task of the plan may be made from an item, such as an issue. If the item may not get a new task,
// Submit does not leave out the task, but returns an [*ItemsHeldError].
func (s *Tx) Submit(sub Submission) (string, error) {
	text, err := planText(sub)
	if err != nil {
		return "", err
	}
	return once(s.tx.txContext, "submit", sub.Key, func() (string, error) { return s.tx.submissions.submit(sub, text) })
}

// Extend does the same as [Engine.Extend], as a part of the transaction s.
func (s *Tx) Extend(x Extension) error {
	_, err := once(s.tx.txContext, "extend", x.Key, func() (int, error) { return len(x.Tasks), s.tx.submissions.extend(x) })
	return err
}

// ClaimForClient assigns a task to a client of the coordinator protocol, like [Engine.Claim]. The
// client's heartbeats ([Tx.ClientHeartbeat]) renew the lease of the new attempt. ClaimForClient
// returns nil if no task can start. A second claim with the same r.Key returns the stored
// assignment, even if its attempt has ended.
func (s *Tx) ClaimForClient(r Claim) (*Assignment, error) {
	return once(s.tx.txContext, "claim", r.Key, func() (*Assignment, error) {
		a, err := s.tx.claims.claim(r)
		if err != nil || a == nil {
			return nil, err
		}
		return a, s.tx.workers.addHeldAttempt(r.Worker, a.Attempt.ID)
	})
}

// Assign assigns the queued task with the given key to a client of the coordinator protocol. (If
// gaffer should choose the task, call [Tx.ClaimForClient] instead.) Assign returns a
// [*ConflictError] in these cases:
//
//   - The task has started or ended.
//   - The task still waits for a task that it depends on, or for an earlier wave.
//   - The run is ordered, and another task comes first.
//   - Other tasks are ready, and the run's parallel limit allows no more.
//   - The run has ended or is stopping.
//   - A budget, or a spending limit of the user, does not allow the attempt.
func (s *Tx) Assign(key store.TaskKey, worker string) (*Assignment, error) {
	tx := s.tx
	t, err := tx.task(key)
	if err != nil {
		return nil, err
	}
	run, err := tx.Run(key.Run)
	switch {
	case err != nil:
		return nil, asNotFound(err, "run", key.Run)
	case t.Status != store.Queued:
		return nil, &ConflictError{"task " + t.Task, "is " + string(t.Status)}
	case !t.Ready && (run.Ordered || t.Blockers > 0 || t.Wave > openWave(run) || run.Status != store.Running || run.Stopping != ""),
		!t.Ready && run.Parallel > 0 && run.Active+run.Ready >= run.Parallel:
		return nil, &ConflictError{"task " + t.Task, "cannot start yet: others come first"}
	case !t.Ready:
		if err := tx.states.setReady(t, true, "it is assigned"); err != nil {
			return nil, err
		}
		if t, err = tx.Task(key); err != nil {
			return nil, err
		}
	}
	if held, err := tx.budgets.holdForUserLimits(); err != nil || held && !costsNothing(t) {
		return nil, cmp.Or[error](err, &ConflictError{"task " + t.Task, "cannot start now: a limit of the user is reached"})
	}
	a, err := tx.claims.startAttempt(t, Claim{Worker: worker}, use{accounts: []WorkerAccount{{}}})
	if errors.Is(err, errNoBudget) {
		return nil, &ConflictError{"task " + t.Task, "is not within the budget"}
	}
	if err != nil {
		return nil, err
	}
	return &a, tx.workers.addHeldAttempt(worker, a.Attempt.ID)
}

// Cancel does the same as [Engine.Cancel], as a part of the transaction s.
func (s *Tx) Cancel(t Target, why string) error { return s.tx.cancellation.cancel(t, why) }

// Tasks returns all tasks of a run.
func (s *Tx) Tasks(run string) ([]store.Task, error) { return s.tx.Tasks(run) }

// ClaimForWorker assigns a task to a gaffer worker, like [Engine.Claim]. The worker's heartbeats
// ([Tx.Beat]) renew the lease of the new attempt. ClaimForWorker returns nil if no task can start.
func (s *Tx) ClaimForWorker(r Claim) (*Assignment, error) { return s.tx.claims.claimOnce(r) }

// Beat does the same as [Engine.Beat], as a part of the transaction s.
func (s *Tx) Beat(report store.Worker, held []HeldAttempt) ([]Order, error) {
	return s.tx.heartbeats.recordWorker(report, held)
}

// Messages returns the messages that users have sent to a task's agent. waiting are the messages
// that the agent has not received yet. delivered are those that it has received. Both lists are
// ordered from the oldest to the newest, and leave out withdrawn messages.
func (s *Tx) Messages(t store.Task) (waiting, delivered []fleet.Message, err error) {
	a := Assignment{Task: t}
	err = a.AddMessages(s)
	return a.Messages, a.Earlier, err
}

// Grants returns the permission rules that apply to a task and that users have made by answering
// questions.
func (s *Tx) Grants(key store.TaskKey) ([]fleet.Grant, error) { return taskGrants(s, key) }

// FinishAndClaim does the same as [Engine.FinishAndClaim], as a part of the transaction s.
func (s *Tx) FinishAndClaim(f Finish, r Claim) (FinishResult, *Assignment, error) {
	return s.tx.turns.turn(f, r)
}

// Ask does the same as [Engine.Ask], as a part of the transaction s.
func (s *Tx) Ask(a Ask) (string, error) { return s.tx.questions.ask(a) }

// Release does the same as [Engine.Release], as a part of the transaction s.
func (s *Tx) Release(worker string, held []HeldAttempt) error {
	return s.tx.finishes.release(worker, held)
}

// Finish does the same as [Engine.Finish], as a part of the transaction s.
func (s *Tx) Finish(f Finish) (FinishResult, error) {
	return once(s.tx.txContext, "finish", f.Key, func() (FinishResult, error) { return s.tx.finishes.finish(f) })
}

// Once makes an operation idempotent. The first call with this operation and key runs the function
// fn and stores its result, unless the JSON of the result is null. Later calls with the same
// operation and key return the stored result and do not run fn. If key is empty, fn always runs.
func Once[A any](s *Tx, operation, key string, fn func() (A, error)) (A, error) {
	return once(s.tx.txContext, operation, key, fn)
}
