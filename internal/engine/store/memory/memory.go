// Package memory implements a store in memory, for simulations. It can simulate a commit that
// returns an error (see Store.FailCommit). The changes of such a commit may be stored or lost.
package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"gaffer/internal/engine/store"
)

// Store is a store in memory.
type Store struct {
	writer store.Writer
	turn   chan struct{} // semaphore of size 1, held by the open write transaction

	mu     sync.RWMutex
	data   data
	stored chan struct{} // closed and replaced when changes are stored, to wake goroutines in Wait

	// FailCommit, if set, is called at every commit, to simulate failures. If it returns an error,
	// the commit returns this error in a [*store.CommitError]. If the result lost is true, the
	// changes of the commit are not stored.
	FailCommit func() (lost bool, err error)
}

var _ store.Store = (*Store)(nil)

// data holds all rows, and a sorted list of the ready tasks: the queued tasks that workers may
// claim.
type data struct {
	runs               map[string]store.Run
	tasks              map[store.TaskKey]store.Task
	attempts           map[string]store.Attempt
	workers            map[string]store.Worker
	questions          map[string]store.Question
	accounts           map[string]store.Account
	idempotencyRecords map[string]store.IdempotencyRecord
	cursors            map[string]store.Cursor
	items              map[store.ItemKey]store.Item
	events             []store.Event
	last               int64 // sequence number of the last event
	readyTasks         readyList
}

// New returns an empty store.
func New() *Store {
	s := &Store{turn: make(chan struct{}, 1), stored: make(chan struct{}), data: data{
		runs: map[string]store.Run{}, tasks: map[store.TaskKey]store.Task{}, attempts: map[string]store.Attempt{},
		workers: map[string]store.Worker{}, questions: map[string]store.Question{}, accounts: map[string]store.Account{},
		idempotencyRecords: map[string]store.IdempotencyRecord{}, cursors: map[string]store.Cursor{}, items: map[store.ItemKey]store.Item{},
	}}
	s.writer.Open = s.open
	return s
}

// Write implements [store.Store].
func (s *Store) Write(ctx context.Context, change func(tx *store.Tx) error) error {
	return s.writer.Write(ctx, change)
}

