package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/storetest"
)

// check verifies that the stored rows of all runs are consistent.
func (w *world) check() error {
	return w.store.Read(context.Background(), func(r store.Reader) error {
		runs, err := r.Runs()
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := checkRun(r, run); err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			if err := w.talk.check(r, run); err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
		}
		return cmp.Or(checkQuestions(r), checkSpending(r, runs))
	})
}

// checkSpending verifies that the sums of days and months are what their attempts have spent.
func checkSpending(r store.Reader, runs []store.Run) error {
	want := map[string]int64{}
	for _, run := range runs {
		attempts, err := r.AttemptsOf(run.ID)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if a.Status.Final() && a.Counted.Tokens != a.Spent.Tokens {
				return fmt.Errorf("attempt %s has spent %d tokens, of which %d are counted", a.ID, a.Spent.Tokens, a.Counted.Tokens)
			}
			want[a.Day] += a.Counted.Tokens
			want[a.Day[:7]] += a.Counted.Tokens
		}
	}
	for period, tokens := range want {
		if got, err := spendingIn(r, period); err != nil || got.Tokens != tokens {
			return fmt.Errorf("the attempts of %s have spent %d tokens, and the sum is %d: %w", period, tokens, got.Tokens, err)
		}
	}
	return nil
}

// spendingIn returns what was spent in a day or month.
func spendingIn(r store.Reader, period string) (store.Amount, error) {
	item, err := r.Item(store.ItemKey{Kind: engine.SpendingKind, ID: engine.SpendingID("", period)})
	if errors.Is(err, store.ErrNotFound) {
		return store.Amount{}, nil
	}
	var s engine.Spending
	if err == nil {
		err = json.Unmarshal(item.Data, &s)
	}
	return s.Spent, err
}

func checkRun(r store.Reader, run store.Run) error {
	run.Plan = nil // the plan would make error messages too long
	tasks, err := r.Tasks(run.ID)
	if err != nil {
		return err
	}
	var open, ready, active, failed int
	var reserved int64
	complete := map[string]bool{}
	for _, t := range tasks {
		complete[t.Task] = t.Status == store.Complete
	}
	for _, t := range tasks {
		blockers := 0
		for _, need := range t.Needs {
			if !complete[need] {
				blockers++
			}
		}
		if t.Blockers != blockers {
			return fmt.Errorf("task %s: has %d blockers, and says %d", t.Task, blockers, t.Blockers)
		}
		if err := checkTask(r, t); err != nil {
			return fmt.Errorf("task %s: %w", t.Task, err)
		}
		if !t.Status.Final() {
			open++
		}
		if t.Ready {
			ready++
		}
		switch t.Status {
		case store.Running:
			active++
			if t.Reserve.Tokens > 0 {
				reserved += max(t.Reserve.Tokens-t.Spent.Tokens, 0)
			}
		case store.Failed:
			failed++
		}
	}
	switch {
	case open != run.Open || ready != run.Ready || active != run.Active || failed != run.Failed || reserved != run.Reserved.Tokens:
		return fmt.Errorf("counts %d open, %d ready, %d active, %d failed, %d reserved, but says %+v", open, ready, active, failed, reserved, run)
	case run.Parallel > 0 && active > run.Parallel:
		return fmt.Errorf("%d tasks run, of %d", active, run.Parallel)
	case run.Budget.Tokens > 0 && run.Spent.Tokens+run.Reserved.Tokens > run.Budget.Tokens:
		return fmt.Errorf("the budget is exceeded: %+v", run)
	case run.Status.Final() && open > 0, !run.Status.Final() && open == 0 && (!run.Conducted || run.Stopping != ""):
		return fmt.Errorf("is %s with %d open tasks", run.Status, open)
	}
	return nil
}

func checkTask(r store.Reader, t store.Task) error {
	attempts, err := r.Attempts(t.TaskKey)
	if err != nil {
		return err
	}
	live, used, refused := 0, 0, 0
	for _, a := range attempts {
		switch {
		case a.Class == failure.Auth && a.Account != "" && a.Status != store.Cancelled:
			refused++ // it counts only if no other account could continue
		case usesAttempt(a):
			used++
		}
		if a.Status == store.Running {
			live++
			if a.ID != t.RunningAttempt {
				return fmt.Errorf("%s runs, but %q is its attempt", a.ID, t.RunningAttempt)
			}
		}
	}
	switch {
	case live > 1:
		return fmt.Errorf("%d attempts are alive", live)
	case (live == 1) != (t.Status == store.Running):
		return fmt.Errorf("is %s with %d live attempts", t.Status, live)
	case t.CountedAttempts < used || t.CountedAttempts > used+refused:
		return fmt.Errorf("%d attempts are counted, of which %d use one up", t.CountedAttempts, used)
	case t.CountedAttempts > t.Retries+1:
		return fmt.Errorf("%d attempts with %d retries", t.CountedAttempts, t.Retries)
	case t.Ready && t.Status != store.Queued:
		return fmt.Errorf("is %s and ready", t.Status)
	}
	return nil
}

// usesAttempt reports whether an attempt counts against the retries of its task. Only rate limited,
// released and lost attempts that were not cancelled do not count.
func usesAttempt(a store.Attempt) bool {
	switch a.Class {
	case failure.RateLimited, failure.Released, failure.Lost:
		return a.Status == store.Cancelled
	}
	return true
}

// losses counts, for each task, its lost attempts since a user last retried it.
type losses map[store.TaskKey]int

// mostLost is the number of lost attempts after which a task without retries fails.
const mostLost = 6

// add counts a lost attempt if e is the event of one. It returns an error if the task is retried
// although too many attempts were lost, or fails although it should be retried.
func (l losses) add(e store.Event, t store.Task, a store.Attempt) error {
	key := store.TaskKey{Run: e.Run, Task: e.Task}
	switch {
	case e.Kind == "task.queued" && store.Status(e.From).Final():
		l[key] = 0
	case e.AttemptRow != nil && a.Class == failure.Lost:
		l[key]++
		tooMany := l[key] >= max(mostLost, t.Retries+1)
		if t.Status == store.Queued && tooMany || t.Status == store.Failed && !tooMany {
			return fmt.Errorf("event %d: %s is %s after %d lost attempts", e.Seq, e.Task, t.Status, l[key])
		}
	}
	return nil
}

// replay checks that the events lead to the stored rows, and that tasks fail after the right number
// of lost attempts.
func (w *world) replay() error {
	return w.store.Read(context.Background(), func(r store.Reader) error {
		lost, delivered := losses{}, map[string]string{}
		return storetest.Replay(r, func(e store.Event, rows storetest.Rows) error {
			if e.Kind == "message.delivered" {
				if err := deliveredOnce(delivered, e, rows.Attempts[e.Attempt]); err != nil {
					return err
				}
			}
			return lost.add(e, rows.Tasks[store.TaskKey{Run: e.Run, Task: e.Task}], rows.Attempts[e.Attempt])
		})
	})
}
