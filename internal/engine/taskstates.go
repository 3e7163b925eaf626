package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// taskStates changes the status of tasks and runs, maintains the counters in the rows of runs, and
// decides which tasks may be claimed.
type taskStates struct {
	*txContext
	workers *workers
	reviews *reviews
	items   *items
	// lastCompletedRun is the id of the run whose task this transaction has completed last. It is
	// empty if this transaction has completed no task.
	lastCompletedRun string
}

// allowedTransitions lists, for each status of a task, the statuses that may follow it. A final
// status changes only at a user's request, such as a retry or a message to the task's agent. If the
// user withdraws the message before the agent receives it, the task gets its final status back.
var allowedTransitions = map[store.Status][]store.Status{
	"":              {store.Queued},
	store.Queued:    {store.Running, store.Cancelled, store.Failed, store.Complete},
	store.Running:   {store.Queued, store.Complete, store.Failed, store.Cancelled},
	store.Complete:  {store.Queued},
	store.Failed:    {store.Queued},
	store.Cancelled: {store.Queued},
}

// setStatus changes a task's status, updates the counters of its run, and appends an
// event.
func (s *taskStates) setStatus(t *store.Task, to store.Status, why string) error {
	return s.setStatusWithAttempt(t, nil, to, why)
}

// setStatusWithAttempt does the same as setStatus. If the attempt a is not nil, its start or end is
// the cause of the change, and setStatusWithAttempt stores a too.
func (s *taskStates) setStatusWithAttempt(t *store.Task, a *store.Attempt, to store.Status, why string) error {
	from := t.Status
	if !slices.Contains(allowedTransitions[from], to) {
		return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s and cannot become %s", from, to)}
	}
	run, err := s.run(t.Run)
	if err != nil {
		return err
	}
	if t.Ready {
		t.Ready = false
		run.Ready--
	}
	addToCounters(&run, *t, from, -1)
	addToCounters(&run, *t, to, +1)
	t.Status = to
	if t.SentBack && to.Final() {
		if err := s.reviews.returnToUser(t); err != nil {
			return err
		}
	}
	if to == store.Complete {
		s.lastCompletedRun = t.Run
	}
	if to.Final() {
		if err := s.items.recordEnd(*t, why); err != nil {
			return err
		}
	}
	s.PutTask(*t)
	s.PutRun(run)
	e := store.Event{Kind: "task." + string(to), Run: t.Run, Task: t.Task, Attempt: t.RunningAttempt, From: string(from), To: string(to), Why: why}
	if a == nil {
		return s.event(e, *t)
	}
	s.PutAttempt(*a)
	tried, err := record.Text(a)
	if err != nil {
		return fmt.Errorf("attempt %s: %w", a.ID, err)
	}
	e.Attempt, e.AttemptRow = a.ID, json.RawMessage(tried)
	return s.event(e, *t)
}

// addToCounters adds delta (1 or -1) to the counters of a run that apply to the task t with the
// status s: Active counts the running tasks, Failed counts the failed tasks that are not optional,
// and Open counts the unfinished tasks. Each wave (a numbered group of tasks) has its own counter
// Open.
func addToCounters(run *store.Run, t store.Task, s store.Status, delta int) {
	wave := t.Wave
	switch {
	case s == store.Running:
		run.Active += delta
	case s == store.Failed && !t.Optional:
		run.Failed += delta
	}
	if s == "" || s.Final() {
		return
	}
	run.Open += delta
	if wave == 0 {
		return
	}
	// Copy the slice before changing it, because other copies of the run's row share it.
	run.Waves = slices.Clone(run.Waves)
	i, found := slices.BinarySearchFunc(run.Waves, wave, func(w store.WaveCount, n int) int { return w.Wave - n })
	if !found {
		run.Waves = slices.Insert(run.Waves, i, store.WaveCount{Wave: wave})
	}
	run.Waves[i].Open += delta
}

