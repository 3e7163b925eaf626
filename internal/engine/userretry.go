package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// retries queues ended tasks again when a user retries them or sends them a message. It also
// continues their runs.
type retries struct {
	*txContext
	states  *taskStates
	beads   *beads
	items   *items
	reviews *reviews
	budgets *budgets
}

// Retrying is a user's request to try a task again.
type Retrying struct {
	store.TaskKey
	Who, Why string
	// Budget is the new budget of the task: what all its attempts may spend together. It has two
	// parts, money and tokens. If a part is zero, the task keeps the old value of this part.
	Budget store.Amount
}

// Retry queues a failed or cancelled task again, with its full number of retries. It continues the
// run if the run has ended or is stopping. It also queues again those tasks of the run that had
// ended only because other tasks failed or were cancelled. A task that still waits for a failed or
// cancelled task is not queued. Retry returns a [*BudgetError] if the task's budget is spent. It
// also returns one if the run's budget does not allow another attempt and no task of the run is
// running.
//
// A complete task can be retried only if its work was to pick one of several candidates, which are
// alternative tasks that did the same work. When such a task is retried, it takes the newer work of
// the candidate that it has picked. Complete tasks that depend on the retried task stay complete.
func (e *Engine) Retry(ctx context.Context, key store.TaskKey, who, why string) error {
	return e.RetryWith(ctx, Retrying{TaskKey: key, Who: who, Why: why})
}

// RetryWith does the same as [Engine.Retry], and can also change the task's budget (see
// [Retrying]).
func (e *Engine) RetryWith(ctx context.Context, r Retrying) error {
	key, why := r.TaskKey, r.Why
	return e.write(ctx, r.Who, func(tx *transaction) error {
		run, err := tx.run(key.Run)
		if err != nil {
			return err
		}
		if run.Conducted {
			return &ConflictError{"run " + run.ID, "is a team's, which decides by itself what is tried again: 'gaffer team resume'"}
		}
		t, err := tx.task(key)
		if err != nil {
			return err
		}
		again := t.Status == store.Complete && t.Account == plan.PickAgent
		if t.Status != store.Failed && t.Status != store.Cancelled && !again {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s and cannot be retried", t.Status)}
		}
		tasks, err := tx.Tasks(key.Run)
		if err != nil {
			return err
		}
		if before, ok := failedNeed(t, tasks); ok {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("waits for %s, which is %s; retry that", before.Task, before.Status)}
		}
		t.Reserve.MicroUSD = cmp.Or(r.Budget.MicroUSD, t.Reserve.MicroUSD)
		t.Reserve.Tokens = cmp.Or(r.Budget.Tokens, t.Reserve.Tokens)
		if err := tx.budgets.mayStart(run, t); err != nil && (run.Active == 0 || isFinalBudgetError(err)) {
			return err
		}
		if err := tx.retries.resume(run, why); err != nil {
			return err
		}
		if err := tx.retries.requeueWithRetries(t, why); err != nil {
			return err
		}
		if again {
			if err := tx.states.blockDependents(key); err != nil {
				return err
			}
		}
		if err := tx.retries.requeueDependents(key.Run, why); err != nil {
			return err
		}
		return tx.states.makeTasksReady(key.Run)
	})
}

// isFinalBudgetError reports whether the error err of [budgets.mayStart] will remain even if the
// task waits. An error about the run's budget may go away, because running tasks may spend less
// than is reserved for them. All other errors remain.
func isFinalBudgetError(err error) bool {
	var refused *BudgetError
	return !errors.As(err, &refused) || refused.Task != ""
}

// Raise is a user's request to continue a run with another budget.
type Raise struct {
	Run, Who, Why string
	// Budget is the new budget. It has two parts, money and tokens. If a part is zero, the run
	// keeps the old value of this part.
	Budget store.Amount
}

