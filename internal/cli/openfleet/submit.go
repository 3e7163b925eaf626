package openfleet

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/engine"
	"gaffer/internal/exit"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
)

// Submit creates a run from a plan and returns the run's id. On this machine, the caller must then
// start a process that works on the run. On a server, any worker may take the run's tasks or, if
// worker is not empty, only the worker with that name. The warnings name tasks that no current
// worker of the server can run.
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
		for _, text := range serverfleet.IdleWarnings(workers, p, far.Project(), worker, e.ServerArg(), engine.AgentOf) {
			warnings = append(warnings, display.Printable(text))
		}
	}
	c, err := e.Config()
	if err != nil {
		return "", warnings, err
	}
	rules, err := newrun.Permissions(c)
	if err != nil {
		return "", warnings, err
	}
	id, err = far.SubmitOn(ctx, app.ApplySandbox(c, p.AddPermissions(rules)), worker)
	return id, warnings, err
}