// openWave returns the number of the first wave with unfinished tasks. Waves are numbered groups of
// the run's tasks that run one after the other, so tasks of later waves may not start yet. If no
// wave has unfinished tasks, openWave returns MaxInt32.
func openWave(run store.Run) int {
	for _, w := range run.Waves {
		if w.Open > 0 {
			return w.Wave
		}
	}
	return math.MaxInt32
}

// endQueued ends a queued task. Normally it cancels the task and stores the given outcome. But if
// the task had already ended and was queued again only because of a user's message to its agent,
// endQueued gives the task its earlier status back and withdraws the undelivered messages.
func (s *taskStates) endQueued(t *store.Task, outcome, why string) error {
	to := t.EndedAs
	if to == "" {
		t.Outcome = outcome
		return s.setStatus(t, store.Cancelled, why)
	}
	if err := s.reviews.withdrawAll(t.TaskKey); err != nil {
		return err
	}
	t.EndedAs, t.NotBefore, t.Outcome = "", time.Time{}, cancelled
	if t.LastAttempt != "" {
		last, err := s.Attempt(t.LastAttempt)
		if err != nil {
			return err
		}
		t.Outcome = string(last.Class)
	}
	return s.setStatus(t, to, why)
}

// setReady sets the field Ready of a task, which says whether workers may claim the task, and
// appends an event. It also adds 1 to the run's number of ready tasks, or subtracts 1. So it must
// be called only if the value of the field changes.
func (s *taskStates) setReady(t store.Task, ready bool, why string) error {
	run, err := s.run(t.Run)
	if err != nil {
		return err
	}
	kind := "task.waiting"
	t.Ready = ready
	if ready {
		kind = "task.ready"
		run.Ready++
	} else {
		run.Ready--
	}
	s.PutTask(t)
	s.PutRun(run)
	return s.event(store.Event{Kind: kind, Run: t.Run, Task: t.Task, Why: why}, t)
}

// makeTasksReady makes queued tasks of a run ready, so that workers can claim them. It leaves out
// tasks that must wait for other tasks, for the end of a delay, or for a paused account of their
// agent. If the run has a parallel limit, makeTasksReady stops when as many tasks as the limit are
// ready or running. In a run that has ended or is stopping, no task becomes ready.
func (s *taskStates) makeTasksReady(id string) error {
	run, err := s.run(id)
	if err != nil {
		return err
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
	paused, err := s.blockedAccounts()
	if err != nil {
		return err
	}
	list, err := s.WaitingTasks(store.WaitQuery{Run: id, Wave: openWave(run), Now: s.now, PausedAccounts: paused, Limit: room})
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := s.setReady(t, true, ""); err != nil {
			return err
		}
	}
	return nil
}

// unblockDependents is called when the task with this key has just become complete. For each task t
// that depends on it, unblockDependents decrements t.Blockers, the number of tasks that t still
// waits for.
func (s *taskStates) unblockDependents(key store.TaskKey) error {
	dependents, err := s.Dependents(key)
	if err != nil {
		return err
	}
	for _, t := range dependents {
		if err := s.unblockOne(t, key.Task+" is complete"); err != nil {
			return err
		}
	}
	return nil
}

// blockDependents is called when the task with this key was complete and is queued again. For each
// task t that depends on it, blockDependents increments t.Blockers, the number of tasks that t
// waits for. This does not stop a task t that has already started.
func (s *taskStates) blockDependents(key store.TaskKey) error {
	dependents, err := s.Dependents(key)
	if err != nil {
		return err
	}
	why := key.Task + " is not complete any more"
	for _, t := range dependents {
		if err := s.blockOne(t, why); err != nil {
			return err
		}
	}
	return nil
}

// blockOne increments t.Blockers, the number of tasks that t waits for. If t was ready, it is not
// ready any more.
func (s *taskStates) blockOne(t store.Task, why string) error {
	t.Blockers++
	if t.Ready {
		return s.setReady(t, false, why)
	}
	s.PutTask(t)
	return s.event(store.Event{Kind: "task.blocked", Run: t.Run, Task: t.Task, Why: why}, t)
}

