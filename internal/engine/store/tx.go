package store

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Session is a transaction of a database as the databases implement it: reads
// that see what was committed, and a way to make changes.
// While one is open no other process has one.
type Session interface {
	Reader
	// Prefetch is told what the requests of the session will look up, so that
	// a database that is far away can fetch it all at once.
	Prefetch(Need) error
	// Commit writes rows, new ones and changed ones alike, and makes them
	// durable. The events follow the last one in the database without a gap. If
	// it is not known whether it was done the error is a [*CommitError];
	// otherwise an error means that nothing was. The session ends either way.
	Commit(Changes) error
	// Rollback ends the session without a change.
	Rollback() error
}

// Tx is one request's view of a session: what it puts is seen by its own reads
// at once, and by the requests after it once it has succeeded.
type Tx struct {
	session Session
	rows    *rows // of the requests before it, not yet applied
	mine    rows  // of this request
	lastSeq *int64
}

// rows are changed rows, by their keys.
type rows struct {
	runs      table[string, Run]
	tasks     table[TaskKey, Task]
	attempts  table[string, Attempt]
	workers   table[string, Worker]
	questions table[string, Question]
	lanes     table[string, Lane]
	promises  table[string, Promise]
	cursors   table[string, Cursor]
	items     table[ItemKey, itemChange]
	gone      Gone
	events    []Event
}

// table is the changed rows of one kind, in the order in which they were first
// put.
type table[K comparable, V any] struct {
	keys []K
	rows []V
	at   map[K]int // where each is; nil while there are few
}

// fewRows are found sooner by looking at all of them.
const fewRows = 8

// find returns where the row is, or -1.
func (t *table[K, V]) find(key K) int {
	if t.at == nil {
		return slices.Index(t.keys, key)
	}
	if i, there := t.at[key]; there {
		return i
	}
	return -1
}

func (t *table[K, V]) put(key K, row V) {
	if i := t.find(key); i >= 0 {
		t.rows[i] = row
		return
	}
	t.keys, t.rows = append(t.keys, key), append(t.rows, row)
	switch {
	case t.at != nil:
		t.at[key] = len(t.keys) - 1
	case len(t.keys) > fewRows:
		t.at = make(map[K]int, 4*fewRows)
		for i, key := range t.keys {
			t.at[key] = i
		}
	}
}

func (t *table[K, V]) has(key K) bool { return t.find(key) >= 0 }

// takeIn adds the rows of a later request, of which there will be about so many.
func (t *table[K, V]) takeIn(later *table[K, V], requests int) {
	if t.keys == nil && len(later.keys) > 0 {
		t.keys, t.rows = make([]K, 0, requests), make([]V, 0, requests)
	}
	for i, key := range later.keys {
		t.put(key, later.rows[i])
	}
}

func (r *rows) takeIn(later *rows, requests int) {
	r.runs.takeIn(&later.runs, 1) // most are of one
	r.tasks.takeIn(&later.tasks, requests)
	r.attempts.takeIn(&later.attempts, requests)
	r.workers.takeIn(&later.workers, requests)
	r.questions.takeIn(&later.questions, requests)
	r.lanes.takeIn(&later.lanes, requests)
	r.promises.takeIn(&later.promises, requests)
	r.cursors.takeIn(&later.cursors, requests)
	r.items.takeIn(&later.items, requests)
	r.gone.takeIn(&later.gone)
	r.events = append(r.events, later.events...)
}

func (r *rows) changes() Changes {
	items, dropped := r.changedItems()
	return Changes{
		Items: items, Dropped: dropped, Runs: r.runs.rows, Tasks: r.tasks.rows, Attempts: r.attempts.rows, Workers: r.workers.rows,
		Questions: r.questions.rows, Lanes: r.lanes.rows, Promises: r.promises.rows, Cursors: r.cursors.rows,
		Gone: r.gone, Events: r.events,
	}
}

// get returns the row as this request sees it.
func get[K comparable, V any](tx *Tx, of func(*rows) *table[K, V], key K, stored func(K) (V, error)) (V, error) {
	for _, r := range []*rows{&tx.mine, tx.rows} {
		t := of(r)
		if i := t.find(key); i >= 0 {
			return t.rows[i], nil
		}
	}
	return stored(key)
}

// Run returns a run.
func (tx *Tx) Run(id string) (Run, error) {
	return get(tx, func(r *rows) *table[string, Run] { return &r.runs }, id, tx.session.Run)
}

// Task returns a task.
func (tx *Tx) Task(key TaskKey) (Task, error) {
	return get(tx, tasksOf, key, tx.session.Task)
}

func tasksOf(r *rows) *table[TaskKey, Task] { return &r.tasks }

// Attempt returns an attempt.
func (tx *Tx) Attempt(id string) (Attempt, error) {
	return get(tx, attemptsOf, id, tx.session.Attempt)
}

func attemptsOf(r *rows) *table[string, Attempt] { return &r.attempts }

// Worker returns a worker.
func (tx *Tx) Worker(id string) (Worker, error) {
	return get(tx, workersOf, id, tx.session.Worker)
}

