package store

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Transaction is a write transaction of a database. Its lookups return rows as they were before the
// transaction. Commit writes all changes at once. At most one transaction of a database is open at
// a time, counting those of all processes.
type Transaction interface {
	Reader
	// Commit writes the changes durably and ends the transaction. The sequence numbers of new
	// events must follow those in the database without a gap. If it is unknown whether the changes
	// were written, the error is a [*CommitError]. After any other error, nothing was written.
	Commit(Changes) error
	// Rollback ends the transaction without changes.
	Rollback() error
}

// Loader is implemented by transactions of a remote database, to reduce the number of round trips.
// A lookup whose result is not loaded yet returns [ErrNotLoaded]. Load gets the results of all
// these lookups in one round trip. Then the requests (calls of [Store.Write]) that made these
// lookups must run again.
type Loader interface {
	// Missed reports whether any lookup has returned [ErrNotLoaded] since Missed was last called.
	Missed() bool
	Load() error
	// LoadEach does the same as Load. It also makes each later lookup get its result immediately,
	// in a round trip of its own, so that no later lookup returns [ErrNotLoaded].
	LoadEach() error
}

// ErrNotLoaded is the error of a lookup whose result [Loader.Load] must get first.
var ErrNotLoaded = errors.New("not loaded yet")

// Tx gives one request access to a transaction. A request is one call of [Store.Write]; several
// requests may share a transaction. The lookups of a request see its own changes at once, except
// for those of [Tx.DeleteRows]. Later requests in the same transaction see these changes too, if
// the request succeeds.
type Tx struct {
	stored  Transaction
	read    *rows // rows that the transaction has read from the database
	earlier *rows // uncommitted changes of earlier requests in the transaction
	own     rows  // changes of this request
	// lastSeq points to the sequence number of the last event before this request. All requests of
	// the transaction share this variable.
	lastSeq *int64
}

// rows holds rows of all kinds, by their keys. They are either rows that were changed or rows that
// were read from the database (see the fields of [Tx]).
type rows struct {
	runs               table[string, Run]
	tasks              table[TaskKey, Task]
	attempts           table[string, Attempt]
	workers            table[string, Worker]
	questions          table[string, Question]
	accounts           table[string, Account]
	idempotencyRecords table[string, IdempotencyRecord]
	cursors            table[string, Cursor]
	items              table[ItemKey, itemChange]
	deletions          Deletions
	events             []Event
	// tasksByRun contains, for each run whose tasks were listed, the keys of its committed tasks.
	// This field is used only in the rows to which Tx.read points.
	tasksByRun map[string]*allTasks
	// dependents contains, for each task whose dependents were looked up, the keys of the committed
	// tasks that depend on it. This field is used only in the rows to which Tx.read points.
	dependents map[TaskKey][]TaskKey
}

// allTasks holds the keys of all tasks of a run.
type allTasks struct {
	keys       []TaskKey
	dependents map[string][]TaskKey // by the id of a task: the keys of the tasks that need it
}

// table holds rows of one kind, such as tasks, in the order in which they were added.
type table[K comparable, V any] struct {
	keys []K
	rows []V
	at   map[K]int // index of each key in keys; nil if there are at most fewRows rows
}

// fewRows is the largest number of rows for which a table needs no map, because a linear search is
// faster.
const fewRows = 8

// find returns the index of the row with a key, or -1 if the table does not contain it.
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

// merge puts the rows of the parameter later, the table of a later request, into t. Rows of t with
// the same keys are replaced. If t is empty, merge first allocates memory for as many rows as the
// parameter requests says.
func (t *table[K, V]) merge(later *table[K, V], requests int) {
	if t.keys == nil && len(later.keys) > 0 {
		t.keys, t.rows = make([]K, 0, requests), make([]V, 0, requests)
	}
	for i, key := range later.keys {
		t.put(key, later.rows[i])
	}
}

func (r *rows) merge(later *rows, requests int) {
	r.runs.merge(&later.runs, 1) // allocate memory for only one row: a transaction changes few runs
	r.tasks.merge(&later.tasks, requests)
	r.attempts.merge(&later.attempts, requests)
	r.workers.merge(&later.workers, requests)
	r.questions.merge(&later.questions, requests)
	r.accounts.merge(&later.accounts, requests)
	r.idempotencyRecords.merge(&later.idempotencyRecords, requests)
	r.cursors.merge(&later.cursors, requests)
	r.items.merge(&later.items, requests)
	r.deletions.merge(&later.deletions)
	r.events = append(r.events, later.events...)
}