// setBlockers sets t.Blockers, the number of tasks that t waits for. The caller must pass a queued
// task that is not ready. setBlockers does not make t ready.
func (s *taskStates) setBlockers(t store.Task, n int) error {
	if t.Blockers == n {
		return nil
	}
	kind := "task.blocked"
	if n < t.Blockers {
		kind = "task.unblocked"
	}
	t.Blockers = n
	s.PutTask(t)
	return s.event(store.Event{Kind: kind, Run: t.Run, Task: t.Task, Why: fmt.Sprintf("it waits for %d tasks", n)}, t)
}

// unblockOne decrements t.Blockers, the number of tasks that t waits for. It does not make t ready.
func (s *taskStates) unblockOne(t store.Task, why string) error {
	t.Blockers--
	s.PutTask(t)
	return s.event(store.Event{Kind: "task.unblocked", Run: t.Run, Task: t.Task, Why: why}, t)
}

// endRunIfDone ends a run if all its tasks have ended. But if the run has a conductor (a program
// that adds tasks to the run), the conductor decides when the run ends. Then endRunIfDone ends the
// run only if the run is already stopping.
func (s *taskStates) endRunIfDone(id string) error {
	run, err := s.run(id)
	if err != nil {
		return err
	}
	if run.Open > 0 || run.Status != store.Running || run.Conducted && run.Stopping == "" {
		return nil
	}
	to := store.Complete
	switch {
	case run.Stopping == cancelled:
		to = store.Cancelled
	case run.Failed > 0 || run.Stopping != "":
		to = store.Failed
	case s.lastCompletedRun != id:
		// The last task that this transaction has completed, if any, is not of this run. So look at
		// all tasks: if the run has tasks and none of them is complete, the run is cancelled.
		tasks, err := s.Tasks(id)
		if err != nil {
			return err
		}
		if len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t store.Task) bool { return t.Status == store.Complete }) {
			to = store.Cancelled
		}
	}
	return s.setRunStatus(run, to, "")
}

// setRunStatus changes a run's status and appends an event with the reason. If the run ends and has
// a worker of its own, which works only for this run, setRunStatus also records that this worker
// has left.
func (s *taskStates) setRunStatus(run store.Run, to store.Status, reason string) error {
	from := run.Status
	run.Status = to
	run.Ended = time.Time{}
	if to.Final() {
		run.Ended = s.now
	}
	s.PutRun(run)
	err := s.event(store.Event{Kind: "run." + string(to), Run: run.ID, From: string(from), To: string(to), Why: reason}, run)
	if err != nil || !to.Final() {
		return err
	}
	return s.workers.markLeft(run)
}

// makeAllReady makes tasks ready in all running runs (see makeTasksReady).
func (s *taskStates) makeAllReady() error {
	runs, err := s.RunningRuns()
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := s.makeTasksReady(run.ID); err != nil {
			return err
		}
	}
	return nil
}

// clearReady makes ready tasks of a run wait again, so that workers cannot claim them. It affects
// the tasks for which the function waits returns true. If waits is nil, it affects all ready tasks
// of the run.
func (s *taskStates) clearReady(run string, waits func(store.Task) bool, why string) error {
	tasks, err := s.Tasks(run)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.Ready && (waits == nil || waits(t)) {
			if err := s.setReady(t, false, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// startDelayed makes the tasks ready whose delay has ended, that is, whose NotBefore has passed. It
// returns how many such tasks it has found. If a task cannot become ready for another reason,
// startDelayed clears its NotBefore. Otherwise the next call would find the same task again.
func (s *taskStates) startDelayed() (int, error) {
	tasks, err := s.DelayedTasks(s.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, delayed := range tasks {
		if err := s.makeTasksReady(delayed.Run); err != nil {
			return 0, err
		}
		t, err := s.Task(delayed.TaskKey)
		if err != nil {
			return 0, err
		}
		if !t.DelayHasPassed(s.now) {
			continue
		}
		t.NotBefore = time.Time{}
		s.PutTask(t)
		if err := s.event(store.Event{Kind: "task.due", Run: t.Run, Task: t.Task}, t); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}
