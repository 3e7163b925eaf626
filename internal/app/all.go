package app

import (
	"context"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/engine/store"
)

// Latest are the runs of all projects without their tasks, the latest first:
// those that have not ended, and as many of all as n says.
func (a *App) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	const every = 10_000
	running, err := a.lookout.Summaries(ctx, "", false, every)
	if err != nil {
		return nil, err
	}
	all, err := a.lookout.Summaries(ctx, "", true, n)
	return fleet.Merge(all, running), err
}

// Workers lists all workers that say what they do, as a server on the same store
// would, and the agents that people have started here.
func (a *App) Workers(ctx context.Context) ([]fleet.Worker, error) {
	agents, err := protocol.New(a.store, a.engine, a.clock()).Agents(ctx)
	list := make([]fleet.Worker, len(agents))
	for i, agent := range agents {
		list[i] = serverfleet.WorkerOf(agent)
	}
	return a.withByHand(ctx, list), err
}

// Lanes are the agent accounts that are paused.
func (a *App) Lanes(ctx context.Context) ([]fleet.Lane, error) { return a.lookout.Lanes(ctx) }

// Task returns one task, with its prompt.
func (a *App) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	return a.lookout.Task(ctx, store.TaskKey{Run: run, Task: task})
}

// Attempts are all tries at a task, the first one first.
func (a *App) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return a.lookout.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// ProjectOf is the project that a run belongs to.
func (a *App) ProjectOf(ctx context.Context, run string) (string, error) {
	v, err := a.lookout.Summary(ctx, run)
	return v.Project, err
}

// Changes calls each at once and then whenever anything has changed, but not more
// often than every interval, until each returns an error or ctx ends. What agents
// do is no change, so each is called from time to time as well.
func (a *App) Changes(ctx context.Context, interval time.Duration, each func() error) error {
	return a.lookout.Changes(ctx, interval, each)
}
