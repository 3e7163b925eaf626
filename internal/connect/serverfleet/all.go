package serverfleet

import (
	"cmp"
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
)

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

// Questions returns the open questions of agents, oldest first.
func (f *Fleet) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := f.client.Questions.List(ctx, "")
	for i, q := range list {
		list[i].Name = cmp.Or(q.Name, fleet.QuestionName(q.Run, q.Task)) // older servers send no name
	}
	return list, f.problem(err)
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

// Changes calls each at once and then after each change on the server, but at most once
// per interval. It returns when each returns an error or when ctx ends. The stream of
// changes does not contain the progress of agents, so each is also called regularly,
// even while the server is unreachable.
func (f *Fleet) Changes(ctx context.Context, interval time.Duration, each func() error) error {
	bell := f.listen(ctx, "")
	defer bell.stop()
	for {
		if err := each(); err != nil {
			return err
		}
		if err := bell.wait(ctx, interval); err != nil {
			return err
		}
	}
}
