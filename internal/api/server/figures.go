package server

import (
	"context"
	"time"

	"gaffer/coordinator"
)

// Figures are the metrics that a service provides.
type Figures struct {
	AgentsOnline int
	Tasks        map[coordinator.TaskStatus]int
	Waiting      time.Time  // since when the oldest question is unanswered; zero if there is none
	Runs         int        // unfinished runs
	LanesPaused  int        // paused agent accounts
	Writes       *Histogram // durations of write transactions; nil if not measured
}

// Counter is implemented by a service that can count without listing everything. For
// other services the server lists and counts.
type Counter interface {
	Figures(ctx context.Context) (Figures, error)
}

func figures(ctx context.Context, d Protocol) (Figures, error) {
	if counter, ok := d.(Counter); ok {
		return counter.Figures(ctx)
	}
	f := Figures{Tasks: map[coordinator.TaskStatus]int{}}
	agents, err := d.Agents(ctx)
	if err != nil {
		return f, err
	}
	for _, a := range agents {
		if a.WorkerStatus != coordinator.Online {
			continue
		}
		f.AgentsOnline++
		if a.ClaudeStatus == coordinator.Waiting && (f.Waiting.IsZero() || a.ClaudeSince.Before(f.Waiting)) {
			f.Waiting = a.ClaudeSince
		}
	}
	tasks, err := d.Tasks(ctx, TaskFilter{})
	for _, t := range tasks {
		f.Tasks[t.Status]++
	}
	return f, err
}
