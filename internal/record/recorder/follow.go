package recorder

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
)

// open does nothing if r.state is already set. Otherwise it sets r.state to the state of the run
// before the run's first event, so that catchUp can apply all events of the run. It also reads the
// stored cursor: the sequence number up to which the ledger records for the events are already
// written. A ledger record is a file about an attempt.
func (r *Recorder) open(ctx context.Context) error {
	if r.state != nil {
		return nil
	}
	var cursor store.Cursor
	err := r.opts.Store.Read(ctx, func(from store.Reader) (err error) {
		cursor, err = from.Cursor(r.cursor)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return r.openFrom(ctx, cursor.Seq)
}

// openFrom does the same as open, but always sets r.state and does not read the stored cursor.
// Instead, the caller passes the cursor's value as the parameter recorded.
func (r *Recorder) openFrom(ctx context.Context, recorded int64) error {
	run, tasks, last, err := r.readRows(ctx)
	if err != nil {
		return err
	}
	p, err := newSessionState(run, tasks, r.opts.Project)
	if err != nil {
		return err
	}
	if r.recording, err = r.opts.Session.Recording(r.opts.Run); err != nil {
		return err
	}
	r.state, r.recorded, r.seq = p, recorded, last
	if len(tasks) > 0 {
		r.seq = seqBeforeRun(tasks)
	}
	return nil
}

func (r *Recorder) readRows(ctx context.Context) (run store.Run, tasks []store.Task, last int64, err error) {
	err = r.opts.Store.Read(ctx, func(from store.Reader) (err error) {
		if run, err = from.Run(r.opts.Run); err != nil {
			return fmt.Errorf("run %s: %w", r.opts.Run, err)
		}
		if tasks, err = from.Tasks(r.opts.Run); err != nil {
			return err
		}
		last, err = from.LastSeq()
		return err
	})
	return run, tasks, last, err
}

// seqBeforeRun returns the sequence number that precedes the run's first event. The run's first
// event is directly followed by the first event of tasks[0], whose sequence number is tasks[0].Seq.
func seqBeforeRun(tasks []store.Task) int64 { return tasks[0].Seq - 2 }

// eventsAtOnce is how many events are read at a time. It is limited to save memory, because each
// event contains a whole database row.
const eventsAtOnce = 1000

// catchUp applies all new events of the run to r.state.
func (r *Recorder) catchUp(ctx context.Context) error { return r.follow(ctx, &r.seq, r.apply) }

// apply applies one event of the run to r.state. If a ledger record must be written for the event,
// apply adds the record to r.pending.
func (r *Recorder) apply(e store.Event) error {
	if r.state.isKnownTask(e) {
		return nil
	}
	n, ok, err := decodeEvent(e)
	if err != nil || !ok {
		return err
	}
	if _, known := r.state.agentIndex[e.Task]; n.task != nil && !known {
		if err := r.state.addLater(*n.task, r.opts.Project); err != nil {
			return err
		}
	}
	r.state.apply(n)
	entry, ok := entryOf(n, r.state.stopping)
	if ok && e.Seq > r.recorded && r.opts.Ledger != nil {
		r.pending = append(r.pending, entry)
	}
	return nil
}

// follow calls the function visit for each of the run's events after the sequence number *seq. It
// sets *seq to the sequence number of the last event that it has read.
func (r *Recorder) follow(ctx context.Context, seq *int64, visit func(store.Event) error) error {
	for {
		var events []store.Event
		err := r.opts.Store.Read(ctx, func(from store.Reader) (err error) {
			events, err = from.Events(*seq, eventsAtOnce)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Run == r.opts.Run {
				if err := visit(e); err != nil {
					return fmt.Errorf("event %d: %w", e.Seq, err)
				}
			}
			*seq = e.Seq
		}
		if len(events) < eventsAtOnce {
			return nil
		}
	}
}