func workersOf(r *rows) *table[string, Worker] { return &r.workers }

// Question returns a question.
func (tx *Tx) Question(id string) (Question, error) {
	return get(tx, questionsOf, id, tx.session.Question)
}

func questionsOf(r *rows) *table[string, Question] { return &r.questions }

// Lane returns a lane.
func (tx *Tx) Lane(name string) (Lane, error) {
	return get(tx, lanesOf, name, tx.session.Lane)
}

func lanesOf(r *rows) *table[string, Lane] { return &r.lanes }

// Promise returns the answer that was promised to an idempotency key.
func (tx *Tx) Promise(key string) (Promise, error) {
	return get(tx, func(r *rows) *table[string, Promise] { return &r.promises }, key, tx.session.Promise)
}

// PutRun adds or changes a run.
func (tx *Tx) PutRun(r Run) { tx.mine.runs.put(r.ID, r) }

// PutTask adds or changes a task, with its run or after it. The Needs of a task
// do not change.
func (tx *Tx) PutTask(t Task) { tx.mine.tasks.put(t.TaskKey, t) }

// PutAttempt adds or changes an attempt.
func (tx *Tx) PutAttempt(a Attempt) { tx.mine.attempts.put(a.ID, a) }

// PutWorker adds or changes a worker.
func (tx *Tx) PutWorker(w Worker) { tx.mine.workers.put(w.ID, w) }

// PutQuestion adds or changes a question.
func (tx *Tx) PutQuestion(q Question) { tx.mine.questions.put(q.ID, q) }

// PutLane adds or changes a lane.
func (tx *Tx) PutLane(l Lane) { tx.mine.lanes.put(l.Name, l) }

// PutPromise remembers the answer to an idempotency key.
func (tx *Tx) PutPromise(p Promise) { tx.mine.promises.put(p.Key, p) }

// PutCursor moves a cursor.
func (tx *Tx) PutCursor(c Cursor) { tx.mine.cursors.put(c.Name, c) }

// Append adds an event and gives it its number.
func (tx *Tx) Append(e Event) {
	e.Seq = *tx.lastSeq + int64(len(tx.mine.events)) + 1
	tx.mine.events = append(tx.mine.events, e)
}

// NextSeq returns the number that the next event will have. It grows with every
// event of the store, so it also serves to order what is made now.
func (tx *Tx) NextSeq() int64 { return *tx.lastSeq + int64(len(tx.mine.events)) + 1 }

// RunningRuns returns the runs that have not ended.
func (tx *Tx) RunningRuns() ([]Run, error) {
	stored, err := tx.session.RunningRuns()
	return overlay(tx, func(r *rows) *table[string, Run] { return &r.runs }, stored, err, func(r Run) string { return r.ID },
		func(r *Run) bool { return r.Status == Running },
		func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
}

// Tasks returns the tasks of a run.
func (tx *Tx) Tasks(run string) ([]Task, error) {
	stored, err := tx.session.Tasks(run)
	return overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool { return t.Run == run }, bySeq)
}

func (t Task) key() TaskKey { return t.TaskKey }

func bySeq(a, b Task) int { return cmp.Compare(a.Seq, b.Seq) }

// Dependents returns the tasks that need the one called key.
func (tx *Tx) Dependents(key TaskKey) ([]Task, error) {
	stored, err := tx.session.Dependents(key)
	return overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool {
		return t.Run == key.Run && slices.Contains(t.Needs, key.Task)
	}, bySeq)
}

// Claimable returns tasks that may start now.
func (tx *Tx) Claimable(c Claim) ([]Task, error) {
	unchanged := c
	unchanged.Skip = tx.hasPut
	stored, err := tx.session.Claimable(unchanged)
	list, err := overlay(tx, tasksOf, stored, err, Task.key, c.takes, ByPriority)
	return list[:min(c.Limit, len(list))], err
}

// Takes reports whether t is one of the tasks that c asks for.
func (c Claim) Takes(t Task) bool { return c.takes(&t) }

func (c *Claim) takes(t *Task) bool {
	return t.Ready && slices.Contains(c.Labels, t.Labels) && !slices.Contains(c.Paused, t.Lane) &&
		(len(c.Lanes) == 0 || slices.Contains(c.Lanes, t.Lane)) && (c.Skip == nil || !c.Skip(t.TaskKey))
}

// Takes reports whether t is one of the tasks that w asks for.
func (w Wait) Takes(t Task) bool { return w.takes(&t) }

func (w *Wait) takes(t *Task) bool {
	return t.Run == w.Run && t.Idle() && t.Wave <= w.Wave && !t.NotBefore.After(w.Now) && !slices.Contains(w.Paused, t.Lane) &&
		(w.Skip == nil || !w.Skip(t.TaskKey))
}

// Idle reports whether only time, its wave or its lane keep t from being ready.
func (t *Task) Idle() bool { return t.Status == Queued && !t.Ready && t.Blockers == 0 }

// DelayedUntil reports whether the time that t waited for has come.
func (t Task) DelayedUntil(now time.Time) bool {
	return t.Idle() && !t.NotBefore.IsZero() && !t.NotBefore.After(now)
}

