// Package runquery reads runs, tasks, attempts and questions from a store, and converts them to the
// types of package fleet. It finds runs and tasks by the names that users give, follows the changes
// of runs, and makes reports about tasks and costs. It changes nothing in the store.
package runquery

import (
	"context"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Options holds functions that return or add what is not in the store. Each may be nil.
type Options struct {
	// Annotate and AnnotateTask set the fields of v that the store does not know, such as the
	// process that works on a run.
	Annotate     func(v *fleet.Run, run store.Run)
	AnnotateTask func(v *fleet.Task, spec plan.Task)
	// Hide reports whether lists leave out a run. A hidden run can be found only by its whole id.
	Hide func(run store.Run) bool
	// Limits returns the user's limits of what agents may cost, for cost reports. If Limits is nil,
	// reports contain no limits. Now returns the current time, to which the limits apply. If Now is
	// nil, reports use the machine's clock.
	Limits func() engine.Limits
	Now    func() time.Time
	// NotStarted returns, for morning reports, the planned start times of schedules at which no run
	// was started. It leaves out times before since. An empty project means all projects. If
	// NotStarted is nil, reports contain no such times.
	NotStarted func(r store.Reader, project string, since time.Time) ([]fleet.MorningFire, error)
}

// Querier reads a store. It is safe for concurrent use.
type Querier struct {
	store store.Store
	opts  Options
	costs costCache
}

// New returns a querier for a store.
func New(s store.Store, opts Options) *Querier { return &Querier{store: s, opts: opts} }

// Run returns the current state of a run, with its tasks.
func (l *Querier) Run(ctx context.Context, id string) (run fleet.Run, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		run, err = l.View(r, id)
		return err
	})
	return run, err
}

// Runs returns the runs of a project, or of all projects if project is empty, latest
// first. It returns ended runs only if ended is set.
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

// Rows returns the rows of the runs that [Querier.Runs] returns for the same arguments, in the same
// order.
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

// shows reports whether a list of a project's runs contains this run: it belongs to the project, or
// project is empty, and Options.Hide does not hide it.
func (l *Querier) shows(run store.Run, project string) bool {
	return (project == "" || run.Project == project) && (l.opts.Hide == nil || !l.opts.Hide(run))
}
