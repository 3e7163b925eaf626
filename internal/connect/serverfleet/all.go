package serverfleet

import (
	"cmp"
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Latest are the runs of all projects without their tasks, the latest first:
// those that have not ended, and as many of all as n says.
func (f *Fleet) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	running, err := f.client.Runs(ctx, coordinator.RunQuery{})
	if err != nil {
		return nil, f.problem(err)
	}
	all, err := f.client.Runs(ctx, coordinator.RunQuery{Ended: true, Limit: n})
	return fleet.Merge(all, running), f.problem(err)
}

// Questions are what agents wait for people to decide, the oldest first.
func (f *Fleet) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := f.client.Questions(ctx, "")
	for i, q := range list {
		list[i].Name = cmp.Or(q.Name, fleet.QuestionName(q.Run, q.Task)) // older servers send none
	}
	return list, f.problem(err)
}

// Lanes are the agent accounts that are paused.
func (f *Fleet) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	list, err := f.client.Lanes(ctx)
	return list, f.problem(err)
}

// Task returns one task, with its prompt.
func (f *Fleet) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	t, err := f.client.RunTask(ctx, run, task)
	if err == nil {
		f.names.put(ctx, f.client, []fleet.Task{t})
	}
	return t, f.problem(err)
}

// Attempts are all tries at a task, the first one first.
func (f *Fleet) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	list, err := f.client.Attempts(ctx, run, task)
	return list, f.problem(err)
}

// Changes calls each at once and then whenever anything has changed, but not more
// often than every interval, until each returns an error or ctx ends. What agents
// do is no change, so each is called from time to time as well, also while the
// server is away.
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
