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
	eventsPerPage = 1000              // events per page
	checkEvery    = 5 * time.Second   // interval between checks of workers and budgets
	pauseAfter    = 3 * checkEvery    // a longer time between checks means that this program was suspended and may have missed heartbeats
	storeEvery    = 5 * eventsPerPage // the cursor is stored after this many events, so a crash repeats at most these
)

// follower reads the store's events and derives notifications from them.
type follower struct {
	store   store.Store
	run     string // id of the followed run; empty for all runs
	kinds   []Kind
	offline time.Duration // a worker without a heartbeat for this long is offline

	cursor         cursor
	storedSeq      int64 // the cursor's position that is stored
	lastCheck      time.Time
	listeningSince time.Time       // since then this program was not suspended, so it has seen all heartbeats
	reported       map[string]bool // ids of budget and offline notifications that were already reported
	hasBudget      map[string]bool // running runs, and whether they have a budget
}

func newFollower(opts Options) follower {
	return follower{
		store: opts.Store, run: opts.Run, kinds: opts.Kinds, offline: opts.OfflineAfter, reported: map[string]bool{}, hasBudget: map[string]bool{},
	}
}

// begin continues at the stored position of an earlier program.
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

// findings is what one call of readNew has found.
type findings struct {
	notes  []Note
	cursor cursor
	more   bool // more events are waiting
}

// readNew reads new events, and checks budgets and workers if that is due.
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

// checkDue reports whether it is time to check budgets and workers. If this program was
// suspended, it may have missed heartbeats. Then workers get the whole time again before
// they count as offline.
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
		if f.run != "" && e.Run != f.run || now.Sub(e.At) > maxEventAge {
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
		return nil // the row was deleted in the meantime
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
	if refusedForBudget(known) || runEnded(e) {
		f.checkBudget(found, known.run, nil, refusedForBudget(known), now)
	}
	return nil
}

// add adds a note if the user wants its kind.
func (f *follower) add(found *findings, n Note) {
	if slices.Contains(f.kinds, n.Kind) {
		found.notes = append(found.notes, n)
	}
}

// readRows reads the rows that an event's notification needs.
func readRows(r store.Reader, e store.Event) (known eventWithRows, err error) {
	known.Event = e
	if e.Kind == workerChanged {
		return known, rowOf(r, e, &known.worker)
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
	case e.Kind == taskFailed:
		known.task, err = r.Task(store.TaskKey{Run: e.Run, Task: e.Task})
	default:
		known.counts, err = countsOf(r, e.Run)
	}
	return known, err
}

// rowOf reads an event's row, as it was at the time of the event.
func rowOf(r store.Reader, e store.Event, to any) error {
	list, err := r.Events(e.Seq-1, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Seq != e.Seq {
		return store.ErrNotFound
	}
	return json.Unmarshal(list[0].Row, to)
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

// recordBudget records that an unfinished run exists, and whether it has a budget.
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

// checkBudgets checks what the runs have spent, including the current cost of their running
// agents.
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

// checkWorkers checks for offline workers. It does nothing if only one run is followed: that
// run's worker is this program.
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

// addOffline counts the running attempts of offline workers, and adds the notifications.
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

// advance advances the cursor after the notifications have been queued.
func (f *follower) advance(found findings) {
	f.cursor = found.cursor
	for _, n := range found.notes {
		if n.Kind == Budget || n.Kind == Offline {
			f.reported[n.ID] = true
		}
	}
	if len(found.notes) > 0 {
		f.storedSeq = f.cursor.Seq
	}
}
