// Package recorder writes a run's state to the documents of a project that other
// programs read: the session's status.json, and a run record and a result record in the
// ledger for each attempt.
//
// The store is authoritative. A recorder reads the events of one run in order and
// derives the run's state in terms of the session protocol. Its output depends only on
// the events, never on a clock, so writing it again produces the same bytes. The store
// keeps a cursor: the last event whose records are written. The session's document has
// no cursor: every recorder rewrites it as a whole when it starts.
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
	Run     string // also the session's id
	Session *session.Store
	Ledger  *ledger.Store     // if nil, no records are written
	Project string            // the folder that records name as the repository
	Notice  func(text string) // prints a message to the user; never nil
	Quiet   bool              // do not print problems that Flush returns as its error

	// Cancel cancels a task of the run, or the whole run if task is empty, because
	// another program has set its status to cancelled in the session's document. It
	// must not fail if the task or run has already ended. If Cancel is nil, such
	// requests are overwritten.
	Cancel func(ctx context.Context, task, why string) error

	// Pace is the time to collect events between two writes; DefaultPace if zero.
	Pace time.Duration
	// CheckInterval is how often the document is checked and failed writes are retried
	// while there are no events; DefaultCheckInterval if zero.
	CheckInterval time.Duration
}

// The default times. A document is written at most one pace and the duration of one
// write after its event. This must be within 100 ms.
const (
	DefaultPace          = 50 * time.Millisecond
	DefaultCheckInterval = 2 * time.Second
)

// Recorder writes the documents of one run. It is not safe for concurrent use. Several
// programs may record the same run.
type Recorder struct {
	opts             Options
	cursor           string // name of the cursor
	recording        *session.Recording
	state            *sessionState       // nil until open
	seq              int64               // the last event in the state
	recorded         int64               // the stored cursor: the last event whose records are written
	pending          []entry             // records to write, in the order of their events
	writtenWithStart map[attemptKey]bool // attempts whose end was written together with their start
	failing          map[string]error    // current problems, by kind
	refused          []error             // the first few records that can never be written, as errors
	refusedCount     int
	lastWriteTook    time.Duration // duration of the last write of the session's document
	lastWrite        time.Time     // time of that write
}

// Writing a document with many agents takes long and much memory. So the document is
// not written again for largeShare times the duration of the last write, but for at
// most maxPace. For ten thousand agents this is about a second.
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

// due reports whether the session's document may be written again. Records do not wait
// for this.
func (r *Recorder) due() bool { return time.Since(r.lastWrite) >= r.pace() }

// CursorOf returns the name of the cursor of a run's records.
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

// Run writes documents until the run has ended and everything is written, or until ctx
// ends. It continues after errors: it prints each problem once and tries again with the
// next events. [Recorder.Flush] returns the problems that are left. The only error of
// Run is ctx.Err().
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

// runUntilError does the work of Run until the store returns an error.
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
			r.write(ctx, false) // this also reads new events, possibly the last one
		}
		if r.state.ended() {
			return r.flush(ctx)
		}
		if err := r.wait(ctx, began); err != nil {
			return err
		}
	}
}

// Flush writes everything up to the last event, including documents that other programs
// have damaged or deleted. Its error says what could not be written. It must not be
// called while Run is running.
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

// Rebuild writes all documents of the run again from the store. Existing records stay
// unchanged, because records are immutable.
func (r *Recorder) Rebuild(ctx context.Context) error {
	r.state, r.pending, r.refused, r.refusedCount, r.writtenWithStart = nil, nil, nil, 0, map[attemptKey]bool{}
	if err := r.openFrom(ctx, 0); err != nil {
		return err
	}
	return r.Flush(ctx)
}

// flush writes everything, and then again the records that other programs have deleted.
func (r *Recorder) flush(ctx context.Context) error {
	r.write(ctx, true)
	if err := r.restoreDeleted(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (r *Recorder) close() { r.recording.Close() }

// RefusedError reports that everything was written except some records, whose file names
// are used by records of other programs. Those files stay unchanged.
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

// wait returns when there is something to do. If records are left to write, it returns
// at once. Otherwise it waits for the pace, and then until there are events, another
// program has changed the document, or a failed write must be retried.
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
	if r.state.unwritten { // the document's pace did not allow another write yet
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
