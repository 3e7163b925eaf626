package runquery

import (
	"context"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Follow calls the function show with the current state of the run: once at the start, and then
// after each change in the store, but at most once per interval. The store has no events for what a
// running agent is doing at the moment. So Follow also calls show when a second has passed without
// a change (or when interval has passed, if that is longer). It returns when the run has ended,
// when the store fails, when show returns an error, or when ctx ends.
func (l *Querier) Follow(ctx context.Context, run string, interval time.Duration, show func(fleet.Run) error) error {
	f := &follower{querier: l, id: run}
	for {
		if err := l.store.Read(ctx, f.refresh); err != nil {
			return err
		}
		if err := show(f.run); err != nil || f.run.Status.Final() {
			return err
		}
		if err := l.waitForChange(ctx, f.last, interval); err != nil {
			return err
		}
	}
}

// Changes calls the function notify once at the start, and then after each change in the store, but
// at most once per interval. Like Follow, it also calls notify when a second has passed without a
// change (or when interval has passed, if that is longer). It returns when the store fails, when
// notify returns an error, or when ctx ends.
func (l *Querier) Changes(ctx context.Context, interval time.Duration, notify func() error) error {
	for {
		var last int64
		err := l.store.Read(ctx, func(r store.Reader) (err error) {
			last, err = r.LastSeq()
			return err
		})
		if err != nil {
			return err
		}
		if err := notify(); err != nil {
			return err
		}
		if err := l.waitForChange(ctx, last, interval); err != nil {
			return err
		}
	}
}

// activityInterval is how long Follow and Changes wait for an event before they continue without
// one. They cannot rely on events alone: what a running agent is doing at the moment changes
// without an event.
const activityInterval = time.Second

// waitForChange waits for an event with a sequence number above cursor. If none comes, it returns
// after activityInterval, or after the given interval if that is longer. It returns before the
// given interval has passed only if ctx ends or the store fails, even if an event comes earlier.
func (l *Querier) waitForChange(ctx context.Context, cursor int64, interval time.Duration) error {
	pause := time.NewTimer(interval)
	defer pause.Stop()
	wait, cancel := context.WithTimeout(ctx, max(interval, activityInterval))
	defer cancel()
	if err := l.store.Wait(wait, cursor); err != nil && wait.Err() == nil {
		return err
	}
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// follower keeps a copy of a run's state up to date. A run may have thousands of tasks. So, after
// the first time, follower reads only the tasks that have changed and the running attempts.
type follower struct {
	querier *Querier
	id      string
	last    int64 // Seq of the last event that is included in run
	run     fleet.Run
	at      map[string]int // index in run.Tasks of each task, by the id of the task
}

// maxEvents is how many new events refresh reads at most. If there are that many or more, refresh
// reads the whole run again instead.
const maxEvents = 5000

// refresh updates f.run to the current state of the run in the store.
func (f *follower) refresh(r store.Reader) error {
	if f.at == nil {
		return f.readAll(r)
	}
	changed, ok, err := f.changedTasks(r)
	if err != nil {
		return err
	}
	if !ok {
		return f.readAll(r)
	}
	row, err := r.Run(f.id)
	if err != nil {
		return NotFoundAs(err, "run", f.id)
	}
	questions, err := openQuestions(r, f.id)
	if err != nil {
		return err
	}
	run := f.querier.runOf(row)
	// Copy the slice of tasks, because the caller of Follow may still use the previous state of the
	// run, which contains the old slice.
	run.Tasks, run.Counts = slices.Clone(f.run.Tasks), f.run.Counts
	for _, id := range changed {
		if err := f.readTask(r, &run, id); err != nil {
			return err
		}
	}
	if err := f.readActivity(r, &run); err != nil {
		return err
	}
	for i := range run.Tasks {
		run.Tasks[i].Question = questions[run.Tasks[i].ID]
	}
	run.Lanes, err = pausedAccounts(r)
	f.run = run
	return err
}

// readAll reads the run with all its tasks into f.
func (f *follower) readAll(r store.Reader) (err error) {
	if f.last, err = r.LastSeq(); err != nil {
		return err
	}
	if f.run, err = f.querier.View(r, f.id); err != nil {
		return err
	}
	f.at = make(map[string]int, len(f.run.Tasks))
	for i, t := range f.run.Tasks {
		f.at[t.ID] = i
	}
	return nil
}

// readActivity reads what the running agents are doing, and stores it in run. It is called even if
// there are no new events, because what an agent is doing changes without an event.
func (f *follower) readActivity(r store.Reader, run *fleet.Run) error {
	running, err := store.RunningAttempts(r)
	for _, a := range running {
		if at, known := f.at[a.Task]; known && a.Run == f.id {
			run.Tasks[at].Attempt = AttemptOf(a)
		}
	}
	return err
}

// changedTasks reads the events after the event with the sequence number f.last, and then sets
// f.last to the number of the last event that it has read. It returns the ids of the run's tasks
// that these events are about, without duplicates. If there are maxEvents events or more, ok is
// false, and f.last does not change.
func (f *follower) changedTasks(r store.Reader) (tasks []string, ok bool, err error) {
	events, err := r.Events(f.last, maxEvents)
	if err != nil || len(events) == maxEvents {
		return nil, false, err
	}
	seen := map[string]bool{}
	for _, e := range events {
		f.last = e.Seq
		if e.Run == f.id && e.Task != "" && !seen[e.Task] {
			seen[e.Task] = true
			tasks = append(tasks, e.Task)
		}
	}
	return tasks, true, nil
}

// readTask reads the task with the given id, and replaces it in run.Tasks or adds it there. It also
// corrects run.Counts.
func (f *follower) readTask(r store.Reader, run *fleet.Run, id string) error {
	row, err := r.Task(store.TaskKey{Run: f.id, Task: id})
	if err != nil {
		return NotFoundAs(err, "task", id)
	}
	task, err := f.querier.taskOf(r, row)
	if err != nil {
		return err
	}
	at, known := f.at[id]
	if !known { // the run's conductor, a program that adds tasks, has added the task
		at = len(run.Tasks)
		f.at[id] = at
		run.Tasks = append(run.Tasks, task)
	} else {
		run.Counts.Remove(run.Tasks[at].Status)
	}
	run.Counts.Add(task.Status)
	run.Tasks[at] = task
	return nil
}
