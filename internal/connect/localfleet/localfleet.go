// Package localfleet reads, follows and changes the runs in a store, a database that this process
// has opened. Package serverfleet does the same with the runs of a server, over HTTP.
package localfleet

import (
	"context"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// Options are the settings and dependencies of a Fleet.
type Options struct {
	Store   store.Store
	Engine  *engine.Engine // the engine that writes to Store
	Query   *runquery.Querier
	Project string           // path of the project whose runs the methods use by default
	Now     func() time.Time // returns the current time of the store's clock
	// Agent is the name of the agent that started this process. It is empty if a user started the
	// process. An agent has fewer permissions than a user.
	Agent string
	// Workers lists the workers in the store, and the agents that users started by hand on this
	// machine.
	Workers func(ctx context.Context) ([]fleet.Worker, error)
}

// Fleet gives access to the runs in a store. It is safe for concurrent use.
type Fleet struct{ opts Options }

// New returns a Fleet with these options.
func New(opts Options) *Fleet { return &Fleet{opts} }

// Run returns the current state of a run.
func (f *Fleet) Run(ctx context.Context, id string) (fleet.Run, error) {
	return f.opts.Query.Run(ctx, id)
}

// Runs lists the runs of this project, or of all projects if everywhere is set, newest first. If
// ended is false, it leaves out runs that have ended.
func (f *Fleet) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	return f.opts.Query.Runs(ctx, f.projectFilter(everywhere), ended)
}

// List returns at most limit runs of this project, or of all projects if everywhere is set, newest
// first. It includes runs that have ended. The runs lack their tasks.
func (f *Fleet) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	return f.opts.Query.Summaries(ctx, f.projectFilter(everywhere), true, limit)
}

// Cost returns what the attempts of this project have cost. If everywhere is set, it returns what
// the attempts of all projects have cost.
func (f *Fleet) Cost(ctx context.Context, everywhere bool, q fleet.CostQuery) (fleet.CostReport, error) {
	q.Project = f.projectFilter(everywhere)
	return f.opts.Query.Cost(ctx, q)
}

// Morning returns the morning report: what has happened since q.Since to the tasks of this project,
// or of all projects if everywhere is set.
func (f *Fleet) Morning(ctx context.Context, everywhere bool, q fleet.MorningQuery) (fleet.MorningReport, error) {
	q.Project = f.projectFilter(everywhere)
	return f.opts.Query.Morning(ctx, q, f.opts.Now())
}

// projectFilter returns the path of this project. If everywhere is set, it returns "", which means
// all projects.
func (f *Fleet) projectFilter(everywhere bool) string {
	if everywhere {
		return ""
	}
	return f.opts.Project
}

// Latest returns runs of all projects, without their tasks, newest first. The result contains the
// unfinished runs (at most 10,000) and the newest n runs, finished or not.
func (f *Fleet) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	const every = 10_000
	running, err := f.opts.Query.Summaries(ctx, "", false, every)
	if err != nil {
		return nil, err
	}
	all, err := f.opts.Query.Summaries(ctx, "", true, n)
	return fleet.Merge(all, running), err
}

// FindRun returns the id of the run that a user names. The parameter text is one of:
//   - the whole id of a run, which finds any run: of any project, ended or not
//   - a unique prefix of an id, or of the part of an id after the last hyphen
//   - the name of a plan, which means the latest run of this plan
//   - "-" or "", which means the latest run
//
// Any text other than a whole id finds only runs of this project and, if unfinished is true, only
// runs that have not ended.
func (f *Fleet) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	return f.opts.Query.FindRun(ctx, f.opts.Project, text, unfinished)
}

// FindTask returns the task that a user names. The parameter text is RUN/TASK, or only TASK, which
// means the latest run of this project that has such a task. RUN is a text as in [Fleet.FindRun].
// TASK is a task's id or a unique prefix of it.
func (f *Fleet) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	return f.opts.Query.FindTask(ctx, f.opts.Project, text)
}

// Task returns one task of a run, with its prompt.
func (f *Fleet) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	return f.opts.Query.Task(ctx, store.TaskKey{Run: run, Task: task})
}

// Attempts returns all attempts of a task, oldest first.
func (f *Fleet) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return f.opts.Query.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// ProjectOf returns the path or name of a run's project.
func (f *Fleet) ProjectOf(ctx context.Context, run string) (string, error) {
	v, err := f.opts.Query.Summary(ctx, run)
	return v.Project, err
}

// Follow calls show with the run's state: at once, then after every change, and also regularly if
// there is no change. Two calls are at least interval apart. Follow returns when the run has ended,
// show returns an error, or ctx ends.
func (f *Fleet) Follow(ctx context.Context, run string, interval time.Duration, show func(fleet.Run) error) error {
	return f.opts.Query.Follow(ctx, run, interval, show)
}

// Changes calls notify at once and then after every change in the store, but at most once per
// interval. It also calls notify regularly if there is no change, because the progress of agents
// does not count as a change. It returns when notify returns an error or ctx ends.
func (f *Fleet) Changes(ctx context.Context, interval time.Duration, notify func() error) error {
	return f.opts.Query.Changes(ctx, interval, notify)
}

// Lanes returns the agent accounts that are paused, and the user's cost limits that are reached.
func (f *Fleet) Lanes(ctx context.Context) ([]fleet.Lane, error) { return f.opts.Query.Lanes(ctx) }

// Workers lists the workers in the store, and the agents that users started by hand on this
// machine.
func (f *Fleet) Workers(ctx context.Context) ([]fleet.Worker, error) { return f.opts.Workers(ctx) }

