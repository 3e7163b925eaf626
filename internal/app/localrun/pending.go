package localrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/record/pending"
)

// finishDocuments updates the list of runs with unwritten documents. The parameter flushed is the
// result of [activeRun.flush]. If flushed is nil, finishDocuments removes the run from the list.
// Otherwise it prints the error flushed and stores it in the run's list entry. If storing fails,
// the entry does not change.
func (r *Runs) finishDocuments(ctx context.Context, run string, flushed error) {
	if flushed == nil {
		if err := r.pending.Remove(ctx, run); err != nil {
			r.opts.Notice(fmt.Sprintf("the documents of run %s are written, but that cannot be noted: %v; they will be written once more", run, err))
		}
		return
	}
	later := "the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
	if ended, err := r.hasEnded(ctx, run, ""); err == nil && !ended {
		later = fmt.Sprintf("'gaffer resume %s' writes them", run)
	}
	r.opts.Notice(fmt.Sprintf("the documents of run %s are not all written: %s; %s", run, oneLine(flushed), later))
	_ = r.pending.Add(ctx, run, r.opts.Paths, oneLine(flushed))
}

// oneLine returns the text of an error with its lines joined by "; ".
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// rewrite writes the documents of an ended run that an earlier process could not write.
func (r *Runs) rewrite(ctx context.Context, run string) error {
	s, _, err := r.open(ctx, run)
	if err != nil {
		return err
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	return r.pending.Remove(ctx, run)
}

// PendingOptions are the dependencies of Pending.
type PendingOptions struct {
	Store   store.Store
	Locks   runlock.Locks
	Project string // path of the project's root
	// RunsOf returns the [Runs] of a project. The parameter paths contains the folders of the
	// project's documents, by the name of their setting. If err is nil, the caller must call
	// closes, a function that closes the documents.
	RunsOf   func(project string, paths map[string]string) (runs *Runs, closes func(), err error)
	ReadOnly bool // the store cannot be changed, so WriteOnOpen does nothing
	Now      func() time.Time
	Notice   func(text string) // prints a message for the user
}

// Pending writes the documents that earlier processes could not write.
type Pending struct {
	opts PendingOptions
	list pending.List
}

// NewPending returns a Pending with these options.
func NewPending(opts PendingOptions) *Pending {
	return &Pending{opts, pending.List{Store: opts.Store, Now: opts.Now}}
}

// List returns the ended runs of this machine whose documents are not written. These are the runs
// of this project or, if everywhere is set, of all projects. List skips runs that a process works
// on, because that process writes the documents.
func (p *Pending) List(ctx context.Context, everywhere bool) ([]pending.Documents, error) {
	unowned := func(run store.Run) bool {
		return (everywhere || run.Project == p.opts.Project) && p.opts.Locks.WorkedOn(run) && !p.opts.Locks.Owner(run.ID).Alive
	}
	found, err := p.list.Ended(ctx, unowned)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	// Read the list a second time and return only the runs that both lists contain, because the
	// first list may contain too many runs. When a process has written a run's documents, it
	// deletes the run's list entry and then unlocks the run. If it does both after we have read the
	// entry but before we check whether a process works on the run, the first list wrongly contains
	// the run.
	again, err := p.list.Ended(ctx, unowned)
	return slices.DeleteFunc(again, func(d pending.Documents) bool {
		return !slices.ContainsFunc(found, func(f pending.Documents) bool { return f.Run == d.Run })
	}), err
}

// Check returns a [*pending.UnwrittenError] if the run has ended on this machine but its documents
// are not written yet. It returns nil while a process works on the run.
func (p *Pending) Check(ctx context.Context, run string) error {
	list, err := p.List(ctx, true)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.Run == run {
			return &pending.UnwrittenError{Documents: d}
		}
	}
	return nil
}

// Write tries to write the unwritten documents of this project, or of all projects on this machine
// if everywhere is set. It returns those that it could not write.
func (p *Pending) Write(ctx context.Context, everywhere bool) (left []pending.Documents, err error) {
	list, err := p.List(ctx, everywhere)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		runs, closes, err := p.opts.RunsOf(d.Project, d.Paths)
		if err == nil {
			err = runs.rewrite(ctx, d.Run)
			closes()
		}
		if err != nil {
			d.Why = oneLine(err)
			left = append(left, d)
			continue
		}
		p.opts.Notice(fmt.Sprintf("the documents of run %s say now how it ended; they could not be written before: %s", d.Run, d.Why))
	}
	return left, nil
}

// writeWithin is how long a command may spend on writing the documents of earlier runs.
const writeWithin = time.Second

// WriteOnOpen tries to write the unwritten documents of this project within writeWithin. The
// commands that work on the project's runs call it when they start. If writing fails, WriteOnOpen
// prints a notice, and the command continues.
func (p *Pending) WriteOnOpen(ctx context.Context) {
	if p.opts.ReadOnly {
		return
	}
	within, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	left, err := p.Write(within, false)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.opts.Notice(fmt.Sprintf("cannot tell whether documents are pending: %v", err))
	}
	for _, d := range left {
		p.opts.Notice(fmt.Sprintf("the documents of run %s are still not written: %s; 'gaffer doctor --repair' tries again", d.Run, d.Why))
	}
}

// retryEvery is how often a server looks for unwritten documents.
const retryEvery = 30 * time.Second

// WriteRepeatedly tries to write the unwritten documents of this machine until ctx ends. If the
// documents of a run cannot be written, it prints the reason once, and again only if the reason
// changes.
func (p *Pending) WriteRepeatedly(ctx context.Context) {
	for reported := map[string]string{}; ctx.Err() == nil; pause.For(ctx, retryEvery) {
		left, err := p.Write(ctx, true)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			left = append(left, pending.Documents{Why: err.Error()})
		}
		now := map[string]string{}
		for _, d := range left {
			if now[d.Run] = d.Why; reported[d.Run] != d.Why {
				p.opts.Notice(fmt.Sprintf("the documents of run %s are still not written: %s", d.Run, d.Why))
			}
		}
		reported = now
	}
}
