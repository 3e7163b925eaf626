package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// next lists the allowed transitions of a task's status. A final status can be left
// only by a user's retry.
var next = map[store.Status][]store.Status{
	"":              {store.Queued},
	store.Queued:    {store.Running, store.Cancelled, store.Failed},
	store.Running:   {store.Queued, store.Complete, store.Failed, store.Cancelled},
	store.Failed:    {store.Queued},
	store.Cancelled: {store.Queued},
}

// move changes a task's status, updates its run's counters, and appends the event.
func (c *change) move(t *store.Task, to store.Status, why string) error {
	return c.moveWith(t, nil, to, why)
}

// moveWith does the same as move, and also stores the attempt that starts or ends.
func (c *change) moveWith(t *store.Task, a *store.Attempt, to store.Status, why string) error {
	from := t.Status
	if !slices.Contains(next[from], to) {
		return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s and cannot become %s", from, to)}
	}
	run, err := c.Run(t.Run)
	if err != nil {
		return missing(err, "run", t.Run)
	}
	if t.Ready {
		t.Ready = false
		run.Ready--
	}
	count(&run, t.Wave, from, -1)
	count(&run, t.Wave, to, +1)
	t.Status = to
	if to == store.Complete {
		c.completed = t.Run
	}
	c.PutTask(*t)
	c.PutRun(run)
	e := store.Event{Kind: "task." + string(to), Run: t.Run, Task: t.Task, Attempt: t.Attempt, From: string(from), To: string(to), Why: why}
	if a == nil {
		return c.event(e, *t)
	}
	c.PutAttempt(*a)
	tried, err := a.AppendJSON(make([]byte, 0, roomForRow))
	if err != nil {
		return fmt.Errorf("attempt %s: %w", a.ID, err)
	}
	e.Attempt, e.Tried = a.ID, tried
	return c.event(e, *t)
}

// count adds by to the counters of a run for a task in status s.
func count(run *store.Run, wave int, s store.Status, by int) {
	switch s {
	case store.Running:
		run.Active += by
	case store.Failed:
		run.Failed += by
	}
	if s == "" || s.Final() {
		return
	}
	run.Open += by
	if wave == 0 {
		return
	}
	run.Waves = slices.Clone(run.Waves) // rows are shared with other readers, so copy before changing
	i, found := slices.BinarySearchFunc(run.Waves, wave, func(w store.WaveCount, n int) int { return w.Wave - n })
	if !found {
		run.Waves = slices.Insert(run.Waves, i, store.WaveCount{Wave: wave})
	}
	run.Waves[i].Open += by
}

// openWave returns the highest wave whose tasks may start, which is the lowest wave
// with unfinished tasks.
func openWave(run store.Run) int {
	for _, w := range run.Waves {
		if w.Open > 0 {
			return w.Wave
		}
	}
	return math.MaxInt32
}

// ready sets whether a task may be claimed.
func (c *change) ready(t store.Task, ready bool, why string) error {
	run, err := c.Run(t.Run)
	if err != nil {
		return missing(err, "run", t.Run)
	}
	kind := "task.waiting"
	t.Ready = ready
	if ready {
		kind = "task.ready"
		run.Ready++
	} else {
		run.Ready--
	}
	c.PutTask(t)
	c.PutRun(run)
	return c.event(store.Event{Kind: kind, Run: t.Run, Task: t.Task, Why: why}, t)
}

// fill makes tasks of a run ready, up to the number that may run at once. Few tasks are
// ready at a time, so a claim does not have to scan all waiting tasks.
func (c *change) fill(id string) error {
	run, err := c.Run(id)
	if err != nil {
		return missing(err, "run", id)
	}
	if run.Status != store.Running || run.Stopping != "" || run.Open == run.Ready+run.Active {
		return nil
	}
	room := math.MaxInt32
	if run.Parallel > 0 {
		room = run.Parallel - run.Active - run.Ready
	}
	if room <= 0 {
		return nil
	}
	paused, err := c.paused()
	if err != nil {
		return err
	}
	list, err := c.Waiting(store.Wait{Run: id, Wave: openWave(run), Now: c.now, Paused: paused, Limit: room})
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := c.ready(t, true, ""); err != nil {
			return err
		}
	}
	return nil
}