func (r *rows) changes() Changes {
	items, dropped := r.changedItems()
	return Changes{
		Items: items, Dropped: dropped, Runs: r.runs.rows, Tasks: r.tasks.rows, Attempts: r.attempts.rows, Workers: r.workers.rows,
		Questions: r.questions.rows, Accounts: r.accounts.rows, IdempotencyRecords: r.idempotencyRecords.rows, Cursors: r.cursors.rows,
		Deletions: r.deletions, Events: r.events,
	}
}

// HasPlan reports whether the plan of a run was already stored before the transaction. A plan never
// changes, so it need not be written again. If the transaction has not read the run, HasPlan
// returns false.
func (c *Changes) HasPlan(run string) bool {
	if c.read == nil {
		return false
	}
	i := c.read.runs.find(run)
	return i >= 0 && c.read.runs.rows[i].Plan != nil
}

// StoredTask returns a task as it was before the transaction. The second result is false if the
// transaction has not read the task.
func (c *Changes) StoredTask(key TaskKey) (Task, bool) {
	if c.read == nil {
		return Task{}, false
	}
	i := c.read.tasks.find(key)
	if i < 0 {
		return Task{}, false
	}
	return c.read.tasks.rows[i], true
}

// get returns the row with the given key, with the changes of this request and of earlier requests
// of the transaction. If no request has changed the row, get returns the committed row, and keeps
// it in tx.read, so that it is read only once. The function tableOf selects the table for this kind
// of row, and the function stored looks up the committed row.
func get[K comparable, V any](tx *Tx, tableOf func(*rows) *table[K, V], key K, stored func(K) (V, error)) (V, error) {
	for _, r := range []*rows{&tx.own, tx.earlier, tx.read} {
		t := tableOf(r)
		if i := t.find(key); i >= 0 {
			return t.rows[i], nil
		}
	}
	row, err := stored(key)
	if err == nil {
		tableOf(tx.read).put(key, row)
	}
	return row, err
}

// Run returns the run with the given id, or [ErrNotFound].
func (tx *Tx) Run(id string) (Run, error) {
	return get(tx, func(r *rows) *table[string, Run] { return &r.runs }, id, tx.stored.Run)
}

// Task returns the task with the given key, or [ErrNotFound].
func (tx *Tx) Task(key TaskKey) (Task, error) {
	return get(tx, tasksOf, key, tx.stored.Task)
}

func tasksOf(r *rows) *table[TaskKey, Task] { return &r.tasks }

// Attempt returns the attempt with the given id, or [ErrNotFound].
func (tx *Tx) Attempt(id string) (Attempt, error) {
	return get(tx, attemptsOf, id, tx.stored.Attempt)
}

func attemptsOf(r *rows) *table[string, Attempt] { return &r.attempts }

// Worker returns the worker with the given id, or [ErrNotFound].
func (tx *Tx) Worker(id string) (Worker, error) {
	return get(tx, workersOf, id, tx.stored.Worker)
}

func workersOf(r *rows) *table[string, Worker] { return &r.workers }

// Question returns the question with the given id, or [ErrNotFound].
func (tx *Tx) Question(id string) (Question, error) {
	return get(tx, questionsOf, id, tx.stored.Question)
}

func questionsOf(r *rows) *table[string, Question] { return &r.questions }

// Account returns the agent account with the given name, or [ErrNotFound].
func (tx *Tx) Account(name string) (Account, error) {
	return get(tx, accountsOf, name, tx.stored.Account)
}

func accountsOf(r *rows) *table[string, Account] { return &r.accounts }

// IdempotencyRecord returns the idempotency record with the given key, or [ErrNotFound].
func (tx *Tx) IdempotencyRecord(key string) (IdempotencyRecord, error) {
	return get(tx, func(r *rows) *table[string, IdempotencyRecord] { return &r.idempotencyRecords }, key, tx.stored.IdempotencyRecord)
}

// PutRun adds a run, or replaces the run with the same id.
func (tx *Tx) PutRun(r Run) { tx.own.runs.put(r.ID, r) }

