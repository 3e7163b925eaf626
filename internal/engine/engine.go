// Package engine decides which task runs next and what follows from a failure. It is a
// set of transactions on a store: Submit, Claim, Beat, Ask, Answer, Finish, Cancel,
// Retry, Sweep. The engine itself keeps no state, so any process on the same store may
// make the next step. It is the only writer of the store's rows.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine/store"
)

// Options configures an [Engine].
type Options struct {
	Now   func() time.Time
	NewID func() string  // must never return the same id twice
	Rand  func() float64 // in [0, 1), for jitter
	Lease time.Duration  // how long an attempt stays valid without a heartbeat; DefaultLease if zero
	Who   string         // the acting user or program if the caller names none
	// Endless makes leases of this engine last forever. If the engine shares its
	// database with a coordinator, it does not touch attempts that the coordinator has
	// assigned.
	Endless bool
}

// DefaultLease is long enough to survive a few lost heartbeats, which are sent every 15
// s.
const DefaultLease = time.Minute

// Engine runs the transactions. It is safe for concurrent use.
type Engine struct {
	store store.Store
	opts  Options
}

// New returns an engine that works on a store.
func New(s store.Store, opts Options) *Engine {
	if opts.Lease == 0 {
		opts.Lease = DefaultLease
	}
	return &Engine{store: s, opts: opts}
}

// ErrNothing is returned by a claim when no task can start now.
var ErrNothing = errors.New("no task can start now")

// ConflictError rejects a request that came too late or from the wrong worker: the
// state that it refers to has changed in the meantime. Nothing was written.
type ConflictError struct{ What, Why string }

func (e *ConflictError) Error() string { return e.What + ": " + e.Why }

// Conflict marks the error as a conflict with a change by another caller.
func (e *ConflictError) Conflict() bool { return true }

// NotFoundError reports that a row does not exist in the store.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %s: not found", e.What, e.ID) }

// NotFound marks the error as one about a missing row.
func (e *NotFoundError) NotFound() bool { return true }

// change is an engine transaction in progress. It uses a single value of now
// throughout.
type change struct {
	*store.Tx
	engine *Engine
	now    time.Time
	who    string

	completed string // the run of the most recently completed task
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

// event appends an event about a row. A run's plan and a task's spec never change, so
// only the row's first event, which has no From, contains them.
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

// roomForRow is the approximate length of a row's JSON, in bytes.
const roomForRow = 512

// missing turns store.ErrNotFound into a [*NotFoundError] that names the row.
func missing(err error, what, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{what, id}
	}
	return err
}

// once makes an operation idempotent. If the key was used before, it returns the stored
// answer; otherwise it runs do and stores its answer under the key. Without a key, do
// always runs. An answer that encodes to null is not stored.
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

// answerIn decodes the stored answer of an idempotency record.
func answerIn[A any](p store.Promise) (answer A, err error) {
	return answer, json.Unmarshal(p.Answer, &answer)
}

// promise stores an answer, which once returns for later requests with the same key. An
// answer that encodes to null is not stored.
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