// Questions returns the open questions of agents, oldest first. If a question that belongs to no
// task has expired, Questions leaves it out. Such a question stays open in the store until a
// server, or a process that works on a run, closes it.
func (f *Fleet) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := f.opts.Query.Questions(ctx, "")
	now := f.opts.Now()
	return slices.DeleteFunc(list, func(q fleet.Question) bool { return q.Run == "" && q.Expires.Before(now) }), err
}

// AllQuestions returns all questions of a run, including closed ones, oldest first.
func (f *Fleet) AllQuestions(ctx context.Context, run string) ([]fleet.QuestionRecord, error) {
	return f.opts.Query.AllQuestions(ctx, run)
}

// Question returns the state of an agent's question, and the answer if there is one.
func (f *Fleet) Question(ctx context.Context, id string) (v fleet.Answered, err error) {
	err = f.opts.Store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = runquery.AnsweredOf(q)
		return runquery.NotFoundAs(err, "question", id)
	})
	return v, err
}

// Ask stores a question for the user, and returns its id. The question belongs to no task.
func (f *Fleet) Ask(ctx context.Context, q fleet.Ask) (string, error) {
	return f.opts.Engine.AskStandalone(ctx, engine.StandaloneQuestion{From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: q.Within, Attempt: q.Attempt})
}

// Withdraw closes a question that belongs to no task. The caller uses it when the agent no longer
// waits for the answer, and gives the reason in the parameter why. If the question is already
// closed, Withdraw does nothing.
func (f *Fleet) Withdraw(ctx context.Context, question, why string) error {
	return f.opts.Engine.Withdraw(ctx, question, why)
}

// Answer answers an agent's question. It returns an error if an agent started this process, because
// only users may answer.
func (f *Fleet) Answer(ctx context.Context, question string, a fleet.Reply) error {
	if err := f.refuse("gaffer answer"); err != nil {
		return err
	}
	return f.opts.Engine.Answer(ctx, engine.Answer{Question: question, Text: a.Text, Deny: a.Deny, Scope: a.Scope, Rule: a.Rule})
}

// refuse returns an error if an agent started this process. The parameter command is a command that
// only users may use, such as "gaffer answer". The error names it.
func (f *Fleet) refuse(command string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return &caller.RefusedError{What: command, Agent: f.opts.Agent}
}

// Grants returns the permission rules that users have made, the oldest first. A user makes such a
// rule by answering a permission request with an answer that also decides later requests. Grants
// leaves out the rules for runs that have ended.
func (f *Fleet) Grants(ctx context.Context) ([]fleet.Grant, error) {
	return f.opts.Engine.Grants(ctx, "")
}

// RemoveGrant removes one of the permission rules that [Fleet.Grants] returns.
func (f *Fleet) RemoveGrant(ctx context.Context, id string) error {
	if err := f.refuse("gaffer permissions revoke"); err != nil {
		return err
	}
	return f.opts.Engine.RemoveGrant(ctx, id, "")
}

// Permissions returns a summary of the permission requests that agents have made since the given
// time, in the runs of this project, or of all projects if everywhere is set.
func (f *Fleet) Permissions(ctx context.Context, everywhere bool, since time.Time) ([]fleet.PermissionRequest, error) {
	return f.opts.Query.Permissions(ctx, fleet.PermissionQuery{Project: f.projectFilter(everywhere), Since: since})
}

// Cancel cancels a run or, if task is not empty, one task and the tasks that depend on it.
func (f *Fleet) Cancel(ctx context.Context, run, task, why string) error {
	if err := f.MayChange(ctx, run, "gaffer cancel"); err != nil {
		return err
	}
	return f.opts.Engine.Cancel(ctx, engine.Target{Run: run, Task: task}, "", why)
}

// Retry queues a failed or cancelled task again, and the tasks that were cancelled only because of
// that task. If the run has ended, the run becomes active again, and the next process that works on
// the run starts the task.
func (f *Fleet) Retry(ctx context.Context, run, task string) error {
	return f.RetryWithBudget(ctx, run, task, fleet.Cost{})
}

// RetryWithBudget is like Retry, with a new budget for the task. If the money or the tokens in
// budget are zero, that part of the task's budget stays unchanged.
func (f *Fleet) RetryWithBudget(ctx context.Context, run, task string, budget fleet.Cost) error {
	if err := f.MayChange(ctx, run, "gaffer retry"); err != nil {
		return err
	}
	why := "a person asked for it"
	if f.opts.Agent != "" {
		why = "the agent that started the run asked for it"
	}
	return f.opts.Engine.RetryWith(ctx, engine.Retrying{TaskKey: store.TaskKey{Run: run, Task: task}, Why: why, Budget: engine.BudgetOf(budget)})
}

// RaiseBudget replaces the budget of a run. If the money or the tokens in budget are zero, that
// part of the run's budget stays unchanged. Tasks that have failed because of the run's previous
// budget are queued again.
func (f *Fleet) RaiseBudget(ctx context.Context, run string, budget fleet.Cost) error {
	if err := f.MayChange(ctx, run, "gaffer resume"); err != nil {
		return err
	}
	return f.opts.Engine.RaiseBudget(ctx, engine.Raise{Run: run, Why: "the user raised the budget", Budget: engine.BudgetOf(budget)})
}

// MayChange returns nil if this process may change the run. If a user started the process, it may
// change every run. If an agent started it, it may change only runs that the agent has submitted.
// The parameter command is the command that the agent used; the error names it.
func (f *Fleet) MayChange(ctx context.Context, run, command string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return f.opts.Store.Read(ctx, func(r store.Reader) error {
		first, err := r.EventsOf(run, 0, 1)
		if err == nil && (len(first) == 0 || first[0].Who != f.opts.Agent) {
			err = &caller.RefusedError{What: command, Agent: f.opts.Agent}
		}
		return err
	})
}