// Read implements [store.Store].
func (s *Store) Read(_ context.Context, look func(r store.Reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return look(&s.data)
}

// Wait implements [store.Store].
func (s *Store) Wait(ctx context.Context, after int64) error {
	for {
		s.mu.RLock()
		last, stored := s.data.last, s.stored
		s.mu.RUnlock()
		if last > after {
			return nil
		}
		select {
		case <-stored:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close implements [store.Store].
func (s *Store) Close() error { return nil }

// open waits until no other write transaction is open, and begins one.
func (s *Store) open(ctx context.Context) (store.Transaction, error) {
	select {
	case s.turn <- struct{}{}:
		return &transaction{data: &s.data, store: s}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// transaction is a write transaction. It reads the rows of the store without a lock, because only
// the commit of the one open transaction changes them.
type transaction struct {
	*data
	store *Store
}

func (t *transaction) Rollback() error {
	<-t.store.turn
	return nil
}

func (t *transaction) Commit(c store.Changes) error {
	defer func() { <-t.store.turn }()
	lost, err := false, error(nil)
	if t.store.FailCommit != nil {
		lost, err = t.store.FailCommit()
	}
	if err != nil {
		err = &store.CommitError{Err: err}
	}
	if lost {
		return err
	}
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.apply(c)
	close(t.store.stored)
	t.store.stored = make(chan struct{})
	return err
}

func (d *data) apply(c store.Changes) {
	putRows(d.runs, c.Runs, func(r store.Run) string { return r.ID })
	for _, t := range c.Tasks {
		d.readyTasks.move(d.tasks[t.TaskKey], t)
	}
	putRows(d.tasks, c.Tasks, func(t store.Task) store.TaskKey { return t.TaskKey })
	putRows(d.attempts, c.Attempts, func(a store.Attempt) string { return a.ID })
	putRows(d.workers, c.Workers, func(w store.Worker) string { return w.ID })
	putRows(d.questions, c.Questions, func(q store.Question) string { return q.ID })
	putRows(d.accounts, c.Accounts, func(l store.Account) string { return l.Name })
	putRows(d.idempotencyRecords, c.IdempotencyRecords, func(p store.IdempotencyRecord) string { return p.Key })
	putRows(d.cursors, c.Cursors, func(c store.Cursor) string { return c.Name })
	putRows(d.items, c.Items, func(i store.Item) store.ItemKey { return i.ItemKey })
	for _, key := range c.Dropped {
		delete(d.items, key)
	}
	d.events = append(d.events, c.Events...)
	d.last += int64(len(c.Events))
	d.deleteRows(c.Deletions)
}

func putRows[K comparable, V any](to map[K]V, rows []V, key func(V) K) {
	for _, row := range rows {
		to[key(row)] = row
	}
}

func getRow[K comparable, V any](from map[K]V, key K) (V, error) {
	row, ok := from[key]
	if !ok {
		return row, store.ErrNotFound
	}
	return row, nil
}

func filterRows[K comparable, V any](from map[K]V, belongs func(V) bool, order func(a, b V) int) ([]V, error) {
	var list []V
	for row := range maps.Values(from) {
		if belongs(row) {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, order)
	return list, nil
}

func all[V any](V) bool { return true }

func (d *data) Run(id string) (store.Run, error)           { return getRow(d.runs, id) }
func (d *data) Task(key store.TaskKey) (store.Task, error) { return getRow(d.tasks, key) }
func (d *data) Attempt(id string) (store.Attempt, error)   { return getRow(d.attempts, id) }
func (d *data) Worker(id string) (store.Worker, error)     { return getRow(d.workers, id) }
func (d *data) Question(id string) (store.Question, error) { return getRow(d.questions, id) }
func (d *data) Account(name string) (store.Account, error) { return getRow(d.accounts, name) }
func (d *data) IdempotencyRecord(key string) (store.IdempotencyRecord, error) {
	return getRow(d.idempotencyRecords, key)
}
func (d *data) Cursor(name string) (store.Cursor, error)   { return getRow(d.cursors, name) }
func (d *data) Item(key store.ItemKey) (store.Item, error) { return getRow(d.items, key) }
func (d *data) LastSeq() (int64, error)                    { return d.last, nil }

func (d *data) Runs() ([]store.Run, error) { return filterRows(d.runs, all, byCreation) }

func (d *data) RunningRuns() ([]store.Run, error) {
	return filterRows(d.runs, func(r store.Run) bool { return r.Status == store.Running }, byCreation)
}

func byCreation(a, b store.Run) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func bySeq(a, b store.Task) int { return cmp.Compare(a.Seq, b.Seq) }

func (d *data) Tasks(run string) ([]store.Task, error) {
	return filterRows(d.tasks, func(t store.Task) bool { return t.Run == run }, bySeq)
}

func (d *data) EndedTasks(run string, in store.Status, limit int) ([]store.Task, error) {
	list, err := filterRows(d.tasks, func(t store.Task) bool { return t.Run == run && t.Status == in && in.Final() }, bySeq)
	slices.Reverse(list)
	return list[:min(limit, len(list))], err
}

func (d *data) EndedTaskCounts() (map[store.Status]int, error) {
	counts := map[store.Status]int{}
	for _, t := range d.tasks {
		if t.Status.Final() {
			counts[t.Status]++
		}
	}
	return counts, nil
}

func (d *data) Dependents(key store.TaskKey) ([]store.Task, error) {
	return filterRows(d.tasks, func(t store.Task) bool {
		return t.Run == key.Run && slices.Contains(t.Needs, key.Task)
	}, bySeq)
}

func (d *data) Attempts(key store.TaskKey) ([]store.Attempt, error) {
	return filterRows(d.attempts, func(a store.Attempt) bool { return a.Key() == key }, byStart)
}

func (d *data) AttemptsOf(run string) ([]store.Attempt, error) {
	return filterRows(d.attempts, func(a store.Attempt) bool { return a.Run == run }, byStart)
}

func (d *data) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	list, err := filterRows(d.items, func(i store.Item) bool { return i.In(kind, parent, after) }, store.ByItemSeq)
	return list[:min(limit, len(list))], err
}

func byStart(a, b store.Attempt) int {
	return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
}

func (d *data) Workers() ([]store.Worker, error) {
	return filterRows(d.workers, all, func(a, b store.Worker) int { return cmp.Compare(a.ID, b.ID) })
}

func (d *data) Questions(open bool) ([]store.Question, error) {
	return filterRows(d.questions, func(q store.Question) bool { return !open || !q.Closed }, byAsking)
}

func byAsking(a, b store.Question) int {
	return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
}

func (d *data) Accounts() ([]store.Account, error) {
	return filterRows(d.accounts, all, func(a, b store.Account) int { return cmp.Compare(a.Name, b.Name) })
}

func (d *data) Events(after int64, limit int) ([]store.Event, error) {
	from := sort.Search(len(d.events), func(i int) bool { return d.events[i].Seq > after })
	to := min(from+limit, len(d.events))
	return slices.Clone(d.events[from:to]), nil
}

func (d *data) ClaimableTasks(c store.ClaimQuery) ([]store.Task, error) {
	var list []store.Task
	for _, r := range d.readyTasks {
		if len(list) >= c.Limit {
			break
		}
		if t := d.tasks[r.key]; c.Matches(t) {
			list = append(list, t)
		}
	}
	return list, nil
}

func (d *data) WaitingTasks(w store.WaitQuery) ([]store.Task, error) {
	list, err := filterRows(d.tasks, w.Matches, store.ByPriority)
	return list[:min(w.Limit, len(list))], err
}

func (d *data) DelayedTasks(now time.Time, limit int) ([]store.Task, error) {
	list, err := filterRows(d.tasks, func(t store.Task) bool { return t.DelayHasPassed(now) }, store.ByNotBefore)
	return list[:min(limit, len(list))], err
}

func (d *data) LabelSets() ([]string, error) {
	sets := map[string]bool{}
	for _, r := range d.readyTasks {
		sets[d.tasks[r.key].Labels] = true
	}
	return slices.Sorted(maps.Keys(sets)), nil
}

func (d *data) DueAttempts(now time.Time, limit int) ([]store.Attempt, error) {
	list, err := filterRows(d.attempts, func(a store.Attempt) bool {
		return a.Status == store.Running && a.Due().Before(now)
	}, func(a, b store.Attempt) int { return cmp.Or(a.Due().Compare(b.Due()), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

func (d *data) ExpiredQuestions(now time.Time, limit int) ([]store.Question, error) {
	list, err := filterRows(d.questions, func(q store.Question) bool { return q.Overdue(now) },
		func(a, b store.Question) int { return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], err
}

func (d *data) EventsWithoutRows(after int64, limit int) ([]store.Event, error) {
	list, err := d.Events(after, limit)
	for i := range list {
		list[i].Row, list[i].AttemptRow = nil, nil
	}
	return list, err
}

func (d *data) RunsBefore(created time.Time) ([]store.Run, error) {
	list, err := filterRows(d.runs, func(r store.Run) bool { return r.Created.Before(created) }, byCreation)
	for i := range list {
		list[i].Plan = nil
	}
	return list, err
}

func (d *data) IdempotencyRecords(made time.Time, after string, limit int) ([]store.IdempotencyRecord, error) {
	list, err := filterRows(d.idempotencyRecords, func(p store.IdempotencyRecord) bool { return p.Key > after && p.Made.Before(made) },
		func(a, b store.IdempotencyRecord) int { return cmp.Compare(a.Key, b.Key) })
	return list[:min(limit, len(list))], err
}

// EventsOf implements [store.Reader].
func (d *data) EventsOf(run string, after int64, limit int) (list []store.Event, err error) {
	from := sort.Search(len(d.events), func(i int) bool { return d.events[i].Seq > after })
	for _, e := range d.events[from:] {
		if len(list) == limit {
			break
		}
		if e.Run == run && run != "" {
			list = append(list, e)
		}
	}
	return list, nil
}

// QuestionsOf implements [store.Reader].
func (d *data) QuestionsOf(run string) ([]store.Question, error) {
	return filterRows(d.questions, func(q store.Question) bool { return q.Run == run }, byAsking)
}