// PutTask adds a task, or replaces the task with the same key. The Needs of an existing task must
// not change.
func (tx *Tx) PutTask(t Task) { tx.own.tasks.put(t.TaskKey, t) }

// PutAttempt adds an attempt, or replaces the attempt with the same id.
func (tx *Tx) PutAttempt(a Attempt) { tx.own.attempts.put(a.ID, a) }

// PutWorker adds a worker, or replaces the worker with the same id.
func (tx *Tx) PutWorker(w Worker) { tx.own.workers.put(w.ID, w) }

// PutQuestion adds a question, or replaces the question with the same id.
func (tx *Tx) PutQuestion(q Question) { tx.own.questions.put(q.ID, q) }

// PutAccount adds an agent account, or replaces the account with the same name.
func (tx *Tx) PutAccount(l Account) { tx.own.accounts.put(l.Name, l) }

// PutIdempotencyRecord adds an idempotency record, or replaces the record with the same key.
func (tx *Tx) PutIdempotencyRecord(p IdempotencyRecord) { tx.own.idempotencyRecords.put(p.Key, p) }

// PutCursor adds a cursor, or replaces the cursor with the same name.
func (tx *Tx) PutCursor(c Cursor) { tx.own.cursors.put(c.Name, c) }

// Append adds an event to the transaction. It sets the event's Seq to the next sequence number.
func (tx *Tx) Append(e Event) {
	e.Seq = *tx.lastSeq + int64(len(tx.own.events)) + 1
	tx.own.events = append(tx.own.events, e)
}

// NextSeq returns the sequence number that the next appended event gets. It grows with every event
// of the store, so callers also use it to number new rows, for example as Task.Seq.
func (tx *Tx) NextSeq() int64 { return *tx.lastSeq + int64(len(tx.own.events)) + 1 }

// RunningRuns returns the runs whose Status is Running.
func (tx *Tx) RunningRuns() ([]Run, error) {
	stored, err := tx.stored.RunningRuns()
	return overlay(tx, func(r *rows) *table[string, Run] { return &r.runs }, stored, err, func(r Run) string { return r.ID },
		func(r *Run) bool { return r.Status == Running },
		func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
}

// Tasks returns the tasks of a run, in the order of Seq.
func (tx *Tx) Tasks(run string) ([]Task, error) {
	var stored []Task
	var err error
	if all := tx.read.tasksByRun[run]; all != nil {
		stored = tx.read.tasksOf(all.keys)
	} else if stored, err = tx.stored.Tasks(run); err == nil {
		tx.read.cacheTasksOf(run, stored)
	}
	return overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool { return t.Run == run }, bySeq)
}

// cacheTasksOf stores in r the committed tasks of a run, so that the transaction reads them only
// once.
func (r *rows) cacheTasksOf(run string, tasks []Task) {
	all := &allTasks{dependents: map[string][]TaskKey{}}
	for _, t := range tasks {
		r.tasks.put(t.TaskKey, t)
		all.keys = append(all.keys, t.TaskKey)
		for _, need := range t.Needs {
			if below := all.dependents[need]; len(below) == 0 || below[len(below)-1] != t.TaskKey {
				all.dependents[need] = append(below, t.TaskKey)
			}
		}
	}
	if r.tasksByRun == nil {
		r.tasksByRun = map[string]*allTasks{}
	}
	r.tasksByRun[run] = all
}

// cacheDependents stores in r the committed tasks that depend on the task with the given key, so
// that the transaction reads them only once.
func (r *rows) cacheDependents(of TaskKey, tasks []Task) {
	keys := make([]TaskKey, len(tasks))
	for i, t := range tasks {
		r.tasks.put(t.TaskKey, t)
		keys[i] = t.TaskKey
	}
	if r.dependents == nil {
		r.dependents = map[TaskKey][]TaskKey{}
	}
	r.dependents[of] = keys
}

func (r *rows) tasksOf(keys []TaskKey) []Task {
	list := make([]Task, len(keys))
	for i, key := range keys {
		list[i] = r.tasks.rows[r.tasks.find(key)]
	}
	return list
}

func (t Task) key() TaskKey { return t.TaskKey }

func bySeq(a, b Task) int { return cmp.Compare(a.Seq, b.Seq) }

// Dependents returns the tasks that have the task with this key in their Needs, in the order of
// Seq.
func (tx *Tx) Dependents(key TaskKey) ([]Task, error) {
	var stored []Task
	var err error
	keys, known := tx.read.dependents[key]
	switch all := tx.read.tasksByRun[key.Run]; {
	case all != nil:
		stored = tx.read.tasksOf(all.dependents[key.Task])
	case known:
		stored = tx.read.tasksOf(keys)
	default:
		if stored, err = tx.stored.Dependents(key); err == nil {
			tx.read.cacheDependents(key, stored)
		}
	}
	return overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool {
		return t.Run == key.Run && slices.Contains(t.Needs, key.Task)
	}, bySeq)
}

// ClaimableTasks is like [Reader.ClaimableTasks], but includes the changes of this transaction.
func (tx *Tx) ClaimableTasks(c ClaimQuery) ([]Task, error) {
	unchanged := c
	unchanged.Skip = func(key TaskKey) bool { return tx.hasPut(key) || c.Skip != nil && c.Skip(key) }
	stored, err := tx.stored.ClaimableTasks(unchanged)
	list, err := overlay(tx, tasksOf, stored, err, Task.key, c.matches, ByPriority)
	return list[:min(c.Limit, len(list))], err
}

// Matches reports whether the query c selects the task t.
func (c ClaimQuery) Matches(t Task) bool { return c.matches(&t) }

func (c *ClaimQuery) matches(t *Task) bool {
	return t.Ready && slices.Contains(c.Labels, t.Labels) && !slices.Contains(c.PausedAccounts, t.Account) &&
		(len(c.Accounts) == 0 || slices.Contains(c.Accounts, t.Account)) && (c.Skip == nil || !c.Skip(t.TaskKey))
}

// Matches reports whether the query w selects the task t.
func (w WaitQuery) Matches(t Task) bool { return w.matches(&t) }

func (w *WaitQuery) matches(t *Task) bool {
	return t.Run == w.Run && t.Idle() && t.Wave <= w.Wave && !t.NotBefore.After(w.Now) && !slices.Contains(w.PausedAccounts, t.Account) &&
		(w.Skip == nil || !w.Skip(t.TaskKey))
}

// Idle reports whether t is queued, not ready, and waits for no other task in its Needs. An idle
// task may still have to wait for something else, for example for its NotBefore, for tasks of a
// lower wave (see [WaveCount]), for a paused account, or because of the run's parallel limit.
func (t *Task) Idle() bool { return t.Status == Queued && !t.Ready && t.Blockers == 0 }

// DelayHasPassed reports whether t is idle (see [Task.Idle]), and its NotBefore is set and has
// passed at the time now.
func (t Task) DelayHasPassed(now time.Time) bool {
	return t.Idle() && !t.NotBefore.IsZero() && !t.NotBefore.After(now)
}

// WaitingTasks is like [Reader.WaitingTasks], but includes the changes of this transaction.
func (tx *Tx) WaitingTasks(w WaitQuery) ([]Task, error) {
	unchanged := w
	unchanged.Skip = func(key TaskKey) bool { return tx.hasPut(key) || w.Skip != nil && w.Skip(key) }
	stored, err := tx.stored.WaitingTasks(unchanged)
	list, err := overlay(tx, tasksOf, stored, err, Task.key, w.matches, ByPriority)
	return list[:min(w.Limit, len(list))], err
}

// DelayedTasks is like [Reader.DelayedTasks], but includes the changes of this transaction.
func (tx *Tx) DelayedTasks(now time.Time, limit int) ([]Task, error) {
	stored, err := tx.stored.DelayedTasks(now, limit+tx.changedTasks())
	list, err := overlay(tx, tasksOf, stored, err, Task.key, func(t *Task) bool { return t.DelayHasPassed(now) }, ByNotBefore)
	return list[:min(limit, len(list))], err
}

// ByNotBefore compares two tasks, to sort them by NotBefore and then by Seq.
func ByNotBefore(a, b Task) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(a.Seq, b.Seq))
}

// hasPut reports whether this or an earlier request of the transaction has put the task with the
// given key.
func (tx *Tx) hasPut(key TaskKey) bool { return tx.own.tasks.has(key) || tx.earlier.tasks.has(key) }

func (tx *Tx) changedTasks() int { return len(tx.earlier.tasks.keys) + len(tx.own.tasks.keys) }

// ByPriority compares two tasks, to sort them by Priority, highest first, and then by Seq.
func ByPriority(a, b Task) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
}

