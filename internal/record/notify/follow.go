package notify

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

const (
	eventsPerPage = 1000            // number of events read at a time
	checkEvery    = 5 * time.Second // how often workers and budgets are checked
	// If more than pauseAfter has passed since the last check, the follower assumes that this
	// program was suspended and may have missed heartbeats of workers.
	pauseAfter = 3 * checkEvery
	// The position in the event log is stored together with each queued notification. If there are
	// no notifications, it is stored after about storeEvery events. So after a crash, at most about
	// storeEvery events are read again.
	storeEvery = 5 * eventsPerPage
)

// follower finds out what the user must be notified about. It reads the store's events, and
// regularly checks the budgets of runs and the heartbeats of workers.
type follower struct {
	store   store.Store
	run     string // id of the only run to follow; empty means all runs
	kinds   []Kind
	offline time.Duration // a worker without a heartbeat for this long is offline
	daily   *DailyReport  // report that is sent once a day; nil means none

	cursor    cursor
	storedSeq int64 // value of cursor.Seq that was last stored
	lastCheck time.Time
	// listeningSince is when this program started, or last resumed after it was suspended.
	// Heartbeats that workers sent before that time may have been missed.
	listeningSince time.Time
	// reported has the ids of the Budget, Offline and Report notifications that must not be queued
	// again.
	reported map[string]bool
	// hasBudget says for each run that has not ended, by its id, whether the run has a budget.
	hasBudget map[string]bool
}

func newFollower(opts Options) follower {
	return follower{
		store: opts.Store, run: opts.Run, kinds: opts.Kinds, offline: opts.OfflineAfter, daily: opts.Daily, reported: map[string]bool{}, hasBudget: map[string]bool{},
	}
}

// begin sets the follower's position in the event log to c. For each followed run that is active,
// it also finds out whether the run has a budget.
func (f *follower) begin(ctx context.Context, c cursor) error {
	f.cursor, f.storedSeq = c, c.Seq
	return f.store.Read(ctx, func(r store.Reader) error {
		if f.run != "" {
			return f.recordBudget(r, f.run)
		}
		going, err := r.RunningRuns()
		for _, run := range going {
			f.hasBudget[run.ID] = run.Budget != store.Amount{}
		}
		return err
	})
}

// findings is the result of one call of readNew. It holds the new notifications, and the position
// in the event log after the events that were read.
type findings struct {
	notes  []Notification
	cursor cursor
	more   bool // there are more events to read
}

