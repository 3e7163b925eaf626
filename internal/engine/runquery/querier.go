// Package runquery reads a store as people see it: runs with their tasks, attempts
// and questions, found by what a person calls them, followed while they change,
// or in a few numbers. It changes nothing.
package runquery

import (
	"context"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Options add what is not in the store. Each may be nil.
type Options struct {
	Annotate     func(v *fleet.Run, run store.Run)
	AnnotateTask func(v *fleet.Task, spec plan.Task)
	// Hide says which runs are in no list and are found by their whole id alone.
	Hide func(run store.Run) bool
}

// Querier looks at a store. It is safe for concurrent use.
type Querier struct {
	store store.Store
	opts  Options
}

// New returns a querier on a store.
func New(s store.Store, opts Options) *Querier { return &Querier{s, opts} }

// Run returns a run as it stands.
func (l *Querier) Run(ctx context.Context, id string) (run fleet.Run, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		run, err = l.View(r, id)
		return err
	})
	return run, err
}

// Runs lists the runs of a project, or of all if it is empty, the latest first:
// those that are not final, or all.
func (l *Querier) Runs(ctx context.Context, project string, ended bool) (list []fleet.Run, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		rows, err := l.Rows(r, project, ended)
		if err != nil {
			return err
		}
		for _, row := range rows {
			v, err := l.View(r, row.ID)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		return nil
	})
	return list, err
}

// Rows are the rows of what [Querier.Runs] lists.
func (l *Querier) Rows(r store.Reader, project string, ended bool) ([]store.Run, error) {
	read := r.RunningRuns
	if ended {
		read = r.Runs
	}
	runs, err := read()
	runs = slices.DeleteFunc(runs, func(run store.Run) bool { return !l.shows(run, project) })
	slices.Reverse(runs)
	return runs, err
}

// shows reports whether a run is in the lists of a project, or of all.
func (l *Querier) shows(run store.Run, project string) bool {
	return (project == "" || run.Project == project) && (l.opts.Hide == nil || !l.opts.Hide(run))
}
