// Package serverfleet reads, follows and changes the runs of a server over HTTP. Package localfleet
// does the same with the runs in a database that this process has opened.
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
	Address string            // address of the server, for messages to the user
	Project string            // name of the project in which runs and tasks are searched
	Notice  func(text string) // prints a message to the user; never nil
	// Agent is the name of the agent that started this process. It is empty if a user started the
	// process. The server cannot distinguish an agent from a user who has the same token. So the
	// Fleet itself refuses what an agent may not do, such as answering, cancelling or retrying.
	Agent string
}

// Fleet gives access to the runs of one server. It is safe for concurrent use.
type Fleet struct {
	client *coordinator.Client
	opts   Options
	names  names
}

// refuse returns an error if an agent started this process. The parameter command is a command that
// only users may use, such as "gaffer answer". The error names it.
func (f *Fleet) refuse(command string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return &caller.RefusedError{What: command, Agent: f.opts.Agent}
}

// New returns a Fleet that uses the client c. New itself sends no request to the server.
func New(c *coordinator.Client, o Options) *Fleet { return &Fleet{client: c, opts: o} }

// Where returns the server's address.
func (f *Fleet) Where() string { return f.opts.Address }

// Project returns the name of the project in which runs and tasks are searched.
func (f *Fleet) Project() string { return f.opts.Project }

// Close does nothing. It exists so that a Fleet has the same methods as a local fleet, which must
// be closed.
func (f *Fleet) Close() error { return nil }

// Run returns a run with its tasks. In the tasks' attempts, it replaces the ids of workers by their
// names.
func (f *Fleet) Run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.run(ctx, id)
	return r, f.problem(err)
}

// run is like [Fleet.Run], but returns the client's error unchanged.
func (f *Fleet) run(ctx context.Context, id string) (fleet.Run, error) {
	r, err := f.client.Runs.Get(ctx, id)
	if err == nil {
		f.names.replaceIDs(ctx, f.client, r.Tasks)
	}
	return r, err
}

// Runs returns the runs of the project, or of all projects if everywhere is set, latest first. If
// ended is false, it returns only unfinished runs. Only unfinished runs have their tasks.
func (f *Fleet) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: ended, Limit: coordinator.MaxRuns}
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

// List returns at most limit runs of the project, or of all projects if everywhere is set, latest
// first. It includes runs that have ended. The runs lack their tasks.
func (f *Fleet) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	q := coordinator.RunQuery{Project: f.opts.Project, Ended: true, Limit: limit}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Runs.List(ctx, q)
	return list, f.problem(err)
}

// FindRun returns the id of the run that a user names, for example by a prefix of the id or the
// name of its plan. It accepts the same texts as the method FindRun in package localfleet.
func (f *Fleet) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	id, err := f.client.Runs.Find(ctx, f.opts.Project, text, unfinished)
	return id, f.problem(err)
}

// FindTask returns the task that a user names, as RUN/TASK or TASK. It accepts the same texts as
// the method FindTask in package localfleet.
func (f *Fleet) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	t, err := f.client.Runs.FindTask(ctx, f.opts.Project, text)
	if err != nil {
		return t, f.problem(err)
	}
	f.names.replaceIDs(ctx, f.client, []fleet.Task{t})
	return t, nil
}

// Submit stores a plan as a run of the project. It does not limit the run to one worker.
func (f *Fleet) Submit(ctx context.Context, p plan.Plan) (string, error) {
	return f.SubmitOn(ctx, p, "")
}

// SubmitOn is like [Fleet.Submit], but only the named worker may take the tasks. If worker is
// empty, there is no such limit. The request has a random key, so that the client can repeat it
// without creating a second run.
func (f *Fleet) SubmitOn(ctx context.Context, p plan.Plan, worker string) (string, error) {
	p.Warnings = nil // the plan's author has already seen the warnings
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].CheckboxFile = "" // the workers' machines do not have this file
	}
	text, err := plan.Encode(p)
	if err != nil {
		return "", fmt.Errorf("plan %s: %w", p.Name, err)
	}
	r, err := f.client.Runs.Submit(ctx, coordinator.NewRun{Project: f.opts.Project, On: worker, Key: rand.Text(), Plan: text})
	return r.ID, f.problem(err)
}

// Answer answers an agent's question. An answer to a permission request can also decide later
// requests. In that case, Answer first checks that the server supports this, because an older
// server would silently apply the answer only once.
func (f *Fleet) Answer(ctx context.Context, question string, a fleet.Reply) error {
	if err := f.refuse("gaffer answer"); err != nil {
		return err
	}
	if a.Lasting() {
		if _, err := f.Grants(ctx); err != nil {
			return err
		}
	}
	return f.problem(f.client.Questions.AnswerFor(ctx, question, a))
}

