// Package recorder writes the state of a run to documents that other programs read: the session's
// status.json and, for each attempt, a run record and a result record in the ledger.
//
// The store is authoritative. A recorder reads the events of one run in order and derives the run's
// state in terms of the session protocol. Its output depends only on the events, never on a clock,
// so writing it again produces the same bytes. The store has a cursor: the number of the last event
// whose records are written. The session's document has no cursor: every recorder rewrites the
// whole document when it starts.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// Options configures a recorder.
type Options struct {
	Store   store.Store
	Run     string // id of the run, which is also the id of its session
	Session *session.Store
	Ledger  *ledger.Store     // nil if no records are written
	Project string            // path of the project, which records name as the repository
	Notice  func(text string) // prints a message to the user; never nil
	Quiet   bool              // do not print problems that Flush returns

	// Cancel is called when another program has set a task, or the run, to cancelled in the
	// session's document. It cancels the task, or the run if task is empty. It must not fail if the
	// task or run has already ended. If Cancel is nil, the recorder ignores the request and
	// overwrites it in the document.
	Cancel func(ctx context.Context, task, why string) error

	// Pace is how long events are collected between two writes. Zero means DefaultPace.
	Pace time.Duration
	// CheckInterval is how often, while there are no events, the document is checked for changes of
	// other programs and failed writes are retried. Zero means DefaultCheckInterval.
	CheckInterval time.Duration
}

// The defaults. After an event, it takes at most one pace and the duration of one write until the
// document is written.
const (
	DefaultPace          = 100 * time.Millisecond
	DefaultCheckInterval = 2 * time.Second
)

// Recorder writes the documents of one run. It is not safe for concurrent use. Several processes
// may record the same run, each with its own Recorder.
type Recorder struct {
	opts             Options
	cursor           string // name of the store's cursor
	recording        *session.Recording
	state            *sessionState       // nil until open was called
	seq              int64               // number of the last event that was applied to state
	recorded         int64               // number in the stored cursor: the last event whose records are written
	pending          []entry             // records to write, in the order of their events
	writtenWithStart map[attemptKey]bool // attempts whose end was already written together with their start
	failing          map[string]error    // current problems, by kind; see sessionProblem
	refused          []error             // errors about the first few records that can never be written
	refusedCount     int
	lastWriteTook    time.Duration // how long the last write of the session's document took
	lastWrite        time.Time     // when the session's document was last written
}

// Writing a document with at least manyAgents agents needs much time and memory. So after a write of
// such a document, the next write waits largeShare times as long as the write took, but at most
// maxPace. For ten thousand agents this is about a second.
const (
	manyAgents = 2000
	largeShare = 10
	maxPace    = 2 * time.Second
)

// pace returns the minimum time between two writes of the session's document.
func (r *Recorder) pace() time.Duration {
	if len(r.state.status.Agents) < manyAgents {
		return r.opts.Pace
	}
	return max(r.opts.Pace, min(largeShare*r.lastWriteTook, maxPace))
}

// due reports whether enough time has passed to write the session's document again. Records are
// written without this delay.
func (r *Recorder) due() bool { return time.Since(r.lastWrite) >= r.pace() }

// CursorOf returns the name of the store's cursor for the records of a run.
func CursorOf(run string) string { return "recorder " + run }

// New returns a recorder. It does not access the store or any file.
func New(opts Options) *Recorder {
	if opts.Pace == 0 {
		opts.Pace = DefaultPace
	}
	if opts.CheckInterval == 0 {
		opts.CheckInterval = DefaultCheckInterval
	}
	return &Recorder{opts: opts, cursor: CursorOf(opts.Run), failing: map[string]error{}, writtenWithStart: map[attemptKey]bool{}}
}

// Run writes documents until the run has ended and everything is written, or until ctx ends. It
// continues after errors: it prints each problem once and tries again with the next events.
// [Recorder.Flush] returns the problems that remain. The only error that Run returns is ctx.Err().
func (r *Recorder) Run(ctx context.Context) error {
	for {
		err := r.runUntilError(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		r.reportOnce(ctx, eventsProblem, err)
		pause := time.NewTimer(r.opts.CheckInterval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// runUntilError does the same as Run, but returns at the first error of the store.
func (r *Recorder) runUntilError(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	for {
		began := time.Now()
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		r.reportOnce(ctx, eventsProblem, nil)
		if !r.state.ended() {
			r.write(ctx, false) // writing also reads new events, possibly the last one of the run
		}
		if r.state.ended() {
			return r.flush(ctx)
		}
		if err := r.wait(ctx, began); err != nil {
			return err
		}
	}
}

// Flush writes everything up to the last event, including documents that other programs have
// damaged or deleted. It returns what could not be written. It must not be called while Run is
// running.
func (r *Recorder) Flush(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.reportOnce(ctx, eventsProblem, nil)
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.problems()
}

// Rebuild writes all documents of the run again from the store. It does not change records that
// exist, because records are immutable.
func (r *Recorder) Rebuild(ctx context.Context) error {
	r.state, r.pending, r.refused, r.refusedCount, r.writtenWithStart = nil, nil, nil, 0, map[attemptKey]bool{}
	if err := r.openFrom(ctx, 0); err != nil {
		return err
	}
	return r.Flush(ctx)
}

// flush writes everything up to the last event, and then the records that other programs have
// deleted.
func (r *Recorder) flush(ctx context.Context) error {
	r.write(ctx, true)
	if err := r.restoreDeleted(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (r *Recorder) close() { r.recording.Close() }

// RefusedError reports that everything was written except some records that can never be written,
// for example because files of other programs have their names. Those files stay unchanged.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

func (r *Recorder) problems() error {
	all := slices.Clone(r.refused)
	if more := r.refusedCount - len(r.refused); more > 0 {
		all = append(all, fmt.Errorf("and %d more", more))
	}
	if len(all) > 0 && len(r.failing) == 0 {
		return &RefusedError{errors.Join(all...)}
	}
	for _, what := range slices.Sorted(maps.Keys(r.failing)) {
		all = append(all, r.failing[what])
	}
	if len(all) == 0 {
		return nil
	}
	return errors.Join(all...)
}

// wait returns when there is something to write. If records are left to write and the last write of
// records did not fail, it returns at once. If not, it waits until one pace has passed since began,
// and then until there are events, another program has changed the document, or a failed write must
// be retried.
func (r *Recorder) wait(ctx context.Context, began time.Time) error {
	if len(r.pending) > 0 && r.failing[recordsProblem] == nil {
		return ctx.Err()
	}
	pace := time.NewTimer(r.pace() - time.Since(began))
	defer pace.Stop()
	select {
	case <-pace.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.state.unwritten { // the last write was too recent for another one, but the pace has passed now
		return nil
	}
	for {
		look, cancel := context.WithTimeout(ctx, r.opts.CheckInterval)
		err := r.opts.Store.Wait(look, r.seq)
		late := look.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !late:
			return err
		case err == nil || len(r.failing) > 0 || r.recording.Disturbed():
			return nil
		}
	}
}
