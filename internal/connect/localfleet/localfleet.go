// Package localfleet reads, follows and changes the runs in a store that this process has
// opened itself. Package serverfleet does the same over HTTP.
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
	Engine  *engine.Engine // on the same store
	Query   *runquery.Querier
	Project string           // the root of the project whose runs are found by default
	Now     func() time.Time // the clock of the store
	// Agent is the name of the agent that this process acts for. An agent has fewer
	// permissions than a user. It is empty if a user started the process.
	Agent string
	// Workers lists the workers that send heartbeats and the agents that users started
	// by hand on this machine.
	Workers func(ctx context.Context) ([]fleet.Worker, error)
}

// Fleet gives access to the runs in a store. It is safe for concurrent use.
type Fleet struct{ opts Options }

// New returns the fleet of a store.
func New(opts Options) *Fleet { return &Fleet{opts} }

// Run returns the current state of a run.
func (f *Fleet) Run(ctx context.Context, id string) (fleet.Run, error) {
	return f.opts.Query.Run(ctx, id)
}

// Runs lists the runs of this project, or of all projects, newest first. Without ended
// it skips runs that have ended.
func (f *Fleet) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	return f.opts.Query.Runs(ctx, f.projectFilter(everywhere), ended)
}

// List returns at most limit runs of this project, or of all projects, without their
// tasks, newest first. It includes runs that have ended.
func (f *Fleet) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	return f.opts.Query.Summaries(ctx, f.projectFilter(everywhere), true, limit)
}

// projectFilter returns this project, or "" for all projects.
func (f *Fleet) projectFilter(everywhere bool) string {
	if everywhere {
		return ""
	}
	return f.opts.Project
}

// Latest returns runs of all projects, without their tasks, newest first. The list
// holds every run that has not ended, plus the newest n runs of any status.
func (f *Fleet) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	const every = 10_000
	running, err := f.opts.Query.Summaries(ctx, "", false, every)
	if err != nil {
		return nil, err
	}
	all, err := f.opts.Query.Summaries(ctx, "", true, n)
	return fleet.Merge(all, running), err
}

// FindRun resolves the user's name for a run of this project to its id. text is the
// whole id, a unique prefix of the id or of its last part, or "-" or "" for the latest run.
// With unfinished, only runs that have not ended count.
func (f *Fleet) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	return f.opts.Query.FindRun(ctx, f.opts.Project, text, unfinished)
}

// FindTask resolves the user's name for a task of this project. text is RUN/TASK, TASK
// in the latest run that has it, or a unique prefix of one.
func (f *Fleet) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	return f.opts.Query.FindTask(ctx, f.opts.Project, text)
}

// Task returns one task, with its prompt.
func (f *Fleet) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	return f.opts.Query.Task(ctx, store.TaskKey{Run: run, Task: task})
}

// Attempts returns all attempts of a task, oldest first.
func (f *Fleet) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return f.opts.Query.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// ProjectOf returns the project of a run.
func (f *Fleet) ProjectOf(ctx context.Context, run string) (string, error) {
	v, err := f.opts.Query.Summary(ctx, run)
	return v.Project, err
}

// Follow calls each with the run's state, immediately and then after every change, at
// most once per interval. It stops when the run has ended, each returns an error, or
// ctx ends.
func (f *Fleet) Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error {
	return f.opts.Query.Follow(ctx, run, interval, each)
}

// Changes calls each immediately, then after every change, at most once per interval.
// It stops when each returns an error or ctx ends. The progress of agents is not a
// change, so each is also called periodically.
func (f *Fleet) Changes(ctx context.Context, interval time.Duration, each func() error) error {
	return f.opts.Query.Changes(ctx, interval, each)
}

// Lanes returns the agent accounts that are paused.
func (f *Fleet) Lanes(ctx context.Context) ([]fleet.Lane, error) { return f.opts.Query.Lanes(ctx) }

// Workers lists all workers that send heartbeats, as a server on the same store would,
// and the agents that users started by hand on this machine.
func (f *Fleet) Workers(ctx context.Context) ([]fleet.Worker, error) { return f.opts.Workers(ctx) }

// Questions returns the open questions of agents, oldest first. It leaves out expired
// questions that belong to no task, because without a server no process closes them.
func (f *Fleet) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := f.opts.Query.Questions(ctx, "")
	now := f.opts.Now()
	return slices.DeleteFunc(list, func(q fleet.Question) bool { return q.Run == "" && q.Expires.Before(now) }), err
}

// Question returns a question's state and answer.
func (f *Fleet) Question(ctx context.Context, id string) (v fleet.Answered, err error) {
	err = f.opts.Store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = runquery.AnsweredOf(q)
		return runquery.Missing(err, "question", id)
	})
	return v, err
}

// Ask stores a question for the user that belongs to no task, and returns its id.
func (f *Fleet) Ask(ctx context.Context, q fleet.Ask) (string, error) {
	return f.opts.Engine.AskStandalone(ctx, engine.StandaloneQuestion{From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: q.Within, Attempt: q.Attempt})
}

// Withdraw closes a question that belongs to no task, because its agent no longer waits
// for the answer.
func (f *Fleet) Withdraw(ctx context.Context, question, why string) error {
	return f.opts.Engine.Withdraw(ctx, question, why)
}

// Answer answers a question of a run. With deny it refuses the request, and text is the
// reason.
func (f *Fleet) Answer(ctx context.Context, question, text string, deny bool) error {
	if f.opts.Agent != "" { // only the user may answer, even for runs that the agent has submitted
		return &caller.RefusedError{What: "gaffer answer", Agent: f.opts.Agent}
	}
	return f.opts.Engine.Answer(ctx, engine.Answer{Question: question, Text: text, Deny: deny})
}

// Cancel ends a run, or one task together with the tasks that depend on it.
func (f *Fleet) Cancel(ctx context.Context, run, task, why string) error {
	if err := f.MayChange(ctx, run, "gaffer cancel"); err != nil {
		return err
	}
	return f.opts.Engine.Cancel(ctx, engine.Target{Run: run, Task: task}, "", why)
}

// Retry queues a task again that failed or was cancelled. If the run had ended, it is
// active again, and the next gaffer that works on it runs the task.
func (f *Fleet) Retry(ctx context.Context, run, task string) error {
	if err := f.MayChange(ctx, run, "gaffer retry"); err != nil {
		return err
	}
	why := "a person asked for it"
	if f.opts.Agent != "" {
		why = "the agent that started the run asked for it"
	}
	return f.opts.Engine.Retry(ctx, store.TaskKey{Run: run, Task: task}, "", why)
}

// MayChange returns an error if this process acts for an agent that did not submit the
// run. what is the command that the agent used.
func (f *Fleet) MayChange(ctx context.Context, run, what string) error {
	if f.opts.Agent == "" {
		return nil
	}
	return f.opts.Store.Read(ctx, func(r store.Reader) error {
		first, err := r.EventsOf(run, 0, 1)
		if err == nil && (len(first) == 0 || first[0].Who != f.opts.Agent) {
			err = &caller.RefusedError{What: what, Agent: f.opts.Agent}
		}
		return err
	})
}
