package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// Step is one transaction that is made of several operations, for those whose
// requests are more than one of them. It is gone when the function that was given
// it returns.
type Step struct{ c *change }

// Do runs do in one transaction: all that it does is done, or nothing. It may run
// more than once, and must do nothing but use the step.
func (e *Engine) Do(ctx context.Context, who string, need store.Need, do func(s *Step) error) error {
	return e.write(ctx, who, need, func(c *change) error { return do(&Step{c}) })
}

// Now is the time of the transaction.
func (s *Step) Now() time.Time { return s.c.now }

// NewID returns an id that is new.
func (s *Step) NewID() string { return s.c.engine.opts.NewID() }

// NextSeq returns the number of the next event.
func (s *Step) NextSeq() int64 { return s.c.NextSeq() }

// Worker returns a worker. This and the other lookups return
// [store.ErrNotFound] for what is not there.
func (s *Step) Worker(id string) (store.Worker, error) { return s.c.Worker(id) }

// Run returns a run.
func (s *Step) Run(id string) (store.Run, error) { return s.c.Run(id) }

// Task returns a task.
func (s *Step) Task(key store.TaskKey) (store.Task, error) { return s.c.Task(key) }

// Attempt returns an attempt.
func (s *Step) Attempt(id string) (store.Attempt, error) { return s.c.Attempt(id) }

// HeldBy returns the attempts of a worker that run, the one first that must be
// heard of first. It looks at all that run.
func (s *Step) HeldBy(worker string) ([]store.Attempt, error) { return s.c.heldBy(worker) }

func (c *change) heldBy(worker string) ([]store.Attempt, error) {
	all, err := store.RunningAttempts(c)
	return slices.DeleteFunc(all, func(a store.Attempt) bool { return a.Worker != worker }), err
}

// Item returns an item.
func (s *Step) Item(key store.ItemKey) (store.Item, error) { return s.c.Item(key) }

// Items returns items of a kind and a parent after a number.
func (s *Step) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return s.c.Items(kind, parent, after, limit)
}

// PutItem adds or changes an item.
func (s *Step) PutItem(i store.Item) { s.c.PutItem(i) }

// DropItem takes an item away.
func (s *Step) DropItem(key store.ItemKey) { s.c.DropItem(key) }

// Event tells what happened to a row.
func (s *Step) Event(e store.Event, row any) error { return s.c.event(e, row) }

// Submit is [Engine.Submit].
func (s *Step) Submit(sub Submission) (string, error) {
	text, err := planText(sub)
	if err != nil {
		return "", err
	}
	return once(s.c, "submit", sub.Key, func() (string, error) { return s.c.submit(sub, text) })
}

// Extend is [Engine.Extend].
func (s *Step) Extend(x Extension) error {
	_, err := once(s.c, "extend", x.Key, func() (int, error) { return len(x.Tasks), s.c.extend(x) })
	return err
}

// Claim is [Engine.Claim] for a worker that is there and says only by
// [Step.Heartbeat] that it lives. It returns nil if there is nothing to start.
func (s *Step) Claim(r Claim) (*Assignment, error) {
	return once(s.c, "claim", r.Key, func() (*Assignment, error) {
		a, err := s.c.claim(r)
		if err != nil || a == nil {
			return nil, err
		}
		return a, s.c.give(r.Worker, a.Attempt.ID)
	})
}

// Assign gives one queued task to a worker, as [Step.Claim] does with the next
// one. A task that has started or ended, or one of an ordered run whose turn it
// is not, is a [*ConflictError].
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

// Cancel is [Engine.Cancel].
func (s *Step) Cancel(t Target, why string) error { return s.c.cancel(t, why) }

// Tasks returns all tasks of a run.
func (s *Step) Tasks(run string) ([]store.Task, error) { return s.c.Tasks(run) }

// Take is [Engine.Claim] for a worker that says by [Step.Beat] that it lives. It
// returns nil if there is nothing to start.
func (s *Step) Take(r Claim) (*Assignment, error) { return s.c.claimOnce(r) }

// Beat is [Engine.Beat].
func (s *Step) Beat(said store.Worker, held []Held) ([]Order, error) { return s.c.beats(said, held) }

// Turn is [Engine.Turn].
func (s *Step) Turn(f Finish, r Claim) (Outcome, *Assignment, error) { return s.c.turn(f, r) }

// Ask is [Engine.Ask].
func (s *Step) Ask(a Ask) (string, error) { return s.c.ask(a) }

// Release is [Engine.Release].
func (s *Step) Release(worker string, held []Held) error { return s.c.release(worker, held) }

// Finish is [Engine.Finish].
func (s *Step) Finish(f Finish) (Outcome, error) {
	return once(s.c, "finish", f.Key, func() (Outcome, error) { return s.c.finish(f) })
}

// Once gives the answer again that was given to the same key before, or else that
// of do. Without a key every request is a new one.
func Once[A any](s *Step, operation, key string, do func() (A, error)) (A, error) {
	return once(s.c, operation, key, do)
}

// OnceNeed is what [Once] will look up.
func OnceNeed(operation, key string) []string { return promiseNeed(operation, key) }
