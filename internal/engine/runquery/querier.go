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
	// Annotate and AnnotateTask set the fields of v whose values are not in the store, such as the
	// process that works on a run.
	Annotate     func(v *fleet.Run, run store.Run)
	AnnotateTask func(v *fleet.Task, spec plan.Task)
	// Hide reports whether lists leave out a run. A hidden run can be found only by its whole id.
	Hide func(run store.Run) bool
	// Limits returns the user's limits of what agents may cost per day and per month, for cost
	// reports. If Limits is nil, reports contain no limits. Now returns the current time, which
	// determines the day and the month of the limits. If Now is nil, reports use the machine's
	// clock.
	Limits func() engine.Limits
	Now    func() time.Time
	// NotStarted is used for morning reports. A schedule starts runs of a plan at planned times.
	// NotStarted returns those planned times of schedules at which no run was started. It leaves
	// out times before the parameter since. If project is empty, it returns the times of all
	// projects. If NotStarted is nil, reports contain no such times.
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

// shows reports whether the run belongs in a list of the project's runs. If project is empty, the
// list contains the runs of all projects. A run for which Options.Hide returns true is in no list.
func (l *Querier) shows(run store.Run, project string) bool {
	return (project == "" || run.Project == project) && (l.opts.Hide == nil || !l.opts.Hide(run))
}
