// Package serverfleet is the fleet of a server as a command sees it: its runs, their
// tasks and logs, and its workers, asked for over the coordinator's client.
package serverfleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/plan"
)

// Options say how a fleet is asked.
type Options struct {
	Address string            // of the server, for people
	Project string            // the name of the project that names are looked for in
	Notice  func(text string) // things a person should know, as they happen; never nil
	// Agent names the agent that asks, see package caller. It is empty for a user. The
	// server knows tokens and not agents, so an agent may answer, cancel and retry
	// nothing.
	Agent string
}

// Fleet is the fleet of one server. It is safe for concurrent use.
type Fleet struct {
	client *coordinator.Client
	opts   Options
	names  names
}

// refuse refuses an agent what only a user may do.
func (f *Fleet) refuse(what string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return &caller.RefusedError{What: what, Agent: f.opts.Agent}
}

// New asks nothing yet.
func New(c *coordinator.Client, o Options) *Fleet { return &Fleet{client: c, opts: o} }

// Where is the server's address.
func (f *Fleet) Where() string { return f.opts.Address }

// Project is the name of the project that names are looked for in.
func (f *Fleet) Project() string { return f.opts.Project }

// Close gives nothing back: whatever runs goes on.
func (f *Fleet) Close() error { return nil }

// Run returns a run with its tasks. Workers are called by their names.
func (f *Fleet) Run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.run(ctx, id)
	return r, f.problem(err)
}

// run is like [Fleet.Run] with the client's own error.
func (f *Fleet) run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.client.Run(ctx, id)
	if err == nil {
		f.names.put(ctx, f.client, r.Tasks)
	}
	return r, err
}

// Runs lists the runs of the project, or of all projects, the latest first: those
// that are not final, or all. Those that are not final have their tasks.
func (f *Fleet) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: ended}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Runs(ctx, q)
	if err != nil {
		return nil, f.problem(err)
	}
	for i, r := range list {
		if r.Status.Final() {
			continue
		}
		if list[i], err = f.Run(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// List are the runs of the project, or of all projects, without their tasks, the
// latest first: at most so many, also those that have ended.
func (f *Fleet) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: true, Limit: limit}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Runs(ctx, q)
	return list, f.problem(err)
}

// FindRun returns the id of the run that a person means, as on one machine.
func (f *Fleet) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	id, err := f.client.FindRun(ctx, f.opts.Project, text, unfinished)
	return id, f.problem(err)
}

// FindTask returns the task that a person means, as on one machine.
func (f *Fleet) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	t, err := f.client.FindTask(ctx, f.opts.Project, text)
	if err != nil {
		return t, f.problem(err)
	}
	f.names.put(ctx, f.client, []fleet.Task{t})
	return t, nil
}

// Submit stores a plan as a run of the project that any of its workers may take
// tasks of.
func (f *Fleet) Submit(ctx context.Context, p plan.Plan) (string, error) {
	return f.SubmitOn(ctx, p, "")
}

// SubmitOn is like [Fleet.Submit] for tasks that only the worker of a name may
// take. The request may be repeated, and makes one run.
func (f *Fleet) SubmitOn(ctx context.Context, p plan.Plan, worker string) (string, error) {
	p.Warnings = nil // they are for whoever wrote it
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].Box = "" // workers are elsewhere
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("plan %s: %w", p.Name, err)
	}
	r, err := f.client.Submit(ctx, coordinator.NewRun{Project: f.opts.Project, On: worker, Key: rand.Text(), Plan: text})
	return r.ID, f.problem(err)
}

// Answer answers a question. deny refuses what was asked for, with text as the
// reason.
func (f *Fleet) Answer(ctx context.Context, question, text string, deny bool) error {
	if err := f.refuse("gaffer answer"); err != nil {
		return err
	}
	return f.problem(f.client.Answer(ctx, question, text, deny))
}

// Cancel ends a run, or one task of it with what waits for it.
func (f *Fleet) Cancel(ctx context.Context, run, task, why string) error {
	if err := f.refuse("gaffer cancel"); err != nil {
		return err
	}
	return f.problem(f.client.Cancel(ctx, run, task, why))
}

// Retry queues a task again that failed or was cancelled.
func (f *Fleet) Retry(ctx context.Context, run, task string) error {
	if err := f.refuse("gaffer retry"); err != nil {
		return err
	}
	return f.problem(f.client.Retry(ctx, run, task))
}

// Attend does nothing: a server attends to its runs after each change.
func (f *Fleet) Attend(context.Context, string) error { return nil }

// Report returns what the server's records of the project's runs say together.
func (f *Fleet) Report(ctx context.Context, q coordinator.ReportQuery) (json.RawMessage, error) {
	q.Project = f.opts.Project
	text, err := f.client.Report(ctx, q)
	return text, f.problem(err)
}