// paused lists the lanes in which no task may start now.
func (c *change) paused() ([]string, error) {
	lanes, err := c.Lanes()
	var names []string
	for _, l := range lanes {
		if !l.Until.IsZero() {
			names = append(names, l.Name)
		}
	}
	return names, err
}

// unblock decrements Blockers of every task that needs the completed task.
func (c *change) unblock(key store.TaskKey) error {
	dependents, err := c.Dependents(key)
	if err != nil {
		return err
	}
	for _, t := range dependents {
		t.Blockers--
		c.PutTask(t)
		if err := c.event(store.Event{Kind: "task.unblocked", Run: t.Run, Task: t.Task, Why: key.Task + " is complete"}, t); err != nil {
			return err
		}
	}
	return nil
}

// abandon cancels the tasks that can no longer start because t did not complete: the
// tasks that need it, and those of later waves.
func (c *change) abandon(t store.Task) error {
	why := fmt.Sprintf("%s is %s", t.Task, t.Status)
	below, err := c.Dependents(t.TaskKey)
	if err != nil {
		return err
	}
	if t.Wave > 0 {
		all, err := c.Tasks(t.Run)
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Wave > t.Wave {
				below = append(below, other)
			}
		}
	}
	for _, task := range below {
		if err := c.drop(task.TaskKey, why); err != nil {
			return err
		}
	}
	return nil
}

// drop cancels a task that has not started, and the tasks that need it.
func (c *change) drop(key store.TaskKey, why string) error {
	t, err := c.Task(key)
	if err != nil {
		return missing(err, "task", key.Task)
	}
	if t.Status != store.Queued {
		return nil
	}
	t.Outcome = dependency
	if err := c.move(&t, store.Cancelled, why); err != nil {
		return err
	}
	return c.abandon(t)
}

// dependency is the outcome of a task that was cancelled because of another task, or
// because its run stops.
const dependency = "dependency"

// settle ends a run that has no open tasks left. A conducted run ends here only if it
// is stopping; otherwise its conductor ends it.
func (c *change) settle(id string) error {
	run, err := c.Run(id)
	if err != nil {
		return missing(err, "run", id)
	}
	if run.Open > 0 || run.Status != store.Running || run.Conducted && run.Stopping == "" {
		return nil
	}
	var to store.Status
	switch {
	case run.Stopping == cancelled:
		to = store.Cancelled
	case run.Failed > 0:
		to = store.Failed
	case run.Stopping != "":
		to = store.Failed
	default:
		if to, err = c.achieved(id); err != nil {
			return err
		}
	}
	return c.moveRun(run, to, "")
}

// achieved returns the final status of a run in which nothing failed: cancelled if all
// of its tasks were cancelled, complete otherwise.
func (c *change) achieved(run string) (store.Status, error) {
	if c.completed == run {
		return store.Complete, nil
	}
	tasks, err := c.Tasks(run)
	for _, t := range tasks {
		if t.Status == store.Complete {
			return store.Complete, err
		}
	}
	if len(tasks) == 0 {
		return store.Complete, err
	}
	return store.Cancelled, err
}

func (c *change) moveRun(run store.Run, to store.Status, why string) error {
	from := run.Status
	run.Status = to
	run.Ended = time.Time{}
	if to.Final() {
		run.Ended = c.now
	}
	c.PutRun(run)
	err := c.event(store.Event{Kind: "run." + string(to), Run: run.ID, From: string(from), To: string(to), Why: why}, run)
	if err != nil || !to.Final() {
		return err
	}
	return c.leave(run)
}
