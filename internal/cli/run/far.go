package run

import (
	"context"
	"fmt"
	"slices"

	"gaffer/internal/cli/attend"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/distant"
	"gaffer/internal/plan"
)

// submitFar gives the plan to a server, whose workers run it.
func submitFar(ctx context.Context, e *env.Env, t *attend.Attendant, f *distant.Fleet, p plan.Plan, o options) error {
	if what := p.Bound(); what != "" && o.on == "" {
		return exit.WithHint(exit.Usage(fmt.Errorf("%s is only there on one machine, and any worker of the project may take a task", what)),
			"--on WORKER has one of them run the whole plan; 'gaffer workers' lists them")
	}
	if workers, err := f.Workers(ctx); err == nil {
		tellIdle(e, workers, p, f.Project(), o.on)
	}
	id, err := f.SubmitOn(ctx, p, o.on)
	if err != nil {
		return err
	}
	if o.detach {
		return t.Detach(ctx, id, *o.json)
	}
	return t.Work(ctx, id, *o.json)
}

// tellIdle says at once that tasks will wait, and what they wait for. The run is
// submitted all the same: a worker may come.
func tellIdle(e *env.Env, workers []distant.Worker, p plan.Plan, project, on string) {
	lacking := distant.Idle(workers, p, project, on)
	switch {
	case len(lacking) == 0:
	case on != "" && !slices.ContainsFunc(workers, func(w distant.Worker) bool { return w.Name == on && w.Online() }):
		warn(e, "worker %s is not online: its tasks wait for it", env.Printable(on))
	case !slices.ContainsFunc(workers, func(w distant.Worker) bool { return w.Online() && w.Of(project) }):
		warn(e, "no worker of project %s is online: 'gaffer worker%s' in a checkout of it starts one", env.Printable(project), e.ServerArg())
	default:
		for _, labels := range lacking {
			warn(e, "no worker that is online has the labels %s: tasks that want them wait", env.Printable(labels))
		}
	}
}

func warn(e *env.Env, format string, args ...any) {
	e.Talk("%s: %s", e.Paint(e.Err, env.Yellow, "warning"), fmt.Sprintf(format, args...))
}
