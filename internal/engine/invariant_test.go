package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/failure"
	"gaffer/internal/store"
)

// check holds what is stored to what must always be true.
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
		}
		return nil
	})
}

func checkRun(r store.Reader, run store.Run) error {
	run.Plan = nil // too long for a message
	tasks, err := r.Tasks(run.ID)
	if err != nil {
		return err
	}
	var open, ready, active, failed int
	var reserved int64
	for _, t := range tasks {
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
			reserved += t.Reserve.Tokens
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
	live, used := 0, 0
	for _, a := range attempts {
		if usesAttempt(a) {
			used++
		}
		if a.Status == store.Running {
			live++
			if a.ID != t.Attempt {
				return fmt.Errorf("%s runs, but %q is its attempt", a.ID, t.Attempt)
			}
		}
	}
	switch {
	case live > 1:
		return fmt.Errorf("%d attempts are alive", live)
	case (live == 1) != (t.Status == store.Running):
		return fmt.Errorf("is %s with %d live attempts", t.Status, live)
	case t.Attempts != used:
		return fmt.Errorf("%d attempts are counted, of which %d use one up", t.Attempts, used)
	case t.Attempts > t.Retries+1:
		return fmt.Errorf("%d attempts with %d retries", t.Attempts, t.Retries)
	case t.Ready && t.Status != store.Queued:
		return fmt.Errorf("is %s and ready", t.Status)
	}
	return nil
}

// usesAttempt reports whether an attempt counts against the retries of its task.
// One that runs does, and one that was cancelled, however it ended.
func usesAttempt(a store.Attempt) bool {
	switch failure.Class(a.Class) {
	case failure.RateLimited, failure.Released, failure.Lost:
		return a.Status == store.Cancelled
	}
	return true
}

// losses counts the lost attempts of tasks since the last retry by a user.
type losses map[store.TaskKey]int

// mostLost is how many attempts of a task without retries may be lost.
const mostLost = 6

// add takes in an event. It returns an error if a task is tried again although
// too many of its attempts were lost, or given up although they were not.
func (l losses) add(e store.Event, t store.Task, a store.Attempt) error {
	key := store.TaskKey{Run: e.Run, Task: e.Task}
	switch {
	case e.Kind == "task.queued" && store.Status(e.From).Final():
		l[key] = 0
	case e.Tried != nil && a.Class == string(failure.Lost):
		l[key]++
		tooMany := l[key] >= max(mostLost, t.Retries+1)
		if t.Status == store.Queued && tooMany || t.Status == store.Failed && !tooMany {
			return fmt.Errorf("event %d: %s is %s after %d lost attempts", e.Seq, e.Task, t.Status, l[key])
		}
	}
	return nil
}

// replay makes the rows anew from the events and compares them with what is
// stored. Leases are not events, and a run's counters follow from its tasks.
func (w *world) replay() error {
	return w.store.Read(context.Background(), func(r store.Reader) error {
		events, err := r.Events(0, 1<<30)
		if err != nil {
			return err
		}
		replayed := state{map[string]store.Run{}, map[store.TaskKey]store.Task{}, map[string]store.Attempt{}}
		lost := losses{}
		for i, e := range events {
			if e.Seq != int64(i+1) {
				return fmt.Errorf("event %d has the number %d", i+1, e.Seq)
			}
			if err := replayed.apply(e); err != nil {
				return err
			}
			if err := lost.add(e, replayed.Tasks[store.TaskKey{Run: e.Run, Task: e.Task}], replayed.Attempts[e.Attempt]); err != nil {
				return err
			}
		}
		stored, err := read(r)
		if err != nil {
			return err
		}
		want, got := stored.text(), replayed.text()
		if want != got {
			return fmt.Errorf("the events replay to something else (-stored +replayed):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
		return nil
	})
}

// text is the state without what is no event: leases, and a run's counters and
// sums, which follow from its tasks.
func (s state) text() string {
	var lines []string
	for _, run := range s.Runs {
		run.Open, run.Ready, run.Active, run.Failed, run.Waves = 0, 0, 0, 0, nil
		run.Reserved, run.Spent = store.Amount{}, store.Amount{}
		run.Worked, run.Waited = 0, 0
		lines = append(lines, line(run))
	}
	for _, t := range s.Tasks {
		lines = append(lines, line(t))
	}
	for _, a := range s.Attempts {
		a.Lease, a.State, a.Doing, a.Source, a.Said = time.Time{}, "", "", "", time.Time{}
		lines = append(lines, line(a))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func line(row any) string {
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// state is the rows that events speak of.
type state struct {
	Runs     map[string]store.Run
	Tasks    map[store.TaskKey]store.Task
	Attempts map[string]store.Attempt
}

func (s state) apply(e store.Event) error {
	switch kind, _, _ := strings.Cut(e.Kind, "."); kind {
	case "run":
		plan := s.Runs[e.Run].Plan
		err := put(s.Runs, e, func(r store.Run) string { return r.ID })
		if run := s.Runs[e.Run]; run.Plan == nil {
			run.Plan = plan
			s.Runs[e.Run] = run
		}
		return err
	case "task":
		key := store.TaskKey{Run: e.Run, Task: e.Task}
		spec := s.Tasks[key].Spec
		err := put(s.Tasks, e, func(t store.Task) store.TaskKey { return t.TaskKey })
		if t := s.Tasks[key]; t.Spec == nil {
			t.Spec = spec
			s.Tasks[key] = t
		}
		if err == nil && e.Tried != nil {
			e.Row = e.Tried
			err = put(s.Attempts, e, func(a store.Attempt) string { return a.ID })
		}
		return err
	case "attempt":
		return put(s.Attempts, e, func(a store.Attempt) string { return a.ID })
	}
	return nil
}

func put[K comparable, V any](rows map[K]V, e store.Event, key func(V) K) error {
	var row V
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	rows[key(row)] = row
	return nil
}

func read(r store.Reader) (state, error) {
	s := state{map[string]store.Run{}, map[store.TaskKey]store.Task{}, map[string]store.Attempt{}}
	runs, err := r.Runs()
	if err != nil {
		return s, err
	}
	for _, run := range runs {
		s.Runs[run.ID] = run
		tasks, err := r.Tasks(run.ID)
		if err != nil {
			return s, err
		}
		for _, t := range tasks {
			s.Tasks[t.TaskKey] = t
			attempts, err := r.Attempts(t.TaskKey)
			if err != nil {
				return s, err
			}
			for _, a := range attempts {
				s.Attempts[a.ID] = a
			}
		}
	}
	return s, nil
}
