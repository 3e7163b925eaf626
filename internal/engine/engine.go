// Package engine decides what runs next and what a failure means. It is a set
// of transactions on a store: Submit, Claim, Beat, Ask, Answer, Finish, Cancel,
// Retry, Sweep. No state lives in the engine itself, so any process on the same
// store may make the next step. It is the only writer of the store's rows.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine/store"
)

// Options are what the engine needs of the world.
type Options struct {
	Now   func() time.Time
	NewID func() string  // never the same twice
	Rand  func() float64 // in [0, 1), for jitter
	Lease time.Duration  // how long an attempt lives without a beat; DefaultLease if zero
	Who   string         // who acts when nobody is named
	// Endless says that leases of this engine never end. On one database with a
	// coordinator it leaves alone what that has given to others.
	Endless bool
}

// DefaultLease outlives a few lost beats, which come every 15 s.
const DefaultLease = time.Minute

// Engine is the transactions. It is safe for concurrent use.
type Engine struct {
	store store.Store
	opts  Options
}

// New returns an engine on a store.
func New(s store.Store, opts Options) *Engine {
	if opts.Lease == 0 {
		opts.Lease = DefaultLease
	}
	return &Engine{store: s, opts: opts}
}

// ErrNothing is a claim for which there is no task now.
var ErrNothing = errors.New("no task can start now")

// ConflictError is a request that came too late or by somebody else: what it is
// about has gone on without it. Nothing was changed.
type ConflictError struct{ What, Why string }

func (e *ConflictError) Error() string { return e.What + ": " + e.Why }

// Conflict marks the error as one about what somebody else did.
func (e *ConflictError) Conflict() bool { return true }

// NotFoundError is something that is not in the store.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %s: not found", e.What, e.ID) }

// NotFound marks the error as one about something that is not there.
func (e *NotFoundError) NotFound() bool { return true }

// change is one transaction of the engine under way. One now holds for all of
// it.
type change struct {
	*store.Tx
	engine *Engine
	now    time.Time
	who    string

	completed string // the run of the task that was completed last
}

// write runs do in a transaction.
func (e *Engine) write(ctx context.Context, who string, need store.Need, do func(c *change) error) error {
	if who == "" {
		who = e.opts.Who
	}
	return e.store.Write(ctx, need, func(tx *store.Tx) error {
		return do(&change{Tx: tx, engine: e, now: e.opts.Now(), who: who})
	})
}

// event appends what happened to a row. The plan's words, which never change,
// are in the first event of a run or a task alone: the one that comes from
// nothing.
func (c *change) event(e store.Event, row any) error {
	first := e.From == "" && e.To != ""
	var text []byte
	var err error
	switch r := row.(type) {
	case store.Run:
		if !first {
			r.Plan = nil
		}
		text, err = json.Marshal(r)
	case store.Task:
		if !first {
			r.Spec = nil
		}
		text, err = r.AppendJSON(make([]byte, 0, roomForRow))
	case store.Attempt:
		text, err = r.AppendJSON(make([]byte, 0, roomForRow))
	default:
		text, err = json.Marshal(row)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Kind, err)
	}
	e.At, e.Who, e.Row = c.now, c.who, text
	c.Append(e)
	return nil
}

// roomForRow is about how long the JSON of a row is.
const roomForRow = 512

// missing says of a row that is not there what it would have been.
func missing(err error, what, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{what, id}
	}
	return err
}

// once gives the answer again that was given to the same key before, and makes
// the promise to do so. Without a key, or an answer, every request is a new one.
func once[A any](c *change, operation, key string, do func() (A, error)) (A, error) {
	if key == "" {
		return do()
	}
	before, err := c.Promise(operation + " " + key)
	if err == nil {
		return answerIn[A](before)
	}
	var answer A
	if !errors.Is(err, store.ErrNotFound) {
		return answer, err
	}
	if answer, err = do(); err != nil {
		return answer, err
	}
	return answer, promise(c, operation, key, answer)
}

// answerIn is the answer that was promised.
func answerIn[A any](p store.Promise) (answer A, err error) {
	return answer, json.Unmarshal(p.Answer, &answer)
}

// promise has once give an answer again. No answer is no promise.
func promise[A any](c *change, operation, key string, answer A) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if string(text) != "null" {
		c.PutPromise(store.Promise{Key: operation + " " + key, Answer: text, Made: c.now})
	}
	return nil
}

func promiseNeed(operation, key string) []string {
	if key == "" {
		return nil
	}
	return []string{operation + " " + key}
}
