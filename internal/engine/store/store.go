// Package store defines the database of gaffer: its rows (such as runs, tasks, attempts, workers
// and events) and the interface of a store. It contains no rules about the rows; the rules are in
// package engine. There are implementations for SQLite ([gaffer/internal/engine/store/sqlite]) and
// PostgreSQL ([gaffer/internal/engine/store/postgres]), and one in memory for simulations. All of
// them pass the same tests (package storetest).
//
// Every change is made in a transaction ([Store.Write]) and, except in memory, is durable when
// Write returns. Transactions run one after the other: each sees the changes of all earlier ones,
// including those of other processes on the same database. A call of Write is called a request.
// Requests that wait at the same time may share one database transaction.
package store

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrNotFound reports that a row does not exist in the store.
var ErrNotFound = errors.New("not found")

// Store is a database with the rows of this package. It is safe for concurrent use.
type Store interface {
	// Write runs the function change in a transaction and commits all of its changes durably. If
	// change returns an error, Write commits nothing and returns that error. If it is unknown
	// whether the commit has succeeded, Write returns a [*CommitError]. Write may call change more
	// than once, so change must have no side effects outside of tx. tx is valid only until change
	// returns.
	Write(ctx context.Context, change func(tx *Tx) error) error
	// Read calls the function fn with a reader that sees one consistent snapshot of the database.
	// Read never waits for writers.
	Read(ctx context.Context, fn func(r Reader) error) error
	// Wait blocks until an event with a Seq above cursor exists. It returns an error if ctx ends or
	// the database cannot be read. If another process has appended the event, Wait returns after a
	// short delay.
	Wait(ctx context.Context, cursor int64) error
	// Close waits for operations in progress and releases all resources.
	Close() error
}

// Reader looks up rows. A method that looks up one row returns ErrNotFound if the row does not
// exist. The caller may change the returned lists. If a method documents no other order, lists are
// sorted as follows: runs by Created, attempts by Started, questions by Asked (and by id, if the
// times are equal), tasks and events by Seq, workers by id, and accounts by name.
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
	RunningRuns() ([]Run, error) // returns the runs whose Status is Running
	Tasks(run string) ([]Task, error)
	// EndedTasks returns at most limit tasks of a run that have the given final status. Tasks with
	// the highest Seq come first. It returns none if the given status is not a final one.
	EndedTasks(run string, final Status, limit int) ([]Task, error)
	// EndedTaskCounts returns the number of tasks, over all runs, with each final status.
	EndedTaskCounts() (map[Status]int, error)
	// Dependents returns the tasks that have the given task in their Needs.
	Dependents(key TaskKey) ([]Task, error)
	Attempts(key TaskKey) ([]Attempt, error)
	AttemptsOf(run string) ([]Attempt, error)
	Workers() ([]Worker, error)
	Questions(open bool) ([]Question, error) // returns all questions; if open is set, only questions that are not Closed
	QuestionsOf(run string) ([]Question, error)
	Accounts() ([]Account, error)
	// Events returns at most limit events whose Seq is above cursor. Their sequence numbers have
	// gaps where events were deleted.
	Events(cursor int64, limit int) ([]Event, error)
	// EventsOf returns at most limit events of a run whose Seq is above cursor. If run is empty, it
	// returns none.
	EventsOf(run string, cursor int64, limit int) ([]Event, error)
	LastSeq() (int64, error)
	// EventsWithoutRows returns the same events as Events, but leaves Row and AttemptRow empty.
	EventsWithoutRows(cursor int64, limit int) ([]Event, error)
	// RunsBefore returns the runs that were created before the time t, without their plans.
	RunsBefore(t time.Time) ([]Run, error)
	// IdempotencyRecords returns at most limit idempotency records whose Made is before the time t
	// and whose Key is greater than afterKey, ordered by Key.
	IdempotencyRecords(t time.Time, afterKey string, limit int) ([]IdempotencyRecord, error)
	// Items returns at most limit rows of type [Item] that have the given kind and parent and whose
	// Seq is above cursor. They are ordered by Seq and then by id.
	Items(kind, parent string, cursor int64, limit int) ([]Item, error)

	// ClaimableTasks returns the Ready tasks that c selects, at most c.Limit. Tasks with the
	// highest Priority come first, and among these the lowest Seq.
	ClaimableTasks(c ClaimQuery) ([]Task, error)
	// LabelSets returns the distinct values of Task.Labels of all Ready tasks, sorted.
	LabelSets() ([]string, error)
	// WaitingTasks returns the idle tasks (see [Task.Idle]) of the run w.Run that meet all
	// conditions of w, at most w.Limit, in the same order as ClaimableTasks.
	WaitingTasks(w WaitQuery) ([]Task, error)
	// DelayedTasks returns at most limit idle tasks (see [Task.Idle]) whose NotBefore is set and
	// has passed at the time now. The earliest NotBefore comes first.
	DelayedTasks(now time.Time, limit int) ([]Task, error)
	// DueAttempts returns at most limit running attempts whose [Attempt.Due], the end of the lease
	// or the deadline, is before now. The earliest comes first.
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
	// ExpiredQuestions returns at most limit open questions whose Expires is set and before now.
	// The earliest Expires comes first.
	ExpiredQuestions(now time.Time, limit int) ([]Question, error)
}

// DueAttemptLister is the part of a [Reader] that [RunningAttempts] needs. [Tx] implements it too.
type DueAttemptLister interface {
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
}

// RunningAttempts returns all running attempts, in the order of [Attempt.Due]. To get all of them,
// it asks for the attempts that are due before the latest time that a database can store.
func RunningAttempts(r DueAttemptLister) ([]Attempt, error) {
	return r.DueAttempts(time.Unix(0, math.MaxInt64), math.MaxInt32)
}

// ClaimQuery selects the ready tasks that a worker may claim. A task must meet all conditions.
type ClaimQuery struct {
	// Labels selects only the tasks whose Task.Labels equals one of these strings. Each string is a
	// list of labels, separated by commas.
	Labels         []string
	PausedAccounts []string // leave out tasks whose Task.Account is in this list
	Accounts       []string // select only tasks whose Task.Account is in this list; an empty list selects all
	Limit          int
	Skip           func(TaskKey) bool // leave out tasks for which Skip returns true; nil leaves out none
}

// WaitQuery selects queued tasks of a run that may now become ready, so that workers can claim
// them.
type WaitQuery struct {
	Run            string
	Wave           int // the highest wave (see WaveCount) whose tasks may start
	Now            time.Time
	PausedAccounts []string // leave out tasks whose Task.Account is in this list
	Limit          int
	Skip           func(TaskKey) bool // leave out tasks for which Skip returns true; nil leaves out none
}

// Changes holds all changes of a transaction: the final version of each row that was added or
// replaced, the keys of rows that were deleted, and the appended events.
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
	Dropped            []ItemKey // keys of deleted rows of type Item
	Deletions          Deletions
	Events             []Event // appended events; their Seq is set

	read *rows // rows that the transaction has read from the database, for StoredTask and HasPlan
}
