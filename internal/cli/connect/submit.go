package connect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/cli/env"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/engine"
	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
)

// Submit creates a run from a plan and returns its id. On this machine, no process works on the run
// yet. On a server, any worker may take the run's tasks. If worker is not empty, only the worker
// with that name may take them. The warnings name tasks that no current worker can run.
func Submit(ctx context.Context, e *env.Env, f Fleet, p plan.Plan, worker string) (id string, warnings []string, err error) {
	far, ok := f.(*serverfleet.Fleet)
	if !ok {
		if worker != "" {
			return "", nil, exit.Usage(errors.New("--on names a worker of a server, and no server is named"))
		}
		id, err = f.Submit(ctx, p)
		return id, nil, err
	}
	if what := p.OneMachineReason(); what != "" && worker == "" {
		return "", nil, exit.WithHint(exit.Usage(fmt.Errorf("%s is only there on one machine, and any worker of the project may take a task", what)),
			"--on WORKER has one of them run the whole plan; 'gaffer workers' lists them")
	}
	if workers, err := far.Workers(ctx); err == nil {
		warnings = idleWarnings(workers, p, far.Project(), worker, e.ServerArg())
	}
	id, err = far.SubmitOn(ctx, p, worker)
	return id, warnings, err
}

// idleWarnings returns warnings about tasks that no current worker can run. The run is
// submitted anyway, because a suitable worker may start later.
func idleWarnings(workers []serverfleet.Worker, p plan.Plan, project, on, serverArg string) (warnings []string) {
	for _, name := range serverfleet.DisallowedAgents(workers, p, project, on, engine.AgentOf) {
		warnings = append(warnings, fmt.Sprintf("no worker that is online and has the labels runs agent %s: its tasks wait", display.Printable(name)))
	}
	lacking := serverfleet.MissingLabels(workers, p, project, on)
	switch {
	case len(lacking) == 0:
		return warnings
	case on != "" && !slices.ContainsFunc(workers, func(w serverfleet.Worker) bool { return w.Name == on && w.Online() }):
		return []string{fmt.Sprintf("worker %s is not online: its tasks wait for it", display.Printable(on))}
	case !slices.ContainsFunc(workers, func(w serverfleet.Worker) bool { return w.Online() && w.WorksFor(project) }):
		return []string{fmt.Sprintf("no worker of project %s is online: 'gaffer worker%s' in a checkout of it starts one", display.Printable(project), serverArg)}
	}
	for _, labels := range lacking {
		warnings = append(warnings, fmt.Sprintf("no worker that is online has the labels %s: tasks that want them wait", display.Printable(labels)))
	}
	return warnings
}
