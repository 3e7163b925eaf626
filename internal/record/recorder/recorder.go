// Package recorder writes what the engine does as the open documents of a
// project: the session's status.json, and a run and a result record for each
// attempt in the ledger.
//
// The store is the truth. A recorder reads the events of one run in their order
// and keeps a picture of the run as the session protocol sees it; what it writes
// follows from the events alone, never from a clock, so that writing it again
// writes the same. How far the records have come is kept in the store. The
// session's document is made right as a whole by every recorder that begins.
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

// Options are what a recorder needs of the world.
type Options struct {
	Store   store.Store
	Run     string // also the session's id
	Session *session.Store
	Ledger  *ledger.Store     // nil writes no records
	Project string            // the folder that records name as the repository
	Notice  func(text string) // what a person should know; never nil
	Quiet   bool              // give no notice of what Flush returns as its error

	// Cancel cancels a task of the run, or the whole run if task is empty, because
	// another program asks for it in the session's document. What has ended already
	// is no error. If it is nil such requests are overwritten.
	Cancel func(ctx context.Context, task, why string) error

	// Pace is how long events are gathered after a write before the next;
	// DefaultPace if zero.
	Pace time.Duration
	// Look is how often the document is looked at while nothing happens, and
	// what could not be written is tried again; DefaultLook if zero.
	Look time.Duration
}

// The default times. A document follows its event after a pace and a write at
// the most, which is to be within 100 ms.
const (
	DefaultPace = 50 * time.Millisecond
	DefaultLook = 2 * time.Second
)

// Recorder writes the documents of one run. It is for one goroutine at a time;
// several programs may record the same run.
type Recorder struct {
	opts      Options
	name      string // of the cursor
	recording *session.Recording
	picture   *picture           // nil until it is opened
	seq       int64              // the last event in the picture
	recorded  int64              // the last event whose records are written, as far as the store knows
	pending   []entry            // records to be written, in the order of their events
	whole     map[attemptOf]bool // those whose end was written with their beginning
	told      map[string]error   // what cannot be written now
	refused   []error            // why records will never be written, of the first few
	refusals  int
	took      time.Duration // to write the session's document
	wrote     time.Time     // when that was
}

// To write a document of many agents takes long, and about as much memory as all
// else that is done. It is left alone for so many times as long as that took, but not
// for longer than mostPace: ten thousand agents for about a second.
const (
	manyAgents = 2000
	largeShare = 10
	mostPace   = 2 * time.Second
)

// pace is how long the session's document is left alone after it was written.
func (r *Recorder) pace() time.Duration {
	if len(r.picture.status.Agents) < manyAgents {
		return r.opts.Pace
	}
	return max(r.opts.Pace, min(largeShare*r.took, mostPace))
}

// due reports whether the session's document may be written again. Records do
// not wait for that.
func (r *Recorder) due() bool { return time.Since(r.wrote) >= r.pace() }

// CursorOf names the cursor of a run's records.
func CursorOf(run string) string { return "recorder " + run }

// New returns a recorder. It touches nothing.
func New(opts Options) *Recorder {
	if opts.Pace == 0 {
		opts.Pace = DefaultPace
	}
	if opts.Look == 0 {
		opts.Look = DefaultLook
	}
	return &Recorder{opts: opts, name: CursorOf(opts.Run), told: map[string]error{}, whole: map[attemptOf]bool{}}
}

// Run writes what happens until the run has ended and all is written, or until
// ctx ends. What cannot be read or written stops nothing: a person is told once, it
// is tried again with what comes next, and [Recorder.Flush] returns the error. The
// only error of Run is ctx's.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		err := r.follows(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		r.tell(ctx, theEvents, err)
		pause := time.NewTimer(r.opts.Look)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// follows is Run until the store fails.
func (r *Recorder) follows(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	for {
		began := time.Now()
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		r.tell(ctx, theEvents, nil)
		if !r.picture.ended() {
			r.write(ctx, false) // and takes in what comes meanwhile, maybe the end
		}
		if r.picture.ended() {
			return r.flush(ctx)
		}
		if err := r.wait(ctx, began); err != nil {
			return err
		}
	}
}

// Flush writes everything up to the last event: what was missed, and what
// others have damaged or deleted since. Its error is what could not be written.
// It must not be called while Run runs.
func (r *Recorder) Flush(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.close()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.tell(ctx, theEvents, nil)
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.problems()
}

// Rebuild writes all documents of the run anew from the store. Records that are
// there are left as they are; they are immutable.
func (r *Recorder) Rebuild(ctx context.Context) error {
	r.picture, r.pending, r.refused, r.refusals, r.whole = nil, nil, nil, 0, map[attemptOf]bool{}
	if err := r.openFrom(ctx, 0); err != nil {
		return err
	}
	return r.Flush(ctx)
}

// flush writes all there is, and then the records that somebody has removed.
func (r *Recorder) flush(ctx context.Context) error {
	r.write(ctx, true)
	if err := r.restore(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (r *Recorder) close() { r.recording.Close() }

// RefusedError is that every document is written but records in whose place another
// program has written its own. Those stay.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

func (r *Recorder) problems() error {
	all := slices.Clone(r.refused)
	if more := r.refusals - len(r.refused); more > 0 {
		all = append(all, fmt.Errorf("and %d more", more))
	}
	if len(all) > 0 && len(r.told) == 0 {
		return &RefusedError{errors.Join(all...)}
	}
	for _, what := range slices.Sorted(maps.Keys(r.told)) {
		all = append(all, r.told[what])
	}
	if len(all) == 0 {
		return nil
	}
	return errors.Join(all...)
}

// wait returns when there is something to do: at once if records are left to be
// written; after the pace, when there are events, or when the document was
// disturbed or something is left to be tried again.
func (r *Recorder) wait(ctx context.Context, began time.Time) error {
	if len(r.pending) > 0 && r.told[theRecords] == nil {
		return ctx.Err()
	}
	pace := time.NewTimer(r.pace() - time.Since(began))
	defer pace.Stop()
	select {
	case <-pace.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.picture.moved { // it was not due
		return nil
	}
	for {
		look, cancel := context.WithTimeout(ctx, r.opts.Look)
		err := r.opts.Store.Wait(look, r.seq)
		late := look.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !late:
			return err
		case err == nil || len(r.told) > 0 || r.recording.Disturbed():
			return nil
		}
	}
}
