// Package store defines the database of gaffer: its rows (runs, tasks, attempts, workers,
// questions, items, events) and the interface of a store. It contains no rules about the
// rows; the rules are in package engine. There are implementations for SQLite
// ([gaffer/internal/engine/store/sqlite]) and PostgreSQL
// ([gaffer/internal/engine/store/postgres]), and one in memory for simulations. All of
// them pass the same tests (package storetest).
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
	// Write runs change in a transaction and commits it durably, all or nothing. If change
	// returns an error, Write returns that error and writes nothing. change may run more
	// than once, so it must have no side effects outside tx. tx is valid only until change
	// returns.
	Write(ctx context.Context, change func(tx *Tx) error) error
	// Read runs look with a consistent snapshot of the database. It never waits for a
	// writer.
	Read(ctx context.Context, look func(r Reader) error) error
	// Wait returns when an event with a Seq greater than after exists, or when ctx ends. It
	// notices events of other processes with a short delay.
	Wait(ctx context.Context, after int64) error
	// Close waits for operations in progress and releases all resources.
	Close() error
}

// Reader looks up rows. A lookup of a row that does not exist returns ErrNotFound. The
// caller may change the returned lists. Runs, attempts and questions are ordered by their
// time and id, tasks and events by Seq, unless noted otherwise.
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
	RunningRuns() ([]Run, error) // the runs whose Status is Running
	Tasks(run string) ([]Task, error)
	// EndedTasks returns the tasks of a run with the final status in, highest Seq first, at
	// most limit.
	EndedTasks(run string, in Status, limit int) ([]Task, error)
	// EndedTaskCounts returns the number of tasks in each final status, over all runs.
	EndedTaskCounts() (map[Status]int, error)
	// Dependents returns the tasks that have the given task in their Needs.
	Dependents(key TaskKey) ([]Task, error)
	Attempts(key TaskKey) ([]Attempt, error)
	AttemptsOf(run string) ([]Attempt, error)
	Workers() ([]Worker, error)
	Questions(open bool) ([]Question, error) // all questions; if open is set, only those that are not Closed
	QuestionsOf(run string) ([]Question, error)
	Accounts() ([]Account, error)
	// Events returns events with a Seq greater than after, at most limit. Deleted
	// events leave gaps in the numbers.
	Events(after int64, limit int) ([]Event, error)
	// EventsOf returns events of a run with a Seq greater than after, at most limit. It
	// does not scan events of other runs.
	EventsOf(run string, after int64, limit int) ([]Event, error)
	LastSeq() (int64, error)
	// EventsWithoutRows returns the same events as Events, without Row and AttemptRow.
	EventsWithoutRows(after int64, limit int) ([]Event, error)
	// RunsBefore returns the runs created before a time, without their plans.
	RunsBefore(created time.Time) ([]Run, error)
	// IdempotencyRecords returns the idempotency records that were created before a time
	// and whose key is greater than after, ordered by key, at most limit.
	IdempotencyRecords(made time.Time, after string, limit int) ([]IdempotencyRecord, error)
	// Items returns the items of a kind and a parent whose Seq is greater than after,
	// ordered by Seq and then by id, at most limit.
	Items(kind, parent string, after int64, limit int) ([]Item, error)

	// ClaimableTasks returns the tasks that match c, highest Priority first, then lowest
	// Seq: Ready tasks whose Labels are in c.Labels, and whose Account is not in
	// c.PausedAccounts and is in c.Accounts, unless that is empty.
	ClaimableTasks(c ClaimQuery) ([]Task, error)
	// LabelSets returns the distinct Labels of Ready tasks.
	LabelSets() ([]string, error)
	// WaitingTasks returns the tasks that match w, in the order of ClaimableTasks: Queued
	// tasks of the run that are not Ready and have no Blockers, whose Wave is at most
	// w.Wave, whose NotBefore is not after w.Now, and whose Account is not in
	// w.PausedAccounts.
	WaitingTasks(w WaitQuery) ([]Task, error)
	// DelayedTasks returns Queued tasks that are not Ready, have no Blockers, and whose
	// NotBefore is set and not after now, earliest NotBefore first, at most limit.
	DelayedTasks(now time.Time, limit int) ([]Task, error)
	// DueAttempts returns the running attempts whose Lease or Deadline is before now,
	// earliest first, at most limit.
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
	// ExpiredQuestions returns the questions that are not Closed and whose Expires is
	// before now, at most limit.
	ExpiredQuestions(now time.Time, limit int) ([]Question, error)
}

// DueAttemptLister is the part of a [Reader] that lists running attempts.
type DueAttemptLister interface {
	DueAttempts(now time.Time, limit int) ([]Attempt, error)
}

// RunningAttempts returns all running attempts, ordered by the end of their lease or
// deadline.
func RunningAttempts(r DueAttemptLister) ([]Attempt, error) {
	return r.DueAttempts(time.Unix(0, math.MaxInt64), math.MaxInt32)
}

// ClaimQuery selects the tasks that a worker may claim.
type ClaimQuery struct {
	Labels         []string // values of Task.Labels that the worker satisfies
	PausedAccounts []string // leave out tasks of these accounts
	Accounts       []string // select only tasks of these accounts; empty selects all
	Limit          int
	Skip           func(TaskKey) bool // reports tasks to skip; nil skips none
}

// WaitQuery selects the tasks of a run that may become ready.
type WaitQuery struct {
	Run            string
	Wave           int // the highest wave whose tasks may start
	Now            time.Time
	PausedAccounts []string // leave out tasks of these accounts
	Limit          int
	Skip           func(TaskKey) bool // reports tasks to skip; nil skips none
}

// Changes holds all changes of a transaction: the final versions of the rows that it has
// put, what it has deleted, and the events that it has appended.
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
	Dropped            []ItemKey // keys of deleted items
	Deletions          Deletions
	Events             []Event // new events, with their Seq

	read *rows // rows that the transaction has read, for StoredTask
}
