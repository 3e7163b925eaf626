package localrun

import (
	"context"
	"errors"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/record/pending"
)

// endWithin is how long CancelAndWait waits until the task or run has ended.
const endWithin = 2 * time.Minute

// CancelAndWait cancels a task of a run, or the whole run if task is empty. It returns when the
// task or run has ended, or with an error after endWithin. If no gaffer process works on the run,
// it ends the attempts itself. If the task or run had already ended, it returns nil.
func (r *Runs) CancelAndWait(ctx context.Context, run, task, why string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := r.opts.Cancel(ctx, run, task, why)
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		ended, err := r.hasEnded(ctx, run, task)
		if ended || err != nil {
			return err
		}
		err = r.Collect(ctx, run, func(t store.Task) bool { return task == "" || t.Task == task })
		// Ignore an OwnedError, because the process that works on the run ends the attempts. Ignore
		// an UnwrittenError, because the attempts have ended and Collect has printed why documents
		// could not be written.
		owned, unwritten := (*runlock.OwnedError)(nil), (*pending.UnwrittenError)(nil)
		if err != nil && !errors.As(err, &owned) && !errors.As(err, &unwritten) {
			return err
		}
		pause.For(ctx, watchEvery)
	}
}

// hasEnded reports whether a task of a run has ended, or the run if task is empty.
func (r *Runs) hasEnded(ctx context.Context, run, task string) (ended bool, err error) {
	err = r.opts.Store.Read(ctx, func(rows store.Reader) error {
		if task == "" {
			row, err := rows.Run(run)
			ended = row.Status.Final()
			return err
		}
		row, err := rows.Task(store.TaskKey{Run: run, Task: task})
		ended = row.Status.Final()
		return err
	})
	return ended, err
}

// CancelRunAndWait cancels a run and waits until it has ended.
func (r *Runs) CancelRunAndWait(ctx context.Context, run, why string) error {
	return r.CancelAndWait(ctx, run, "", why)
}

// Collect waits for the end of the running attempts of those tasks for which match returns true,
// and stores how they ended. It starts no attempts. It returns an [*runlock.OwnedError] if another
// process works on the run, and a [*pending.UnwrittenError] if everything was stored but documents
// could not be written.
func (r *Runs) Collect(ctx context.Context, run string, match func(store.Task) bool) error {
	release, err := r.opts.Locks.Lock(ctx, run)
	if err != nil {
		return err
	}
	defer release()
	s, running, err := r.open(ctx, run)
	if err != nil {
		return err
	}
	var wanted []engine.Assignment
	for _, one := range running {
		if match(one.Task) {
			wanted = append(wanted, one)
		}
	}
	if err := r.pending.Add(ctx, run, r.opts.Paths, ""); err != nil {
		return err
	}
	if err := s.worker.Collect(ctx, wanted); err != nil {
		return err
	}
	flushed := s.flush(ctx)
	r.finishDocuments(ctx, run, flushed)
	if flushed == nil {
		return nil
	}
	v, err := r.opts.Query.Run(ctx, run)
	if err != nil {
		return err
	}
	return &pending.UnwrittenError{Documents: pending.Documents{Run: run, Project: v.Project, Since: v.Ended, Why: oneLine(flushed)}}
}

// WriteDocuments writes the documents of a run that has ended. It does nothing if another process
// works on the run, because that process writes them.
func (r *Runs) WriteDocuments(ctx context.Context, run string) error {
	release, err := r.opts.Locks.Lock(ctx, run)
	if owned := (*runlock.OwnedError)(nil); errors.As(err, &owned) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	s, _, err := r.open(ctx, run)
	if err != nil {
		return err
	}
	if err := r.pending.Add(ctx, run, r.opts.Paths, ""); err != nil {
		return err
	}
	r.finishDocuments(ctx, run, s.flush(ctx))
	return nil
}
