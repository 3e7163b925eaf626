package app

import (
	"context"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/engine/store"
)

// Latest returns runs of all projects, without their tasks, newest first. The list
// holds every run that has not ended, plus the newest n runs of any status.
func (a *App) Latest(ctx context.Context, n int) ([]fleet.Run, error) {
	const every = 10_000
	running, err := a.query.Summaries(ctx, "", false, every)
	if err != nil {
		return nil, err
	}
	all, err := a.query.Summaries(ctx, "", true, n)
	return fleet.Merge(all, running), err
}

// Workers lists all workers that send heartbeats, as a server on the same store would,
// and the agents that users started by hand on this machine.
func (a *App) Workers(ctx context.Context) ([]fleet.Worker, error) {
	agents, err := protocol.New(a.store, a.engine, a.clock()).Agents(ctx)
	list := make([]fleet.Worker, len(agents))
	for i, agent := range agents {
		list[i] = serverfleet.WorkerOf(agent)
	}
	return a.withByHand(ctx, list), err
}

// Lanes returns the agent accounts that are paused.
func (a *App) Lanes(ctx context.Context) ([]fleet.Lane, error) { return a.query.Lanes(ctx) }

// Task returns one task, with its prompt.
func (a *App) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	return a.query.Task(ctx, store.TaskKey{Run: run, Task: task})
}

// Attempts returns all attempts of a task, oldest first.
func (a *App) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return a.query.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// ProjectOf returns the project of a run.
func (a *App) ProjectOf(ctx context.Context, run string) (string, error) {
	v, err := a.query.Summary(ctx, run)
	return v.Project, err
}

// Changes calls each immediately, then after every change, at most once per interval.
// It stops when each returns an error or ctx ends. The progress of agents is not a
// change, so each is also called periodically.
func (a *App) Changes(ctx context.Context, interval time.Duration, each func() error) error {
	return a.query.Changes(ctx, interval, each)
}
