// Package engine decides which task runs next and what follows from a failure. It is a
// set of transactions on a store: Submit, Claim, Beat, Ask, Answer, Finish, Cancel,
// Retry, Sweep. The engine keeps no state in memory, so several processes may use one
// store. It is the only writer of the store's rows.
package engine

import (
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
	Who   string         // default for the user or program that events name as their cause
	// Endless is set for an engine whose leases are very long, because its workers are on
	// this machine. If it shares the database with a coordinator, it does not end attempts
	// that the coordinator has assigned.
	Endless bool
}

// DefaultLease is the default of Options.Lease. Workers send heartbeats every 15 s, so a
// few of them may be lost.
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

// ConflictError rejects a request that the current state does not allow, for example
// because it came too late or from the wrong worker. Nothing was written.
type ConflictError struct{ What, Why string }

func (e *ConflictError) Error() string { return e.What + ": " + e.Why }

// Conflict marks the error as a conflict with a change by another caller.
func (e *ConflictError) Conflict() bool { return true }

// NotFoundError reports that a row does not exist in the store.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %s: not found", e.What, e.ID) }

// NotFound marks the error as one about a row that does not exist.
func (e *NotFoundError) NotFound() bool { return true }
