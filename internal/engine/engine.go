// Package engine decides which task runs next, and whether a failed task is retried. It is a set of
// transactions on a store: Submit, Claim, Beat, Ask, Answer, Finish, Cancel, Retry, Sweep. The
// engine keeps no state in memory, so several processes may use one store. Only the engine creates
// and changes runs, tasks, attempts and questions. Package prune deletes old ones.
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
	NewID func() string  // returns a new id; must never return the same id twice
	Rand  func() float64 // returns a random number in [0, 1), to vary the delays of retries
	Lease time.Duration  // how long an attempt stays valid after a heartbeat; DefaultLease if zero
	// Who is the user or program that events name as their author, if the request names no author.
	Who string
	// Endless is set if the engine's workers run on this machine and its leases practically never
	// end. A gaffer server with shorter leases may use the same database. An endless engine does
	// not end attempts that the server has assigned.
	Endless bool
	// Limits returns the user's limits on what all attempts together may spend. It is called in
	// every transaction that needs the limits, so that a changed limit holds at once. If Limits is
	// nil, there are no limits.
	Limits func() Limits
	Zone   *time.Location // time zone of the days and months of Limits; nil means the machine's
}

// DefaultLease is the default of Options.Lease. Workers send a heartbeat at least every 15 s, so an
// attempt stays valid if three heartbeats in a row are lost.
const DefaultLease = time.Minute

// MaxLease is the longest lease that workers enforce: if the worker cannot renew the lease, it
// freezes the agent shortly before the lease ends. Workers treat a longer lease as one that never
// ends. The engine grants longer leases only if all workers are on its own machine.
const MaxLease = 24 * time.Hour

// Engine runs the transactions that change the store. It is safe for concurrent use.
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

// ErrNothing is returned by [Engine.Claim] if no task can start now.
var ErrNothing = errors.New("no task can start now")

// ConflictError rejects a request that the current state does not allow, for example because it
// came too late or from the wrong worker. The request has changed nothing in the store.
type ConflictError struct{ What, Why string }

func (e *ConflictError) Error() string { return e.What + ": " + e.Why }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ConflictError) Conflict() bool { return true }

// NotFoundError reports that a row, such as a run or a task, does not exist in the store.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %s: not found", e.What, e.ID) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }
