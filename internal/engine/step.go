package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// Step is one transaction that combines several engine operations, for requests that
// need more than one. It is valid only until the function that received it returns.
type Step struct{ c *change }

// Do runs do in one transaction: all of its changes are stored, or none. do may run
// more than once, so it must have no side effects outside the step.
func (e *Engine) Do(ctx context.Context, who string, need store.Need, do func(s *Step) error) error {
	return e.write(ctx, who, need, func(c *change) error { return do(&Step{c}) })
}

// Now returns the time of the transaction.
func (s *Step) Now() time.Time { return s.c.now }

// NewID returns a new unique id.
func (s *Step) NewID() string { return s.c.engine.opts.NewID() }

// NextSeq returns the number of the next event.
func (s *Step) NextSeq() int64 { return s.c.NextSeq() }

// Worker returns a worker. This and the other lookups return [store.ErrNotFound] if the
// row does not exist.
func (s *Step) Worker(id string) (store.Worker, error) { return s.c.Worker(id) }

// Run returns a run.
func (s *Step) Run(id string) (store.Run, error) { return s.c.Run(id) }

// Task returns a task.
func (s *Step) Task(key store.TaskKey) (store.Task, error) { return s.c.Task(key) }

// Attempt returns an attempt.
func (s *Step) Attempt(id string) (store.Attempt, error) { return s.c.Attempt(id) }

// HeldBy returns the running attempts of a worker, ordered by when their lease or
// deadline ends. It scans all running attempts.
func (s *Step) HeldBy(worker string) ([]store.Attempt, error) { return s.c.heldBy(worker) }

func (c *change) heldBy(worker string) ([]store.Attempt, error) {
	all, err := store.RunningAttempts(c)
	return slices.DeleteFunc(all, func(a store.Attempt) bool { return a.Worker != worker }), err
}

// Item returns an item.
func (s *Step) Item(key store.ItemKey) (store.Item, error) { return s.c.Item(key) }

// Items returns the items of a kind and a parent whose Seq is greater than after.
func (s *Step) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return s.c.Items(kind, parent, after, limit)
}

// PutItem adds or changes an item.
func (s *Step) PutItem(i store.Item) { s.c.PutItem(i) }

// DropItem deletes an item.
func (s *Step) DropItem(key store.ItemKey) { s.c.DropItem(key) }

// Event appends an event about a row.
func (s *Step) Event(e store.Event, row any) error { return s.c.event(e, row) }

// Submit does the same as [Engine.Submit].
func (s *Step) Submit(sub Submission) (string, error) {
	text, err := planText(sub)
	if err != nil {
		return "", err
	}
	return once(s.c, "submit", sub.Key, func() (string, error) { return s.c.submit(sub, text) })
}

// Extend does the same as [Engine.Extend].
func (s *Step) Extend(x Extension) error {
	_, err := once(s.c, "extend", x.Key, func() (int, error) { return len(x.Tasks), s.c.extend(x) })
	return err
}

// Claim does the same as [Engine.Claim] for a registered worker that renews its leases
// by [Step.Heartbeat]. It returns nil if no task can start.
func (s *Step) Claim(r Claim) (*Assignment, error) {
	return once(s.c, "claim", r.Key, func() (*Assignment, error) {
		a, err := s.c.claim(r)
		if err != nil || a == nil {
			return nil, err
		}
		return a, s.c.give(r.Worker, a.Attempt.ID)
	})
}

// Assign gives one queued task to a worker, as [Step.Claim] does with the next task. It
// returns a [*ConflictError] if the task has started or ended, if it must wait for other
// tasks, if its run is stopping or not running, or if the budget does not allow it.
func (s *Step) Assign(key store.TaskKey, worker string) (*Assignment, error) {
	c := s.c
	t, err := c.Task(key)
	if err != nil {
		return nil, missing(err, "task", key.Task)
	}
	run, err := c.Run(key.Run)
	switch {
	case err != nil:
		return nil, missing(err, "run", key.Run)
	case t.Status != store.Queued:
		return nil, &ConflictError{"task " + t.Task, "is " + string(t.Status)}
	case !t.Ready && (run.Ordered || t.Blockers > 0 || run.Status != store.Running || run.Stopping != ""):
		return nil, &ConflictError{"task " + t.Task, "cannot start yet: others come first"}
	case !t.Ready:
		if err := c.ready(t, true, "it is assigned"); err != nil {
			return nil, err
		}
		if t, err = c.Task(key); err != nil {
			return nil, err
		}
	}
	a, err := c.start(t, Claim{Worker: worker})
	if errors.Is(err, errNoBudget) {
		return nil, &ConflictError{"task " + t.Task, "is not within the budget"}
	}
	if err != nil {
		return nil, err
	}
	return &a, c.give(worker, a.Attempt.ID)
}

// Cancel does the same as [Engine.Cancel].
func (s *Step) Cancel(t Target, why string) error { return s.c.cancel(t, why) }

// Tasks returns all tasks of a run.
func (s *Step) Tasks(run string) ([]store.Task, error) { return s.c.Tasks(run) }

// Take does the same as [Engine.Claim] for a worker that renews its leases by
// [Step.Beat]. It returns nil if no task can start.
func (s *Step) Take(r Claim) (*Assignment, error) { return s.c.claimOnce(r) }

// Beat does the same as [Engine.Beat].
func (s *Step) Beat(said store.Worker, held []Held) ([]Order, error) { return s.c.beats(said, held) }

// Turn does the same as [Engine.Turn].
func (s *Step) Turn(f Finish, r Claim) (Outcome, *Assignment, error) { return s.c.turn(f, r) }

// Ask does the same as [Engine.Ask].
func (s *Step) Ask(a Ask) (string, error) { return s.c.ask(a) }

// Release does the same as [Engine.Release].
func (s *Step) Release(worker string, held []Held) error { return s.c.release(worker, held) }

// Finish does the same as [Engine.Finish].
func (s *Step) Finish(f Finish) (Outcome, error) {
	return once(s.c, "finish", f.Key, func() (Outcome, error) { return s.c.finish(f) })
}

// Once returns the answer that was stored for the key before, or else runs do and
// stores its answer. Without a key, do always runs.
func Once[A any](s *Step, operation, key string, do func() (A, error)) (A, error) {
	return once(s.c, operation, key, do)
}

// OnceNeed returns the keys that [Once] will look up.
func OnceNeed(operation, key string) []string { return promiseNeed(operation, key) }
