// Package recorder writes the state of a run to documents that other programs read. The file
// status.json describes the run, which these programs call a session. The ledger is a folder with
// two records for each attempt: the run record says what was started, and the result record says
// how the attempt ended.
//
// The store is authoritative. A recorder reads the events of one run in order and computes the
// documents from them. The documents depend only on the data in the store, never on a clock, so a
// recorder that writes a document again produces the same bytes. A cursor in the store contains the
// sequence number of the last event whose run and result records are written. status.json needs no
// cursor: every recorder rewrites the whole file when it starts.
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
	Ledger  *ledger.Store     // ledger for the records of attempts; nil to write none
	Project string            // path of the project; records contain it as the repository
	Notice  func(text string) // prints a message to the user; must not be nil
	Quiet   bool              // do not print temporary problems; Flush returns those that remain

	// Cancel is called when another program has set a task, or the run, to cancelled in the
	// session's document. It cancels the task, or the run if task is empty. It must not fail if the
	// task or run has already ended. If Cancel is nil, the recorder ignores the request and
	// overwrites it in the document.
	Cancel func(ctx context.Context, task, why string) error

	// Pace is how long events are collected between two writes. Zero means DefaultPace.
	Pace time.Duration
	// CheckInterval is the time between two checks while there are no events. A check looks for
	// changes that other programs have made to the session's document, and retries failed writes.
	// Zero means DefaultCheckInterval.
	CheckInterval time.Duration
}

// The defaults of the fields Pace and CheckInterval of [Options].
const (
	DefaultPace          = 100 * time.Millisecond
	DefaultCheckInterval = 2 * time.Second
)

// Recorder writes the documents of one run, which are files for other programs. It is not safe for
// concurrent use. Several processes may record the same run, each with its own Recorder.
type Recorder struct {
	opts      Options
	cursor    string // name of the run's cursor in the store
	recording *session.Recording
	state     *sessionState // nil until open was called
	seq       int64         // sequence number of the last event that was read
	// recorded is the value of the stored cursor: the sequence number of the last event whose
	// ledger records are written.
	recorded         int64
	pending          []entry             // ledger records to write, in the order of their events
	writtenWithStart map[attemptKey]bool // attempts whose end was already written together with their start
	failing          map[string]error    // current problems by kind, such as sessionProblem
	refused          []error             // errors about records that can never be written; only the first few are kept
	refusedCount     int
	lastWriteTook    time.Duration // how long the last write of the session's document took
	lastWrite        time.Time     // when the session's document was last written
}

// Writing a document with at least manyAgents agents needs much time and memory. So the next write
// of such a document waits largeShare times as long as the last write took, but at most maxPace.
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

// due reports whether enough time has passed to write the session's document again. Ledger records
// are written without such a delay.
func (r *Recorder) due() bool { return time.Since(r.lastWrite) >= r.pace() }

// CursorOf returns the name of a run's cursor in the store. The cursor is the sequence number of
// the last event whose records the recorder has written.
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

// Run writes documents whenever the run has changed. It returns when the run has ended, or when ctx
// ends. Run continues after errors: it prints each problem once and tries again later.
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
			r.write(ctx, false) // writing also reads new events, possibly the last one of the run, so check for the end again
		}
		if r.state.ended() {
			return r.flush(ctx)
		}
		if err := r.wait(ctx, began); err != nil {
			return err
		}
	}
}

// Flush writes all documents up to the last event. It also writes documents again that other
// programs have deleted. It returns errors about what could not be written. It must not be called
// while Run is running.
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

// Rebuild writes the documents of the run again from the store. It adds missing ledger records, but
// does not replace intact ones, because records are immutable.
func (r *Recorder) Rebuild(ctx context.Context) error {
	r.state, r.pending, r.refused, r.refusedCount, r.writtenWithStart = nil, nil, nil, 0, map[attemptKey]bool{}
	if err := r.openFrom(ctx, 0); err != nil {
		return err
	}
	return r.Flush(ctx)
}

// flush writes all documents up to the last event. Then it writes those ledger records again that
// other programs have deleted.
func (r *Recorder) flush(ctx context.Context) error {
	r.write(ctx, true)
	if err := r.restoreDeleted(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (r *Recorder) close() { r.recording.Close() }

// RefusedError reports that everything was written except some ledger records that can never be
// written. For example, another program may have written a record with the same file name. Such a
// file stays unchanged.
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

// wait waits until the recorder should write again. It returns at once if ledger records are
// pending and the last write of records did not fail. Otherwise it first waits until the time
// r.pace() has passed since the time began. Then it waits for a new event, a change of the document
// by another program, or the time to retry a failed write.
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
	// If the last call of write did not write the document, for example because it was too early,
	// return now, so that the caller tries again.
	if r.state.unwritten {
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