// RaiseBudget sets the budget of a run. If tasks have failed because of the old budget and the new
// budget allows them to start, RaiseBudget queues these tasks again and continues the run. Tasks
// that have spent a budget of their own stay failed. RaiseBudget returns a [*BudgetError] if the
// run has already spent the new budget.
func (e *Engine) RaiseBudget(ctx context.Context, r Raise) error {
	return e.write(ctx, r.Who, func(tx *transaction) error {
		run, err := tx.run(r.Run)
		if err != nil {
			return err
		}
		if run.Conducted {
			return &ConflictError{"run " + run.ID, "is a team's: 'gaffer team resume --budget USD' gives it more"}
		}
		run.Budget.MicroUSD = cmp.Or(r.Budget.MicroUSD, run.Budget.MicroUSD)
		run.Budget.Tokens = cmp.Or(r.Budget.Tokens, run.Budget.Tokens)
		if run.Spent.Reaches(run.Budget) {
			return &BudgetError{Run: run.ID, Limit: run.Budget, Spent: run.Spent}
		}
		tx.PutRun(run)
		if err := tx.event(store.Event{Kind: "run.budget", Run: run.ID, Why: r.Why}, run); err != nil {
			return err
		}
		return tx.retries.retryOverBudget(run, r.Why)
	})
}

// retryOverBudget retries the tasks of a run that have failed because of a budget. It queues a task
// again only if the budgets now allow an attempt and no task that it waits for has failed or was
// cancelled. If there is at least one such task, retryOverBudget also continues the run.
func (r *retries) retryOverBudget(run store.Run, why string) error {
	tasks, err := r.Tasks(run.ID)
	if err != nil {
		return err
	}
	found := false
	for _, t := range tasks {
		if t.Status != store.Failed || t.Outcome != string(failure.OverBudget) {
			continue
		}
		if _, blocked := failedNeed(t, tasks); blocked {
			continue
		}
		may, err := r.budgets.mayStartNow(run, t)
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		if !found {
			if err := r.resume(run, why); err != nil {
				return err
			}
			found = true
		}
		if err := r.requeueWithRetries(t, why); err != nil {
			return err
		}
	}
	if found {
		if err := r.requeueDependents(run.ID, why); err != nil {
			return err
		}
	}
	return r.states.makeTasksReady(run.ID)
}

// resume continues a run that has ended or is stopping: its tasks may start again.
func (r *retries) resume(run store.Run, why string) error {
	run.Stopping = ""
	if run.Status == store.Running {
		r.PutRun(run)
		return r.event(store.Event{Kind: "run.resumed", Run: run.ID, Why: why}, run)
	}
	return r.states.setRunStatus(run, store.Running, why)
}

// requeueWithRetries queues an ended task again, with its full number of retries. Any worker that
// has the labels of the task may claim it, not only the worker of the last attempt.
func (r *retries) requeueWithRetries(t store.Task, why string) error {
	t.Retries += t.CountedAttempts
	run, err := r.run(t.Run)
	if err != nil {
		return err
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Task, err)
	}
	t.Labels, t.EndedAs = labelsOf(spec, run.OnlyWorker), ""
	return r.queueAgain(t, why)
}

// queueAgain queues an ended task again. If the user has approved the change that the task made,
// the approval becomes void. If the task was complete, the caller must also call blockDependents.
// queueAgain returns a [*BeadHeldError] if a newer task was created for the task's bead (a work
// item of the ledger protocol), and an [*ItemsHeldError] if another unfinished task works on the
// task's item, such as an issue.
func (r *retries) queueAgain(t store.Task, why string) error {
	if err := r.beads.checkHolds(t); err != nil {
		return err
	}
	if err := r.items.holdAgain(t); err != nil {
		return err
	}
	if err := r.reviews.voidApproval(t.TaskKey); err != nil {
		return err
	}
	n, err := r.countNeeds(t)
	if err != nil {
		return err
	}
	if t.Blockers = len(t.Needs) - n.complete; t.AnyNeed {
		t.Blockers = n.open
	}
	t.Lost = 0
	t.Outcome, t.NotBefore = "", time.Time{}
	ended := t.Status
	if err := r.states.setStatus(&t, store.Queued, why); err != nil || ended == store.Complete {
		return err
	}
	// The task t had ended without being complete, and is queued again. A task d with AnyNeed that
	// depends on t starts only when all tasks in d.Needs have ended, so d must wait for t again.
	dependents, err := r.Dependents(t.TaskKey)
	if err != nil {
		return err
	}
	for _, d := range dependents {
		if d.AnyNeed && d.Status == store.Queued {
			if err := r.states.blockOne(d, t.Task+" is queued again"); err != nil {
				return err
			}
		}
	}
	return nil
}

