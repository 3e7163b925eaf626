package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// next lists what may follow a task's status. A person's retry is the only way
// out of a final one.
var next = map[store.Status][]store.Status{
	"":              {store.Queued},
	store.Queued:    {store.Running, store.Cancelled, store.Failed},
	store.Running:   {store.Queued, store.Complete, store.Failed, store.Cancelled},
	store.Failed:    {store.Queued},
	store.Cancelled: {store.Queued},
}

// move changes a task's status, counts it in its run, and records the event.
func (c *change) move(t *store.Task, to store.Status, why string) error {
	return c.moveWith(t, nil, to, why)
}

// moveWith is move of a task together with the attempt at it that begins or ends.
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

// count adds a task of a status to its run's counters, or takes it away.
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
	run.Waves = slices.Clone(run.Waves) // rows are shared with whoever read them
	i, found := slices.BinarySearchFunc(run.Waves, wave, func(w store.WaveCount, n int) int { return w.Wave - n })
	if !found {
		run.Waves = slices.Insert(run.Waves, i, store.WaveCount{Wave: wave})
	}
	run.Waves[i].Open += by
}

// openWave is the highest wave whose tasks may start: the lowest that is not
// over.
func openWave(run store.Run) int {
	for _, w := range run.Waves {
		if w.Open > 0 {
			return w.Wave
		}
	}
	return math.MaxInt32
}

// ready lets a task be claimed, or no longer.
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

// fill makes as many tasks of a run ready as may run at once. Few are ready at a
// time, so that a claim need not look at all that wait.
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

// paused lists the lanes in which nothing starts now.
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

// unblock counts a completed task off those that need it.
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

// abandon cancels what can no longer start because key did not complete: the
// tasks that need it, and the waves after its own.
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

// drop cancels a task that has not started, and what needs it.
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

// dependency is the outcome of a task that was cancelled because of another.
const dependency = "dependency"

// settle ends a run that has nothing left to do. One that is conducted ends by
// itself only if it is to stop.
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

// achieved is how a run ended in which nothing failed: it is cancelled if all
// that it had was.
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
