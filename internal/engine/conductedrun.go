package engine

import (
	"context"
	"fmt"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Extension describes tasks to add to a conducted run. The conductor of a run is a program that
// adds tasks to it and decides when the run ends.
type Extension struct {
	Run   string
	Key   string // idempotency key: a second request with the same key adds nothing
	Tasks []plan.Task
}

// Extend adds tasks to a conducted run. The new tasks must not depend on other tasks, because a
// conductor adds a task only when the task may start. Extend returns a [*ConflictError] if the run
// has no conductor, has ended, is stopping, or already has a task with the id of a new task.
func (e *Engine) Extend(ctx context.Context, x Extension) error {
	return e.write(ctx, "", func(tx *transaction) error {
		_, err := once(tx.txContext, "extend", x.Key, func() (int, error) { return len(x.Tasks), tx.submissions.extend(x) })
		return err
	})
}

func (s *submissions) extend(x Extension) error {
	run, err := s.conductedRun(x.Run)
	if err != nil {
		return err
	}
	if run.Status != store.Running || run.Stopping != "" {
		return &ConflictError{"run " + run.ID, "takes no more tasks: " + refusalReason(run.Stopping, run.Status)}
	}
	for _, t := range x.Tasks {
		if len(t.After) > 0 || t.Wave > 0 {
			return fmt.Errorf("task %s: a task that is added to a running run cannot depend on other tasks", t.ID)
		}
		if _, err := s.Task(store.TaskKey{Run: run.ID, Task: t.ID}); err == nil {
			return &ConflictError{"task " + t.ID, "is there already"}
		}
	}
	if run.Ordered && run.Ready > 0 {
		if err := s.states.clearReady(run.ID, nil, "others were added"); err != nil {
			return err
		}
	}
	return s.addAll(run, x.Tasks)
}

func refusalReason(why string, s store.Status) string {
	if why != "" {
		return "it stops: " + why
	}
	return "it is " + string(s)
}

// Conclude ends a conducted run (see [Extension]) with the status that its conductor has chosen:
// complete, or failed with a reason. It returns a [*ConflictError] if the run has no conductor or
// has unfinished tasks. If the run has already ended, Conclude does nothing.
func (e *Engine) Conclude(ctx context.Context, id string, to store.Status, why string) error {
	return e.write(ctx, "", func(tx *transaction) error {
		run, err := tx.submissions.conductedRun(id)
		switch {
		case err != nil || run.Status.Final():
			return err
		case run.Open > 0:
			return &ConflictError{"run " + id, fmt.Sprintf("has %d open tasks", run.Open)}
		}
		return tx.states.setRunStatus(run, to, why)
	})
}

// Reopening is a user's request to continue a conducted run (see [Extension]).
type Reopening struct {
	Run, Who, Why string
	Budget        store.Amount // the run's new budget; zero keeps the old budget
}

// Reopen changes the budget of a conducted run, unless r.Budget is zero. If the run has ended,
// Reopen also continues it. It returns a [*ConflictError] if the run has no conductor.
func (e *Engine) Reopen(ctx context.Context, r Reopening) error {
	return e.write(ctx, r.Who, func(tx *transaction) error {
		run, err := tx.submissions.conductedRun(r.Run)
		if err != nil {
			return err
		}
		if r.Budget != (store.Amount{}) && r.Budget != run.Budget {
			run.Budget = r.Budget
			tx.PutRun(run)
			if err := tx.event(store.Event{Kind: "run.budget", Run: run.ID, Why: r.Why}, run); err != nil {
				return err
			}
		}
		if !run.Status.Final() {
			return nil
		}
		return tx.retries.resume(run, r.Why)
	})
}

// conductedRun returns a run, or a [*ConflictError] if the run has no conductor.
func (s *submissions) conductedRun(id string) (store.Run, error) {
	run, err := s.run(id)
	if err != nil {
		return run, err
	}
	if !run.Conducted {
		return run, &ConflictError{"run " + id, "has all its tasks"}
	}
	return run, nil
}
