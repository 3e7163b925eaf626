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
	pageOf     = 1000            // events per page
	lookEvery  = 5 * time.Second // interval of checks for offline workers and budgets
	breakAfter = 3 * lookEvery   // after a longer gap, heartbeats may have been missed
	markEvery  = 5 * pageOf      // maximum number of events that are read again after a crash
)

// follower finds the notifications in a store.
type follower struct {
	store   store.Store
	run     string // only this run; all if empty
	kinds   []Kind
	offline time.Duration // a worker without a heartbeat for this long is offline

	cursor cursor
	marked int64 // the stored position of the cursor
	looked time.Time
	since  time.Time       // start of the period in which heartbeats could arrive
	told   map[string]bool // ids of budget and offline notifications that need no second check
	budget map[string]bool // running runs, and whether they have a budget
}

func newFollower(opts Options) follower {
	return follower{
		store: opts.Store, run: opts.Run, kinds: opts.Kinds, offline: opts.OfflineAfter, told: map[string]bool{}, budget: map[string]bool{},
	}
}

// begin starts at the position of an earlier program.
func (f *follower) begin(ctx context.Context, c cursor) error {
	f.cursor, f.marked = c, c.Seq
	return f.store.Read(ctx, func(r store.Reader) error {
		if f.run != "" {
			return f.mayHaveBudget(r, f.run)
		}
		going, err := r.RunningRuns()
		for _, run := range going {
			f.budget[run.ID] = run.Budget != store.Amount{}
		}
		return err
	})
}

// news is the result of one look.
type news struct {
	notes  []Note
	cursor cursor
	more   bool // there are more events
}

// look reads new events, and checks budgets and workers if that is due.
func (f *follower) look(ctx context.Context, now time.Time) (found news, err error) {
	due := f.timeFor(now)
	err = f.store.Read(ctx, func(r store.Reader) error {
		found = news{cursor: f.cursor}
		if err := f.events(r, &found, now); err != nil {
			return err
		}
		if !due {
			return nil
		}
		for _, look := range []func(store.Reader, *news, time.Time) error{f.budgets, f.workers} {
			if err := look(r, &found, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && due {
		f.looked = now
	}
	return found, err
}

// timeFor reports whether budgets and workers must be checked. After a gap in which
// heartbeats may have been missed, it restarts the period for offline workers.
func (f *follower) timeFor(now time.Time) bool {
	gap := now.Sub(f.looked)
	if f.looked.IsZero() || gap > breakAfter || gap < 0 {
		f.since = now
	}
	return gap >= lookEvery || gap < 0
}

func (f *follower) events(r store.Reader, found *news, now time.Time) error {
	page, err := r.Headings(f.cursor.Seq, pageOf)
	if err != nil {
		return err
	}
	for _, e := range page {
		found.cursor.Seq = e.Seq
		if f.run != "" && e.Run != f.run || now.Sub(e.At) > tooOld {
			continue
		}
		if err := f.event(r, e, found, now); err != nil {
			return err
		}
	}
	found.more = len(page) == pageOf
	return nil
}

func (f *follower) event(r store.Reader, e store.Event, found *news, now time.Time) error {
	if e.Kind == "run.running" || e.Kind == "task.running" {
		return f.mayHaveBudget(r, e.Run)
	}
	if !mayNotify(e) {
		return nil
	}
	known, err := factOf(r, e)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was deleted in the meantime
	}
	if err != nil {
		return err
	}
	if note, ok := noteOf(known); ok {
		f.add(found, note)
	}
	if runEnded(e) {
		delete(f.budget, e.Run)
	}
	if refusedFor(known) || runEnded(e) {
		f.spent(found, known.run, nil, refusedFor(known), now)
	}
	return nil
}

// add adds a note if the user wants its kind.
func (f *follower) add(found *news, n Note) {
	if slices.Contains(f.kinds, n.Kind) {
		found.notes = append(found.notes, n)
	}
}

// factOf reads the rows that an event's notification needs.
func factOf(r store.Reader, e store.Event) (known fact, err error) {
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

// mayHaveBudget records whether an unfinished run has a budget.
func (f *follower) mayHaveBudget(r store.Reader, id string) error {
	if _, known := f.budget[id]; known || !slices.Contains(f.kinds, Budget) {
		return nil
	}
	run, err := r.Run(id)
	if err != nil {
		return gone(err)
	}
	if !run.Status.Final() {
		f.budget[id] = run.Budget != store.Amount{}
	}
	return nil
}

// budgets checks what runs have spent, including the amounts of their running agents.
func (f *follower) budgets(r store.Reader, found *news, now time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(f.budget)) {
		if !f.budget[id] || f.told[idOf(string(Budget), id, "100")] {
			continue
		}
		run, err := r.Run(id)
		if err != nil {
			if gone(err) == nil {
				delete(f.budget, id)
				continue
			}
			return err
		}
		attempts, err := r.AttemptsOf(id)
		if err != nil {
			return err
		}
		f.spent(found, run, attempts, false, now)
	}
	return nil
}

func (f *follower) spent(found *news, run store.Run, attempts []store.Attempt, refused bool, now time.Time) {
	spent := run.Spent
	for _, a := range attempts {
		if a.Status == store.Running {
			spent.MicroUSD, spent.Tokens = spent.MicroUSD+a.Spent.MicroUSD, spent.Tokens+a.Spent.Tokens
		}
	}
	if n, ok := budgetNote(run, spent, refused, now); ok && !f.told[n.ID] {
		f.add(found, n)
	}
}

// workers checks for offline workers. It does nothing if only one run is followed,
// whose worker is its own.
func (f *follower) workers(r store.Reader, found *news, now time.Time) error {
	if f.run != "" || !slices.Contains(f.kinds, Offline) {
		return nil
	}
	all, err := r.Workers()
	if err != nil {
		return err
	}
	h := silenceRule{began: f.cursor.Began, since: f.since, after: f.offline}
	var missing []store.Worker
	for _, w := range all {
		if n, ok := offline(workerLoad{Worker: w}, h, now); ok && !f.told[n.ID] {
			missing = append(missing, w)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return f.missed(r, found, missing, h, now)
}

// missed counts the attempts of offline workers, and adds their notifications.
func (f *follower) missed(r store.Reader, found *news, missing []store.Worker, h silenceRule, now time.Time) error {
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
		if gone(err) != nil {
			return err
		}
		if n, ok := offline(workerLoad{w, holds[w.ID], err == nil && run.Place == w.ID}, h, now); ok {
			f.add(found, n)
		}
	}
	return nil
}

// took advances the cursor after the notifications were queued.
func (f *follower) took(found news) {
	f.cursor = found.cursor
	for _, n := range found.notes {
		if n.Kind == Budget || n.Kind == Offline {
			f.told[n.ID] = true
		}
	}
	if len(found.notes) > 0 {
		f.marked = f.cursor.Seq
	}
}