// readNew reads a page of new events. It also checks the budgets of runs and the heartbeats of
// workers, if the last check was at least checkEvery ago.
func (f *follower) readNew(ctx context.Context, now time.Time) (found findings, err error) {
	due := f.checkDue(now)
	err = f.store.Read(ctx, func(r store.Reader) error {
		found = findings{cursor: f.cursor}
		if err := f.readEvents(r, &found, now); err != nil {
			return err
		}
		if !due {
			return nil
		}
		for _, look := range []func(store.Reader, *findings, time.Time) error{f.checkBudgets, f.checkWorkers} {
			if err := look(r, &found, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && due {
		f.lastCheck = now
	}
	return found, err
}

// checkDue reports whether it is time to check budgets and workers. If this program was suspended
// since the last check, it may have missed heartbeats. Then checkDue sets listeningSince to now, so
// that workers do not count as offline because of the missed heartbeats.
func (f *follower) checkDue(now time.Time) bool {
	gap := now.Sub(f.lastCheck)
	if f.lastCheck.IsZero() || gap > pauseAfter || gap < 0 {
		f.listeningSince = now
	}
	return gap >= checkEvery || gap < 0
}

func (f *follower) readEvents(r store.Reader, found *findings, now time.Time) error {
	page, err := r.EventsWithoutRows(f.cursor.Seq, eventsPerPage)
	if err != nil {
		return err
	}
	for _, e := range page {
		found.cursor.Seq = e.Seq
		if f.run != "" && e.Run != f.run && !aboutUserLimit(e) || now.Sub(e.At) > maxEventAge {
			continue
		}
		if err := f.handleEvent(r, e, found, now); err != nil {
			return err
		}
	}
	found.more = len(page) == eventsPerPage
	return nil
}

func (f *follower) handleEvent(r store.Reader, e store.Event, found *findings, now time.Time) error {
	if e.Kind == "run.running" || e.Kind == "task.running" {
		return f.recordBudget(r, e.Run)
	}
	if !mayNotify(e) {
		return nil
	}
	known, err := readRows(r, e)
	if errors.Is(err, store.ErrNotFound) {
		return nil // package prune has deleted a row that is needed for the notification
	}
	if err != nil {
		return err
	}
	if note, ok := noteOf(known); ok {
		f.add(found, note)
	}
	if runEnded(e) {
		delete(f.hasBudget, e.Run)
	}
	if refusedForRunBudget(known) || runEnded(e) {
		f.checkBudget(found, known.run, nil, refusedForRunBudget(known), now)
	}
	return nil
}

// add adds a notification to found, if the user wants notifications of its kind.
func (f *follower) add(found *findings, n Notification) {
	if slices.Contains(f.kinds, n.Kind) {
		found.notes = append(found.notes, n)
	}
}

// readRows reads the database rows that are needed to write the notification for an event.
func readRows(r store.Reader, e store.Event) (known eventWithRows, err error) {
	known.Event = e
	if e.Kind == workerChanged {
		return known, rowOf(r, e, &known.worker)
	}
	if e.Kind == scheduleFailed {
		return known, rowOf(r, e, &known.fire)
	}
	if e.Run != "" {
		known.run, err = r.Run(e.Run)
	}
	if err != nil {
		return known, err
	}
	switch {
	case e.Kind == asked:
		if err = rowOf(r, e, &known.question); err == nil {
			known.question, err = r.Question(known.question.ID)
		}
	case e.Kind == taskFailed && e.Attempt != "":
		known.attempt, err = r.Attempt(e.Attempt)
	case e.Kind == budgetWarning || e.Kind == budgetSpent:
	case e.Kind == taskFailed:
		known.task, err = r.Task(store.TaskKey{Run: e.Run, Task: e.Task})
	default:
		known.counts, err = countsOf(r, e.Run)
	}
	return known, err
}

// rowOf reads the JSON data of an event from the store and decodes it into target. For most events,
// the data is the database row that has changed, with its values after the change.
func rowOf(r store.Reader, e store.Event, target any) error {
	list, err := r.Events(e.Seq-1, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Seq != e.Seq {
		return store.ErrNotFound
	}
	return json.Unmarshal(list[0].Row, target)
}

func countsOf(r store.Reader, run string) (map[store.Status]int, error) {
	if s, ok := r.(store.Summaries); ok {
		return s.TaskCounts(run)
	}
	tasks, err := r.Tasks(run)
	counts := map[store.Status]int{}
	for _, t := range tasks {
		counts[t.Status]++
	}
	return counts, err
}

// recordBudget stores in f.hasBudget whether a run has a budget. It does nothing if the run has
// ended or does not exist, or if the user wants no notifications about budgets.
func (f *follower) recordBudget(r store.Reader, id string) error {
	if _, known := f.hasBudget[id]; known || !slices.Contains(f.kinds, Budget) {
		return nil
	}
	run, err := r.Run(id)
	if err != nil {
		return ignoreNotFound(err)
	}
	if !run.Status.Final() {
		f.hasBudget[id] = run.Budget != store.Amount{}
	}
	return nil
}

// checkBudgets adds notifications about runs that have spent most of their budget. The costs of a
// run include what its running agents have cost so far.
func (f *follower) checkBudgets(r store.Reader, found *findings, now time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(f.hasBudget)) {
		if !f.hasBudget[id] || f.reported[idOf(string(Budget), id, "100")] {
			continue
		}
		run, err := r.Run(id)
		if err != nil {
			if ignoreNotFound(err) == nil {
				delete(f.hasBudget, id)
				continue
			}
			return err
		}
		attempts, err := r.AttemptsOf(id)
		if err != nil {
			return err
		}
		f.checkBudget(found, run, attempts, false, now)
	}
	return nil
}

func (f *follower) checkBudget(found *findings, run store.Run, attempts []store.Attempt, refused bool, now time.Time) {
	spent := run.Spent
	for _, a := range attempts {
		if a.Status == store.Running {
			spent.MicroUSD, spent.Tokens = spent.MicroUSD+a.Spent.MicroUSD, spent.Tokens+a.Spent.Tokens
		}
	}
	if n, ok := budgetNote(run, spent, refused, now); ok && !f.reported[n.ID] {
		f.add(found, n)
	}
}

// checkWorkers adds notifications about offline workers. It does nothing if only one run is
// followed: then this program itself is the worker of that run.
func (f *follower) checkWorkers(r store.Reader, found *findings, now time.Time) error {
	if f.run != "" || !slices.Contains(f.kinds, Offline) {
		return nil
	}
	all, err := r.Workers()
	if err != nil {
		return err
	}
	h := offlineRule{began: f.cursor.Began, since: f.listeningSince, after: f.offline}
	var missing []store.Worker
	for _, w := range all {
		if n, ok := offlineNote(workerLoad{Worker: w}, h, now); ok && !f.reported[n.ID] {
			missing = append(missing, w)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return f.addOffline(r, found, missing, h, now)
}

// addOffline adds a notification for each worker in missing. The notification mentions how many
// attempts the worker is running.
func (f *follower) addOffline(r store.Reader, found *findings, missing []store.Worker, h offlineRule, now time.Time) error {
	running, err := store.RunningAttempts(r)
	if err != nil {
		return err
	}
	holds := map[string]int{}
	for _, a := range running {
		holds[a.Worker]++
	}
	for _, w := range missing {
		run, err := r.Run(w.ID)
		if ignoreNotFound(err) != nil {
			return err
		}
		if n, ok := offlineNote(workerLoad{w, holds[w.ID], err == nil && run.OnlyWorker == w.ID}, h, now); ok {
			f.add(found, n)
		}
	}
	return nil
}

// advance moves the cursor to found.cursor. The caller must have queued the notifications in found.
// advance remembers the Budget, Offline and Report notifications, so that they are not queued
// again.
func (f *follower) advance(found findings) {
	f.cursor = found.cursor
	for _, n := range found.notes {
		if n.Kind == Budget || n.Kind == Offline || n.Kind == Report {
			f.reported[n.ID] = true
		}
	}
	if len(found.notes) > 0 {
		f.storedSeq = f.cursor.Seq
	}
}