// LabelSets returns the distinct values that the field Labels has in ready tasks, sorted. If this
// transaction has changed tasks that were ready before, LabelSets may also return their old values.
func (tx *Tx) LabelSets() ([]string, error) {
	sets, err := tx.stored.LabelSets()
	for _, r := range []*rows{tx.earlier, &tx.own} {
		for i := range r.tasks.rows {
			if t := &r.tasks.rows[i]; t.Ready && !slices.Contains(sets, t.Labels) {
				sets = append(sets, t.Labels)
			}
		}
	}
	slices.Sort(sets)
	return sets, err
}

// Accounts returns all agent accounts, sorted by name.
func (tx *Tx) Accounts() ([]Account, error) {
	stored, err := tx.stored.Accounts()
	return overlay(tx, accountsOf, stored, err, func(l Account) string { return l.Name }, func(*Account) bool { return true },
		func(a, b Account) int { return cmp.Compare(a.Name, b.Name) })
}

// DueAttempts is like [Reader.DueAttempts], but includes the changes of this transaction.
func (tx *Tx) DueAttempts(now time.Time, limit int) ([]Attempt, error) {
	stored, err := tx.stored.DueAttempts(now, limit+len(tx.earlier.attempts.keys)+len(tx.own.attempts.keys))
	list, err := overlay(tx, attemptsOf, stored, err, func(a Attempt) string { return a.ID },
		func(a *Attempt) bool { return a.Status == Running && a.Due().Before(now) },
		func(a, b Attempt) int { return cmp.Or(a.Due().Compare(b.Due()), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

// Due returns when a running attempt must be checked: at the end of its lease or at its deadline,
// whichever is earlier. While the attempt waits for a user, or if it has no deadline, Due returns
// the end of its lease.
func (a Attempt) Due() time.Time {
	if a.WaitingSince.IsZero() && !a.Deadline.IsZero() && a.Deadline.Before(a.Lease) {
		return a.Deadline
	}
	return a.Lease
}

// ExpiredQuestions is like [Reader.ExpiredQuestions], but includes the changes of this transaction.
func (tx *Tx) ExpiredQuestions(now time.Time, limit int) ([]Question, error) {
	stored, err := tx.stored.ExpiredQuestions(now, limit+len(tx.earlier.questions.keys)+len(tx.own.questions.keys))
	list, err := overlay(tx, questionsOf, stored, err, func(q Question) string { return q.ID },
		func(q *Question) bool { return q.Overdue(now) },
		func(a, b Question) int { return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

// Overdue reports whether q is open and the time to answer it has passed. A question without
// Expires is never overdue.
func (q Question) Overdue(now time.Time) bool {
	return !q.Closed && !q.Expires.IsZero() && q.Expires.Before(now)
}

// Questions returns the open questions of an attempt, oldest first.
func (tx *Tx) Questions(attempt string) ([]Question, error) {
	return tx.openQuestions(func(q *Question) bool { return q.Attempt == attempt })
}

// OpenQuestions returns all open questions, oldest first.
func (tx *Tx) OpenQuestions() ([]Question, error) {
	return tx.openQuestions(func(*Question) bool { return true })
}

func (tx *Tx) openQuestions(which func(*Question) bool) ([]Question, error) {
	stored, err := tx.stored.Questions(true)
	return overlay(tx, questionsOf, stored, err, func(q Question) string { return q.ID },
		func(q *Question) bool { return !q.Closed && which(q) },
		func(a, b Question) int { return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID)) })
}

// overlay applies the changes of the transaction to stored, a list of committed rows. It removes
// changed rows that no longer belong to the list, and adds changed rows that now belong to it. The
// function tableOf selects the table for this kind of row. The parameter err is the error of the
// lookup that returned stored. overlay returns this error, but ignores [ErrNotFound].
func overlay[K comparable, V any](tx *Tx, tableOf func(*rows) *table[K, V], stored []V, err error,
	key func(V) K, belongs func(*V) bool, order func(a, b V) int,
) ([]V, error) {
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	mine, before, read := tableOf(&tx.own), tableOf(tx.earlier), tableOf(tx.read)
	list := stored[:0]
	for i := range stored {
		k := key(stored[i])
		read.put(k, stored[i])
		if belongs(&stored[i]) && !mine.has(k) && !before.has(k) {
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
