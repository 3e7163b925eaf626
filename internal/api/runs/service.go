// Package runs implements the coordinator's requests about runs: submitting plans,
// reading runs, canceling, retrying, answering, and the results of runs: logs, documents
// and records.
//
// A run of a coordinator belongs to a project by name. Each of its tasks has that name as
// a label, so that only workers of the project take it. The service keeps no state except
// a cache of rendered documents, so several coordinators can share one store.
package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Options configures a Service.
type Options struct {
	Store  store.Store
	Engine *engine.Engine // on the same store
	Now    func() time.Time
	Random io.Reader
	Logs   Logs

	// File returns the file with the log of an attempt that ran on this machine and whose
	// log exists only there. It may be nil.
	File func(run store.Run, a store.Attempt) (path string, ok bool)
	// Annotate adds information to a run that is not in the store. It may be nil.
	Annotate func(v *fleet.Run, run store.Run)

	// Attend starts a process on this machine for a run that only this machine can run,
	// if no process works on it. It is called after a user has changed the run. It may be
	// nil if other processes always work on the runs.
	Attend func(ctx context.Context, run string) error

	// Hide reports which runs are internal, such as the runs that hold the tasks of
	// channels. They are not found here. Nil hides none.
	Hide func(run store.Run) bool
	// AddMergeTasks adds tasks to a plan that is bound to one machine, such as merges between its
	// tasks. Nil adds nothing.
	AddMergeTasks func(p plan.Plan, run string) (plan.Plan, error)
}

// Service answers requests. It is safe for concurrent use.
type Service struct {
	opts   Options
	query  *runquery.Querier
	sheets sheets
}

var _ server.Runs = (*Service)(nil)

// New returns a service.
func New(opts Options) *Service {
	if opts.Attend == nil {
		opts.Attend = func(context.Context, string) error { return nil }
	}
	if opts.Hide == nil {
		opts.Hide = func(store.Run) bool { return false }
	}
	return &Service{opts: opts, query: runquery.New(opts.Store, runquery.Options{Hide: opts.Hide, Annotate: opts.Annotate})}
}

// find returns a run that exists and is not hidden.
func (d *Service) find(r store.Reader, id string) (store.Run, error) {
	run, err := r.Run(id)
	if err == nil && d.opts.Hide(run) {
		err = store.ErrNotFound
	}
	return run, protocol.Missing(err, "run", id)
}

// see returns an error unless a run exists and is not hidden.
func (d *Service) see(ctx context.Context, id string) error {
	return d.opts.Store.Read(ctx, func(r store.Reader) error {
		_, err := d.find(r, id)
		return err
	})
}

// Runs implements [server.Runs].
func (d *Service) Runs(ctx context.Context, q coordinator.RunQuery) ([]fleet.Run, error) {
	return d.query.Summaries(ctx, q.Project, q.Ended, q.Limit)
}

// Run implements [server.Runs]. It leaves out the prompts of the tasks, because they may
// be long.
func (d *Service) Run(ctx context.Context, id string) (run fleet.Run, err error) {
	if err := d.see(ctx, id); err != nil {
		return run, err
	}
	if run, err = d.query.Run(ctx, id); err != nil {
		return run, err
	}
	for i := range run.Tasks {
		run.Tasks[i].Prompt = ""
	}
	return run, d.explain(ctx, id, run.Tasks)
}

// FindRun implements [server.Runs].
func (d *Service) FindRun(ctx context.Context, project, name string, unfinished bool) (string, error) {
	id, err := d.query.FindRun(ctx, project, name, unfinished)
	if err != nil {
		return "", err
	}
	return id, d.see(ctx, id)
}

// FindTask implements [server.Runs].
func (d *Service) FindTask(ctx context.Context, project, name string) (fleet.Task, error) {
	t, err := d.query.FindTask(ctx, project, name)
	if err != nil {
		return t, err
	}
	return t, d.see(ctx, t.Run)
}

// Task implements [server.Runs].
func (d *Service) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	if err := d.see(ctx, run); err != nil {
		return fleet.Task{}, err
	}
	t, err := d.query.Task(ctx, store.TaskKey{Run: run, Task: task})
	if err != nil {
		return t, err
	}
	list := []fleet.Task{t}
	err = d.explain(ctx, run, list)
	return list[0], err
}

// Attempts implements [server.Runs].
func (d *Service) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	if err := d.see(ctx, run); err != nil {
		return nil, err
	}
	return d.query.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// Plan implements [server.Runs].
func (d *Service) Plan(ctx context.Context, id string, env bool) (text json.RawMessage, err error) {
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		run, err := d.find(r, id)
		text = run.Plan
		return err
	})
	if err != nil || env {
		return text, err
	}
	p, err := plan.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", id, err)
	}
	for i := range p.Tasks {
		p.Tasks[i].Env = secret.Hide(p.Tasks[i].Env)
	}
	return plan.Encode(p)
}

// Questions implements [server.Runs].
func (d *Service) Questions(ctx context.Context, run string) ([]fleet.Question, error) {
	if run != "" {
		if err := d.see(ctx, run); err != nil {
			return nil, err
		}
	}
	return d.query.Questions(ctx, run)
}
