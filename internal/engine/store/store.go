// Package store keeps gaffer's rows: runs, tasks, attempts, workers, questions, items,
// events. It contains no rules about them; the rules are in the engine. There is one
// implementation for each database ([gaffer/internal/engine/store/sqlite],
// [gaffer/internal/engine/store/postgres]) and one in memory for simulations. All of
// them pass the same contract suite (storetest).
//
// Every change is made in a transaction ([Store.Write]) and is durable when the call
// returns. Transactions are serial: each sees all earlier ones, including those of
// other processes on the same database. Requests that wait at the same time share one
// database transaction.
package store

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrNotFound reports that a row does not exist.
var ErrNotFound = errors.New("not found")

// Store is a database. It is safe for concurrent use.
type Store interface {
	// Write runs change and makes its changes durable, all or nothing. If change
	// returns an error, Write returns it as it is and writes nothing. change may run
	// more than once, so it must have no side effects outside tx. tx is valid only
	// until change returns.
	Write(ctx context.Context, change func(tx *Tx) error) error
	// Read runs look on one consistent snapshot. It never waits for a writer.
	Read(ctx context.Context, look func(r Reader) error) error
	// Wait returns when an event after seq exists, or when ctx ends. It also notices
	// events of other processes, with a short delay.
	Wait(ctx context.Context, after int64) error
	// Close waits for operations in progress and releases all resources.
	Close() error
}

// Reader looks up rows. A lookup of a missing row returns ErrNotFound; a list without
// rows is empty. The caller owns the returned lists. Lists have a fixed order: runs,
// attempts and questions by their time and id, tasks and events by Seq.
type Reader interface {
	Run(id string) (Run, error)
	Task(key TaskKey) (Task, error)
	Attempt(id string) (Attempt, error)
	Worker(id string) (Worker, error)
	Question(id string) (Question, error)
	Account(name string) (Account, error)
	IdempotencyRecord(key string) (IdempotencyRecord, error)
	Cursor(name string) (Cursor, error)
	Item(key ItemKey) (Item, error)

	Runs() ([]Run, error)
	RunningRuns() ([]Run, error) // those whose Status is Running
	Tasks(run string) ([]Task, error)
	// Ended returns the tasks of a run that have the final status in, highest Seq
	// first, at most limit.
	EndedTasks(run string, in Status, limit int) ([]Task, error)
	// EndedCounts returns the number of tasks of all runs in each final status.
	EndedTaskCounts() (map[Status]int, error)
	// Dependents returns the tasks that name key's task in their Needs.
	Dependents(key TaskKey) ([]Task, error)
	Attempts(key TaskKey) ([]Attempt, error)
	AttemptsOf(run string) ([]Attempt, error)
	Workers() ([]Worker, error)
	Questions(open bool) ([]Question, error) // all, or only those not Closed
	QuestionsOf(run string) ([]Question, error)
	Accounts() ([]Account, error)
	// Events returns events with a Seq greater than after, at most limit. Deleted
	// events leave gaps in the numbers.
	Events(after int64, limit int) ([]Event, error)
	// EventsOf returns events of a run with a Seq greater than after, at most limit. It
	// does not scan events of other runs.
	EventsOf(run string, after int64, limit int) ([]Event, error)
	LastSeq() (int64, error)
	// Headings returns the same events as Events, without their rows.
	EventsWithoutRows(after int64, limit int) ([]Event, error)
	// RunsBefore returns the runs created before a time, without their plans.
	RunsBefore(created time.Time) ([]Run, error)
	// Promises returns idempotency records made before a time whose key is greater than
	// after, ordered by key, at most limit.
	IdempotencyRecords(made time.Time, after string, limit int) ([]IdempotencyRecord, error)
	// Items returns the items of a kind and a parent whose Seq is greater than after,
	// ordered by Seq and then by id, at most limit.
	Items(kind, parent string, after int64, limit int) ([]Item, error)

	// Claimable returns tasks that may start, highest Priority first, then lowest Seq.
	// They are Ready, their Labels are in c.Labels, their Lane is not in c.Paused and,
	// unless c.Lanes is empty, is in c.Lanes.
	ClaimableTasks(c ClaimQuery) ([]Task, error)
	// LabelSets returns the distinct Labels of Ready tasks.
	LabelSets() ([]string, error)
	// Waiting returns tasks that may become Ready, in the order of Claimable. They
	// belong to the run, are Queued, not Ready, without Blockers, their Wave is at most
	// w.Wave, their NotBefore is not after w.Now, and their Lane is not in w.Paused.
	WaitingTasks(w WaitQuery) ([]Task, error)
	// Delayed returns tasks whose NotBefore has passed, earliest first. They are
	// Queued, not Ready, without Blockers, and their NotBefore is set and not after
	// now.
	DelayedTasks(now time.Time, limit int) ([]Task, error)
	// Due returns running attempts whose Lease or Deadline is before now, earliest
	// first, at most limit.
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
	// Expired returns questions that are not Closed and whose Expires is before now, at
	// most limit.
	ExpiredQuestions(now time.Time, limit int) ([]Question, error)
}

// DueAttemptLister is the part of a [Reader] that lists running attempts.
type DueAttemptLister interface {
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
}

// RunningAttempts returns all running attempts, ordered by when their lease or deadline
// ends.
func RunningAttempts(r DueAttemptLister) ([]Attempt, error) {
	return r.DueAttempts(time.Unix(0, math.MaxInt64), math.MaxInt32)
}

// ClaimQuery describes which tasks a worker could start.
type ClaimQuery struct {
	Labels         []string // label sets that the worker satisfies
	PausedAccounts []string // lanes
	Accounts       []string // only these; empty allows all
	Limit          int
	Skip           func(TaskKey) bool // reports tasks to skip; nil skips none
}

// WaitQuery describes which tasks of a run could become ready.
type WaitQuery struct {
	Run            string
	Wave           int // the highest wave that is open
	Now            time.Time
	PausedAccounts []string // lanes
	Limit          int
	Skip           func(TaskKey) bool // reports tasks to skip; nil skips none
}

// Changes holds the final versions of the rows that a transaction has put, and the
// events that it has appended.
type Changes struct {
	Runs               []Run
	Tasks              []Task
	Attempts           []Attempt
	Workers            []Worker
	Questions          []Question
	Accounts           []Account
	IdempotencyRecords []IdempotencyRecord
	Cursors            []Cursor
	Items              []Item
	Dropped            []ItemKey // deleted items
	Deletions          Deletions
	Events             []Event // with their Seq

	read *rows // see StoredTask
}