// Waiting returns tasks of a run that may become ready.
func (tx *Tx) Waiting(w Wait) ([]Task, error) {
	unchanged := w
	unchanged.Skip = tx.hasPut
	stored, err := tx.session.Waiting(unchanged)
	list, err := overlay(tx, tasksOf, stored, err, Task.key, w.takes, ByPriority)
	return list[:min(w.Limit, len(list))], err
}

// Delayed returns tasks whose time has come.
func (tx *Tx) Delayed(now time.Time, limit int) ([]Task, error) {
	stored, err := tx.session.Delayed(now, limit+tx.changedTasks())
	list, err := overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool { return t.DelayedUntil(now) }, ByNotBefore)
	return list[:min(limit, len(list))], err
}

// ByNotBefore orders tasks whose time has come.
func ByNotBefore(a, b Task) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.Seq, b.Seq))
}

// hasPut reports whether a task was put since the session began.
func (tx *Tx) hasPut(key TaskKey) bool { return tx.mine.tasks.has(key) || tx.rows.tasks.has(key) }

func (tx *Tx) changedTasks() int { return len(tx.rows.tasks.keys) + len(tx.mine.tasks.keys) }

// ByPriority orders tasks that may start.
func ByPriority(a, b Task) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
}

// LabelSets lists the different labels of tasks that are ready.
func (tx *Tx) LabelSets() ([]string, error) {
	sets, err := tx.session.LabelSets()
	for _, r := range []*rows{tx.rows, &tx.mine} {
		for i := range r.tasks.rows {
			if t := &r.tasks.rows[i]; t.Ready && !slices.Contains(sets, t.Labels) {
				sets = append(sets, t.Labels)
			}
		}
	}
	slices.Sort(sets)
	return sets, err
}

// Lanes returns all lanes.
func (tx *Tx) Lanes() ([]Lane, error) {
	stored, err := tx.session.Lanes()
	return overlay(tx, lanesOf, stored, err, func(l Lane) string { return l.Name }, func(*Lane) bool { return true },
		func(a, b Lane) int { return cmp.Compare(a.Name, b.Name) })
}

// Due returns running attempts whose lease or deadline has passed.
func (tx *Tx) Due(now time.Time, limit int) ([]Attempt, error) {
	stored, err := tx.session.Due(now, limit+len(tx.rows.attempts.keys)+len(tx.mine.attempts.keys))
	list, err := overlay(tx, attemptsOf, stored, err, func(a Attempt) string { return a.ID },
		func(a *Attempt) bool { return a.Status == Running && a.Due().Before(now) },
		func(a, b Attempt) int { return cmp.Or(a.Due().Compare(b.Due()), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

// Due is when something must be done about a running attempt. While it waits for
// a person its deadline does not come nearer.
func (a Attempt) Due() time.Time {
	if a.WaitingSince.IsZero() && !a.Deadline.IsZero() && a.Deadline.Before(a.Lease) {
		return a.Deadline
	}
	return a.Lease
}

// Expired returns open questions whose time to answer has passed.
func (tx *Tx) Expired(now time.Time, limit int) ([]Question, error) {
	stored, err := tx.session.Expired(now, limit+len(tx.rows.questions.keys)+len(tx.mine.questions.keys))
	list, err := overlay(tx, questionsOf, stored, err, func(q Question) string { return q.ID },
		func(q *Question) bool { return q.Overdue(now) },
		func(a, b Question) int { return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

// Overdue reports whether the time to answer q has passed and nobody has.
func (q Question) Overdue(now time.Time) bool {
	return !q.Closed && !q.Expires.IsZero() && q.Expires.Before(now)
}

// Questions returns the questions of an attempt that nobody has closed.
func (tx *Tx) Questions(attempt string) ([]Question, error) {
	stored, err := tx.session.Questions(true)
	return overlay(tx, questionsOf, stored, err, func(q Question) string { return q.ID },
		func(q *Question) bool { return !q.Closed && q.Attempt == attempt },
		func(a, b Question) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID)) })
}

// overlay returns a stored list with the rows that were put since: those that
// no longer belong taken out, those that now belong put in.
func overlay[K comparable, V any](tx *Tx, of func(*rows) *table[K, V], stored []V, err error,
	key func(V) K, belongs func(*V) bool, order func(a, b V) int,
) ([]V, error) {
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	mine, before := of(&tx.mine), of(tx.rows)
	list := stored[:0]
	for i := range stored {
		if k := key(stored[i]); belongs(&stored[i]) && !mine.has(k) && !before.has(k) {
			list = append(list, stored[i])
		}
	}
	unchanged := len(list)
	for i := range before.rows {
		if row := &before.rows[i]; belongs(row) && !mine.has(before.keys[i]) {
			list = append(list, *row)
		}
	}
	for i := range mine.rows {
		if row := &mine.rows[i]; belongs(row) {
			list = append(list, *row)
		}
	}
	if len(list) > unchanged {
		slices.SortStableFunc(list, order)
	}
	return list, nil
}