// requeueForMessage queues an ended task again, because a message waits for its agent. If the
// worker of the last attempt has a name, only that worker may claim the task, so that the agent
// continues its conversation. The task gets at least one more attempt. If the run has ended, it
// continues.
func (r *retries) requeueForMessage(run store.Run, t store.Task, why string) error {
	tasks, err := r.Tasks(run.ID)
	if err != nil {
		return err
	}
	if before, ok := failedNeed(t, tasks); ok {
		return &ConflictError{"task " + t.Task, fmt.Sprintf("waits for %s, which is %s; retry that", before.Task, before.Status)}
	}
	if err := r.budgets.mayStart(run, t); err != nil {
		return err
	}
	if err := r.resume(run, why); err != nil {
		return err
	}
	ended := t.Status
	t.EndedAs, t.Retries, t.NewConversation = ended, max(t.Retries, t.CountedAttempts), false
	if t.Labels, err = r.labelsForSameWorker(t); err != nil {
		return err
	}
	if err := r.queueAgain(t, why); err != nil {
		return err
	}
	if ended == store.Complete {
		if err := r.states.blockDependents(t.TaskKey); err != nil {
			return err
		}
		// In an ordered run, t must start before the tasks that are ready now. If t is in a wave,
		// it must start before the tasks of later waves. So make the ready tasks wait again.
		if run.Ordered || t.Wave > 0 {
			if err := r.states.clearReady(run.ID, nil, t.Task+" comes first"); err != nil {
				return err
			}
		}
	} else if err := r.requeueDependents(run.ID, why); err != nil {
		return err
	}
	return r.states.makeTasksReady(run.ID)
}

// labelsForSameWorker returns the labels of a task, with the label of the worker that ran its last
// attempt added, because only that worker has the conversation and the files of the attempt. It
// adds no label if the task had no attempt, if the task already has the label of a worker, or if
// the worker of the last attempt is unknown or has no name.
func (r *retries) labelsForSameWorker(t store.Task) (string, error) {
	labels := strings.FieldsFunc(t.Labels, func(r rune) bool { return r == ',' })
	bound := func(label string) bool { return strings.HasPrefix(label, WorkerLabel("")) }
	if t.LastAttempt == "" || slices.ContainsFunc(labels, bound) {
		return t.Labels, nil
	}
	last, err := r.attempt(t.LastAttempt)
	if err != nil {
		return "", err
	}
	w, err := r.Worker(last.Worker)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Name == "" {
		return t.Labels, nil // there is no label for an unknown worker or one without a name
	}
	return joinLabels(append(labels, WorkerLabel(w.Name))), err
}

// requeueDependents queues again those tasks of a run that had ended only because other tasks
// failed or were cancelled. It skips tasks that still wait for a failed or cancelled task. It also
// skips tasks that may not run again because of another task for the same bead or item (see
// queueAgain).
func (r *retries) requeueDependents(run, why string) error {
	for again := true; again; {
		again = false
		tasks, err := r.Tasks(run)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if t.Status != store.Cancelled && t.Status != store.Failed || t.Outcome != dependencyOutcome {
				continue
			}
			if _, ok := failedNeed(t, tasks); ok {
				continue
			}
			err := r.requeueWithRetries(t, why)
			if bead, item := (*BeadHeldError)(nil), (*ItemsHeldError)(nil); errors.As(err, &bead) || errors.As(err, &item) {
				continue
			}
			if err != nil {
				return err
			}
			again = true
			break // list the tasks again, because requeueing t may have changed other tasks
		}
	}
	return nil
}

// failedNeed returns a failed or cancelled task that prevents t from ever starting, because t must
// wait for it. Normally one such task is enough. But if t has AnyNeed, t can start as soon as all
// tasks in t.Needs have ended and one of them is complete. Then the tasks in t.Needs prevent t only
// if all of them have failed or were cancelled. ok is false if no task prevents t.
func failedNeed(t store.Task, tasks []store.Task) (found store.Task, ok bool) {
	for _, other := range tasks {
		need := slices.Contains(t.Needs, other.Task)
		before := t.Wave > 0 && other.Wave > 0 && other.Wave < t.Wave && !other.Optional || need
		ended := other.Status.Final() && other.Status != store.Complete
		switch {
		case before && ended:
			found, ok = other, true
			if !t.AnyNeed || !need {
				return found, true
			}
		case need && t.AnyNeed:
			// The task other, which is in t.Needs, is complete or unfinished. Because t has
			// AnyNeed, one complete task in t.Needs is enough, so t can still start.
			return store.Task{}, false
		}
	}
	return found, ok
}
