// Package store keeps what gaffer runs: runs, tasks, attempts, workers,
// questions, items, events. It stores rows and knows no rule about them; the rules are
// the engine's. There is one store for each database ([gaffer/internal/engine/store/sqlite],
// [gaffer/internal/engine/store/postgres]) and one in memory for simulations, and one
// contract suite that all of them pass (storetest).
//
// Every change is made in a transaction ([Store.Write]) and is durable when the
// call returns. Transactions are serial: each sees all that were made before it,
// also by other processes on the same database. Requests that wait at the same
// time share one transaction of the database.
package store

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrNotFound is a row that is not there.
var ErrNotFound = errors.New("not found")

// Store is a database. It is safe for concurrent use.
type Store interface {
	// Write runs change and makes what it put durable, all or nothing. An
	// error of change is returned as it is, and nothing is written for it.
	// change may run more than once and must do nothing but use tx, which is
	// gone when it returns. need says what change will look up; it is a hint,
	// and may be empty.
	Write(ctx context.Context, need Need, change func(tx *Tx) error) error
	// Read runs look on one consistent state. It never waits for a writer.
	Read(ctx context.Context, look func(r Reader) error) error
	// Wait returns when there are events after seq, or when ctx ends. Events
	// of other processes are noticed too, after a moment.
	Wait(ctx context.Context, after int64) error
	// Close waits for what is under way and gives everything back.
	Close() error
}

// Reader looks rows up. A row that is not there is ErrNotFound; a list of rows
// that are not there is empty. A list belongs to the caller. Lists are in a fixed order: runs, attempts and
// questions by their time and id, tasks by Seq, events by Seq.
type Reader interface {
	Run(id string) (Run, error)
	Task(key TaskKey) (Task, error)
	Attempt(id string) (Attempt, error)
	Worker(id string) (Worker, error)
	Question(id string) (Question, error)
	Lane(name string) (Lane, error)
	Promise(key string) (Promise, error)
	Cursor(name string) (Cursor, error)
	Item(key ItemKey) (Item, error)

	Runs() ([]Run, error)
	RunningRuns() ([]Run, error) // those whose Status is Running
	Tasks(run string) ([]Task, error)
	// Ended returns tasks of a run that are in a final status, those of the
	// highest Seq first, at most limit.
	Ended(run string, in Status, limit int) ([]Task, error)
	// EndedCounts says how many tasks of all runs are in each final status.
	EndedCounts() (map[Status]int, error)
	// Dependents returns the tasks that name key's task in their Needs.
	Dependents(key TaskKey) ([]Task, error)
	Attempts(key TaskKey) ([]Attempt, error)
	AttemptsOf(run string) ([]Attempt, error)
	Workers() ([]Worker, error)
	Questions(open bool) ([]Question, error) // all, or only those not Closed
	QuestionsOf(run string) ([]Question, error)
	Lanes() ([]Lane, error)
	// Events returns events after seq, at most limit. The numbers of those that
	// were taken away are missing.
	Events(after int64, limit int) ([]Event, error)
	// EventsOf returns events of a run after seq, at most limit. It looks at no
	// others.
	EventsOf(run string, after int64, limit int) ([]Event, error)
	LastSeq() (int64, error)
	// Headings returns events after seq, at most limit, without their rows.
	Headings(after int64, limit int) ([]Event, error)
	// RunsBefore returns the runs that were created before then, without their
	// plans.
	RunsBefore(created time.Time) ([]Run, error)
	// Promises returns promises that were made before then, by their keys from
	// one on, at most limit.
	Promises(made time.Time, after string, limit int) ([]Promise, error)
	// Items returns items of a kind and a parent whose Seq is after a number, by
	// Seq and then by id, at most limit.
	Items(kind, parent string, after int64, limit int) ([]Item, error)

	// Claimable returns tasks that may start, those of the highest Priority
	// first and among them those of the lowest Seq: Ready, Labels one of
	// c.Labels, Lane none of c.Paused and, if there are any, one of c.Lanes.
	Claimable(c Claim) ([]Task, error)
	// LabelSets lists the different Labels of tasks that are Ready.
	LabelSets() ([]string, error)
	// Waiting returns tasks that may become Ready, in the order of Claimable:
	// of the run, Queued, not Ready, no Blockers, Wave at most w.Wave,
	// NotBefore not after w.Now, Lane none of w.Paused.
	Waiting(w Wait) ([]Task, error)
	// Delayed returns tasks whose NotBefore has come: Queued, not Ready, no
	// Blockers, NotBefore set and not after now, the earliest first.
	Delayed(now time.Time, limit int) ([]Task, error)
	// Due returns running attempts whose Lease or Deadline is before now, the
	// earliest first, at most limit.
	Due(now time.Time, limit int) ([]Attempt, error)
	// Expired returns questions that are not Closed and whose Expires is
	// before now, at most limit.
	Expired(now time.Time, limit int) ([]Question, error)
}

// Dues is the part of a [Reader] that knows what runs.
type Dues interface {
	Due(now time.Time, limit int) ([]Attempt, error)
}

// RunningAttempts returns all attempts that run, the one first that must be heard of first.
func RunningAttempts(r Dues) ([]Attempt, error) {
	return r.Due(time.Unix(0, math.MaxInt64), math.MaxInt32)
}

// Need names rows that a request will look up.
type Need struct {
	Promises []string // keys
	Attempts []string // ids, with the task, the run and the dependents of each
	Runs     []string // ids
	Claims   int      // how many tasks it will claim at the most
	Workers  []string // ids
	Items    []ItemKey
	Alone    bool // no other request shares its session
}

// Claim says which tasks a worker could start.
type Claim struct {
	Labels []string // label sets that the worker satisfies
	Paused []string // lanes
	Lanes  []string // the only ones; without any, all
	Limit  int
	Skip   func(TaskKey) bool // tasks that are passed over; nil for none
}

// Wait says which tasks of a run could become ready.
type Wait struct {
	Run    string
	Wave   int // the highest wave that is open
	Now    time.Time
	Paused []string // lanes
	Limit  int
	Skip   func(TaskKey) bool // tasks that are passed over; nil for none
}

// Changes are the rows that a transaction has put, each in its last form, and
// the events that it has appended.
type Changes struct {
	Runs      []Run
	Tasks     []Task
	Attempts  []Attempt
	Workers   []Worker
	Questions []Question
	Lanes     []Lane
	Promises  []Promise
	Cursors   []Cursor
	Items     []Item
	Dropped   []ItemKey // items that are gone
	Gone      Gone
	Events    []Event // with their Seq
}
