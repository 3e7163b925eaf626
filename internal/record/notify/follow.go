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
	pageOf     = 1000            // events that are read at a time
	lookEvery  = 5 * time.Second // how often what time alone brings about is looked for
	breakAfter = 3 * lookEvery   // a pause in which nobody was listened to
	markEvery  = 5 * pageOf      // events that are read again after a crash, at the most
)

// follower finds what is to be told in a store.
type follower struct {
	store   store.Store
	run     string // only this one; all if empty
	kinds   []Kind
	offline time.Duration // who was not heard of for so long is offline

	cursor cursor
	marked int64 // the cursor as it is stored
	looked time.Time
	since  time.Time       // workers could be heard from then on
	told   map[string]bool // ids that need no second look: of what is found again and again
	budget map[string]bool // runs that go on and have one
}

func newFollower(opts Options) follower {
	return follower{
		store: opts.Store, run: opts.Run, kinds: opts.Kinds, offline: opts.OfflineAfter, told: map[string]bool{}, budget: map[string]bool{},
	}
}

// begin follows from where an earlier program has come to.
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

// news is what one look has found.
type news struct {
	notes  []Note
	cursor cursor
	more   bool // there are more events
}

// look reads what has happened since, and what time has brought about.
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

// timeFor reports whether to look for what time brings about, and notices when
// nobody has listened for a while: then nobody is missing yet.
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
	if !told(e) {
		return nil
	}
	known, err := factOf(r, e)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it was taken away since
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

// add adds a note of a kind that is wanted.
func (f *follower) add(found *news, n Note) {
	if slices.Contains(f.kinds, n.Kind) {
		found.notes = append(found.notes, n)
	}
}

// factOf reads what is needed to tell an event.
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

// rowOf reads the row that an event is about, as it was then.
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

// mayHaveBudget notes a run that goes on, if it has a budget.
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

// budgets looks at what runs have spent, with what their agents have so far.
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

// workers looks for those that are missing. Of one run there is only its own.
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

// missed finds out what those hold who are missing.
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

// took moves on after what was found is queued.
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
