package engine

import (
	"context"
	"errors"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Tx is a transaction that combines several engine operations, for requests that need more
// than one. It is valid only until the function that received it returns.
type Tx struct{ tx *transaction }

// Do runs do in one transaction: all of its changes are stored, or none. do may run more
// than once, so it must have no side effects outside the transaction. who names the cause
// of the events.
func (e *Engine) Do(ctx context.Context, who string, do func(s *Tx) error) error {
	return e.write(ctx, who, func(tx *transaction) error { return do(&Tx{tx}) })
}

// Now returns the time of the transaction.
func (s *Tx) Now() time.Time { return s.tx.now }

// NewID returns a new unique id.
func (s *Tx) NewID() string { return s.tx.opts.NewID() }

// NextSeq returns the number that the next event will get.
func (s *Tx) NextSeq() int64 { return s.tx.NextSeq() }

// Worker returns a worker. Like Run, Task, Attempt and Item, it returns
// [store.ErrNotFound] if the row does not exist.
func (s *Tx) Worker(id string) (store.Worker, error) { return s.tx.Worker(id) }

// Run returns a run.
func (s *Tx) Run(id string) (store.Run, error) { return s.tx.Run(id) }

// Task returns a task.
func (s *Tx) Task(key store.TaskKey) (store.Task, error) { return s.tx.Task(key) }

// Attempt returns an attempt.
func (s *Tx) Attempt(id string) (store.Attempt, error) { return s.tx.Attempt(id) }

// HeldBy returns the running attempts of a worker, ordered by the end of their lease or
// deadline. It scans all running attempts.
func (s *Tx) HeldBy(worker string) ([]store.Attempt, error) { return s.tx.heldBy(worker) }

// Item returns a store item.
func (s *Tx) Item(key store.ItemKey) (store.Item, error) { return s.tx.Item(key) }

// Items returns the items of a kind and a parent whose Seq is greater than after, at most
// limit.
func (s *Tx) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return s.tx.Items(kind, parent, after, limit)
}

// PutItem adds or changes an item.
func (s *Tx) PutItem(i store.Item) { s.tx.PutItem(i) }

// DropItem deletes an item.
func (s *Tx) DropItem(key store.ItemKey) { s.tx.DropItem(key) }

// Event appends an event and the row that has changed.
func (s *Tx) Event(e store.Event, row any) error { return s.tx.event(e, row) }

// Submit does the same as [Engine.Submit].
func (s *Tx) Submit(sub Submission) (string, error) {
	text, err := planText(sub)
	if err != nil {
		return "", err
	}
	return once(s.tx.txContext, "submit", sub.Key, func() (string, error) { return s.tx.submissions.submit(sub, text) })
}

// Extend does the same as [Engine.Extend].
func (s *Tx) Extend(x Extension) error {
	_, err := once(s.tx.txContext, "extend", x.Key, func() (int, error) { return len(x.Tasks), s.tx.submissions.extend(x) })
	return err
}

// ClaimForClient does the same as [Engine.Claim] for a client of the coordinator protocol,
// which renews its leases with [Tx.ClientHeartbeat]. It returns nil if no task can start.
func (s *Tx) ClaimForClient(r Claim) (*Assignment, error) {
	return once(s.tx.txContext, "claim", r.Key, func() (*Assignment, error) {
		a, err := s.tx.claims.claim(r)
		if err != nil || a == nil {
			return nil, err
		}
		return a, s.tx.workers.addHeldAttempt(r.Worker, a.Attempt.ID)
	})
}

// Assign assigns a certain queued task to a client of the coordinator protocol;
// [Tx.ClaimForClient] chooses a task instead. Assign returns a [*ConflictError] if the
// task has started or ended, if it must wait for other tasks, if its run has ended or is
// stopping, or if the budget does not allow it.
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
	case !t.Ready && (run.Ordered || t.Blockers > 0 || run.Status != store.Running || run.Stopping != ""):
		return nil, &ConflictError{"task " + t.Task, "cannot start yet: others come first"}
	case !t.Ready:
		if err := tx.schedule.setReady(t, true, "it is assigned"); err != nil {
			return nil, err
		}
		if t, err = tx.Task(key); err != nil {
			return nil, err
		}
	}
	a, err := tx.claims.startAttempt(t, Claim{Worker: worker})
	if errors.Is(err, errNoBudget) {
		return nil, &ConflictError{"task " + t.Task, "is not within the budget"}
	}
	if err != nil {
		return nil, err
	}
	return &a, tx.workers.addHeldAttempt(worker, a.Attempt.ID)
}

// Cancel does the same as [Engine.Cancel].
func (s *Tx) Cancel(t Target, why string) error { return s.tx.cancellation.cancel(t, why) }

// Tasks returns all tasks of a run.
func (s *Tx) Tasks(run string) ([]store.Task, error) { return s.tx.Tasks(run) }

// ClaimForWorker does the same as [Engine.Claim] for a gaffer worker, which renews its
// leases with [Tx.Beat]. It returns nil if no task can start.
func (s *Tx) ClaimForWorker(r Claim) (*Assignment, error) { return s.tx.claims.claimOnce(r) }

// Beat does the same as [Engine.Beat].
func (s *Tx) Beat(report store.Worker, held []HeldAttempt) ([]Order, error) {
	return s.tx.heartbeats.recordWorker(report, held)
}

// Messages returns the messages that a task's agent has not received, and the messages
// that it has received, each oldest first.
func (s *Tx) Messages(t store.Task) (waiting, delivered []fleet.Message, err error) {
	a := Assignment{Task: t}
	err = a.AddMessages(s)
	return a.Messages, a.Earlier, err
}

// Turn does the same as [Engine.Turn].
func (s *Tx) Turn(f Finish, r Claim) (FinishResult, *Assignment, error) { return s.tx.turns.turn(f, r) }

// Ask does the same as [Engine.Ask].
func (s *Tx) Ask(a Ask) (string, error) { return s.tx.questions.ask(a) }

// Release does the same as [Engine.Release].
func (s *Tx) Release(worker string, held []HeldAttempt) error {
	return s.tx.finishes.release(worker, held)
}

// Finish does the same as [Engine.Finish].
func (s *Tx) Finish(f Finish) (FinishResult, error) {
	return once(s.tx.txContext, "finish", f.Key, func() (FinishResult, error) { return s.tx.finishes.finish(f) })
}

// Once makes an operation idempotent. If the operation was done before with the same key,
// Once returns the stored answer. Otherwise it runs do and stores its answer. Without a
// key, do always runs.
func Once[A any](s *Tx, operation, key string, do func() (A, error)) (A, error) {
	return once(s.tx.txContext, operation, key, do)
}