// Cancel cancels a run or, if task is not empty, one task and the tasks that depend on it.
func (f *Fleet) Cancel(ctx context.Context, run, task, why string) error {
	if err := f.refuse("gaffer cancel"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.Cancel(ctx, run, task, why))
}

// Retry queues a failed or cancelled task again, and the tasks that were cancelled only because of
// that task.
func (f *Fleet) Retry(ctx context.Context, run, task string) error {
	if err := f.refuse("gaffer retry"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.Retry(ctx, run, task))
}

// RetryWithBudget is like Retry, with a new budget for the task. If the money or the tokens in
// budget are zero, that part of the task's budget stays unchanged.
func (f *Fleet) RetryWithBudget(ctx context.Context, run, task string, budget fleet.Cost) error {
	if err := f.refuse("gaffer retry"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.RetryWithBudget(ctx, run, task, budget))
}

// RaiseBudget replaces the budget of a run. If the money or the tokens in budget are zero, that
// part of the run's budget stays unchanged. Tasks that have failed because of the run's previous
// budget are queued again.
func (f *Fleet) RaiseBudget(ctx context.Context, run string, budget fleet.Cost) error {
	if err := f.refuse("gaffer resume"); err != nil {
		return err
	}
	return f.problem(f.client.Runs.RaiseBudget(ctx, run, budget))
}

// Merge merges changes of tasks in a repository on the server's machine.
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

// Discard deletes the worktree of a task on the server's machine. The server keeps a copy of the
// worktree's content.
func (f *Fleet) Discard(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.discard(ctx, run, task, false)
}

// Restore undoes Discard: it creates the worktree of a task again.
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

// EnsureProcess does nothing, because the server itself starts the processes that its runs need.
func (f *Fleet) EnsureProcess(context.Context, string) error { return nil }

// Report returns the server's report about the attempts in the project's runs, as JSON.
func (f *Fleet) Report(ctx context.Context, q coordinator.ReportQuery) (json.RawMessage, error) {
	q.Project = f.opts.Project
	text, err := f.client.Runs.Report(ctx, q)
	return text, f.problem(err)
}

// Cost returns what the attempts of the project have cost. If everywhere is set, it returns what
// the attempts of all projects have cost.
func (f *Fleet) Cost(ctx context.Context, everywhere bool, q fleet.CostQuery) (fleet.CostReport, error) {
	if q.Project = f.opts.Project; everywhere {
		q.Project = ""
	}
	report, err := f.client.Runs.Cost(ctx, q)
	return report, f.problem(err)
}

// Morning returns the morning report: what has happened since q.Since to the tasks of the project,
// or of all projects if everywhere is set.
func (f *Fleet) Morning(ctx context.Context, everywhere bool, q fleet.MorningQuery) (fleet.MorningReport, error) {
	if q.Project = f.opts.Project; everywhere {
		q.Project = ""
	}
	report, err := f.client.Runs.Morning(ctx, q)
	return report, f.problem(err)
}

// Fork creates a run with one task, which continues the conversation and the files of another task.
func (f *Fleet) Fork(ctx context.Context, r fleet.ForkRequest) (fleet.ForkResult, error) {
	if err := f.refuse("gaffer fork"); err != nil {
		return fleet.ForkResult{}, err
	}
	made, warning, err := f.client.Runs.Fork(ctx, r)
	if warning != "" {
		f.opts.Notice(warning)
	}
	return made, f.problem(err)
}

// Turns returns the turns of the conversation in a task. A turn is a message to the agent together
// with the agent's reply. [Fleet.Fork] can continue the conversation after any of them.
func (f *Fleet) Turns(ctx context.Context, run, task string) ([]fleet.Turn, error) {
	all, err := f.client.Runs.Turns(ctx, run, task)
	return all, f.problem(err)
}

// Latest returns runs of all projects, without their tasks, latest first. The result contains the
// latest unfinished runs, as many as the server lists by default, and the latest n runs, finished
// or not.
func (f *Fleet) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	running, err := f.client.Runs.List(ctx, coordinator.RunQuery{Limit: coordinator.MaxRuns})
	if err != nil {
		return nil, f.problem(err)
	}
	all, err := f.client.Runs.List(ctx, coordinator.RunQuery{Ended: true, Limit: n})
	return fleet.Merge(all, running), f.problem(err)
}

// Lanes returns the agent accounts that are paused, and the user's cost limits that are reached.
func (f *Fleet) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	list, err := f.client.Lanes(ctx)
	return list, f.problem(err)
}

// Task returns one task of a run, with its prompt.
func (f *Fleet) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	t, err := f.client.Runs.Task(ctx, run, task)
	if err == nil {
		f.names.replaceIDs(ctx, f.client, []fleet.Task{t})
	}
	return t, f.problem(err)
}

// Attempts returns all attempts of a task, oldest first.
func (f *Fleet) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	list, err := f.client.Runs.TaskAttempts(ctx, run, task)
	return list, f.problem(err)
}
