// Package serverfleet reads, follows and changes the runs of a server over HTTP, for
// commands. Package localfleet does the same on a store of this machine.
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

// Options configures a Fleet.
type Options struct {
	Address string            // the server's address, for messages
	Project string            // the project in which runs and tasks are searched by name
	Notice  func(text string) // prints a message to the user; never nil
	// Agent is the name of the agent that runs this command, as package caller finds it.
	// It is empty for a user. The server knows only tokens, so this client refuses
	// agents that try to answer, cancel or retry.
	Agent string
}

// Fleet is the fleet of one server. It is safe for concurrent use.
type Fleet struct {
	client *coordinator.Client
	opts   Options
	names  names
}

// refuse returns an error if an agent tries to do what only a user may do.
func (f *Fleet) refuse(what string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return &caller.RefusedError{What: what, Agent: f.opts.Agent}
}

// New returns a fleet. It sends no request yet.
func New(c *coordinator.Client, o Options) *Fleet { return &Fleet{client: c, opts: o} }

// Where returns the server's address.
func (f *Fleet) Where() string { return f.opts.Address }

// Project returns the project in which names are searched.
func (f *Fleet) Project() string { return f.opts.Project }

// Close does nothing. Runs on the server continue.
func (f *Fleet) Close() error { return nil }

// Run returns a run with its tasks. It replaces worker ids by names.
func (f *Fleet) Run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.run(ctx, id)
	return r, f.problem(err)
}

// run does the same as [Fleet.Run], but returns the client's own error.
func (f *Fleet) run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.client.Runs.Get(ctx, id)
	if err == nil {
		f.names.replaceIDs(ctx, f.client, r.Tasks)
	}
	return r, err
}

// Runs returns the runs of the project, or of all projects, latest first. Unless ended
// is set, it returns only unfinished runs. Unfinished runs have their tasks.
func (f *Fleet) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: ended}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Runs.List(ctx, q)
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

// List returns the latest runs of the project, or of all projects, without their tasks,
// latest first. It includes ended runs, and returns at most limit.
func (f *Fleet) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: true, Limit: limit}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Runs.List(ctx, q)
	return list, f.problem(err)
}

// FindRun returns the id of the run that a user means, by the same rules as for a local
// store.
func (f *Fleet) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	id, err := f.client.Runs.Find(ctx, f.opts.Project, text, unfinished)
	return id, f.problem(err)
}

// FindTask returns the task that a user means, by the same rules as for a local store.
func (f *Fleet) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	t, err := f.client.Runs.FindTask(ctx, f.opts.Project, text)
	if err != nil {
		return t, f.problem(err)
	}
	f.names.replaceIDs(ctx, f.client, []fleet.Task{t})
	return t, nil
}

// Submit stores a plan as a run of the project. Any worker of the project may take its
// tasks.
func (f *Fleet) Submit(ctx context.Context, p plan.Plan) (string, error) {
	return f.SubmitOn(ctx, p, "")
}

// SubmitOn does the same as [Fleet.Submit], but only the named worker may take the
// tasks. The client may repeat the request without creating a second run.
func (f *Fleet) SubmitOn(ctx context.Context, p plan.Plan, worker string) (string, error) {
	p.Warnings = nil // they were already printed for the plan's author
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].CheckboxFile = "" // this file is not on the workers' machines
	}
	text, err := plan.Encode(p)
	if err != nil {
		return "", fmt.Errorf("plan %s: %w", p.Name, err)
	}
	r, err := f.client.Runs.Submit(ctx, coordinator.NewRun{Project: f.opts.Project, On: worker, Key: rand.Text(), Plan: text})
	return r.ID, f.problem(err)
}

// Answer answers a question. If deny is set, it refuses the request, with text as the
// reason.
func (f *Fleet) Answer(ctx context.Context, question, text string, deny bool) error {
	if err := f.refuse("gaffer answer"); err != nil {
		return err
	}
	return f.problem(f.client.Questions.Answer(ctx, question, text, deny))
}

// Cancel cancels a run, or one of its tasks with those that depend on it.
func (f *Fleet) Cancel(ctx context.Context, run, task, why string) error {
	if err := f.refuse("gaffer cancel"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.Cancel(ctx, run, task, why))
}

// Retry queues a failed or cancelled task again.
func (f *Fleet) Retry(ctx context.Context, run, task string) error {
	if err := f.refuse("gaffer retry"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.Retry(ctx, run, task))
}

// Merge merges changes in a repository on the server's machine.
func (f *Fleet) Merge(ctx context.Context, request fleet.MergeRequest) ([]fleet.MergeResult, error) {
	if err := f.refuse("gaffer merge"); err != nil {
		return nil, err
	}
	list, err := f.client.Runs.Merge(ctx, request)
	return list, f.problem(err)
}

// UndoMerge undoes the last merge of a task's change.
func (f *Fleet) UndoMerge(ctx context.Context, request fleet.MergeRequest) (fleet.MergeResult, error) {
	if err := f.refuse("gaffer merge"); err != nil {
		return fleet.MergeResult{}, err
	}
	m, err := f.client.Runs.UndoMerge(ctx, request)
	return m, f.problem(err)
}

// Discard deletes the worktree of a task on the server's machine and keeps its content.
func (f *Fleet) Discard(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.discard(ctx, run, task, false)
}

// Restore creates a discarded worktree again.
func (f *Fleet) Restore(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.discard(ctx, run, task, true)
}

func (f *Fleet) discard(ctx context.Context, run, task string, undo bool) (fleet.Review, error) {
	if err := f.refuse("gaffer discard"); err != nil {
		return fleet.Review{}, err
	}
	r, err := f.client.Runs.Discard(ctx, run, task, undo)
	return r, f.problem(err)
}

// EnsureProcess does nothing: a server starts the processes of its runs itself.
func (f *Fleet) EnsureProcess(context.Context, string) error { return nil }

// Report returns the server's report on the records of the project's runs.
func (f *Fleet) Report(ctx context.Context, q coordinator.ReportQuery) (json.RawMessage, error) {
	q.Project = f.opts.Project
	text, err := f.client.Runs.Report(ctx, q)
	return text, f.problem(err)
}

// Latest returns runs of all projects without their tasks, latest first: all unfinished
// runs, and the latest n runs.
func (f *Fleet) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	running, err := f.client.Runs.List(ctx, coordinator.RunQuery{})
	if err != nil {
		return nil, f.problem(err)
	}
	all, err := f.client.Runs.List(ctx, coordinator.RunQuery{Ended: true, Limit: n})
	return fleet.Merge(all, running), f.problem(err)
}

// Lanes returns the paused agent accounts.
func (f *Fleet) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	list, err := f.client.Lanes(ctx)
	return list, f.problem(err)
}

// Task returns one task, with its prompt.
func (f *Fleet) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	t, err := f.client.Runs.Task(ctx, run, task)
	if err == nil {
		f.names.replaceIDs(ctx, f.client, []fleet.Task{t})
	}
	return t, f.problem(err)
}

// Attempts returns all attempts at a task, oldest first.
func (f *Fleet) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	list, err := f.client.Runs.TaskAttempts(ctx, run, task)
	return list, f.problem(err)
}
