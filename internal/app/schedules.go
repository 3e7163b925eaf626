package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/app/localrun"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/plan"
	"gaffer/internal/project"
)

// PlanLoader reads the plan of a run in the project at root. args are the arguments of 'gaffer
// run': plans and flags.
type PlanLoader func(ctx context.Context, root string, args []string) (plan.Plan, error)

// Schedules returns the schedules in the database. The function load reads the plans of the runs
// that the schedules start.
func (a *App) Schedules(load PlanLoader) (*schedulerun.Schedules, error) {
	machine, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	e := engine.New(a.store, engine.Options{Now: a.clock(), NewID: newID, Who: a.opts.author()})
	return schedulerun.New(schedulerun.Options{
		Store: a.store, Engine: e, Now: a.clock(), NewID: newID, Machine: machine, User: userName(a.opts.Getenv), EnsureProcess: a.Background.EnsureProcess, Notice: a.opts.Notice,
		Start: func(ctx context.Context, s schedule.Schedule, key string) (string, error) {
			return a.startScheduled(ctx, load, s, key)
		},
	}), nil
}

// startScheduled reads the plan of a schedule and stores a run. The parameter key is an idempotency
// key: if a run with this key exists already, startScheduled stores nothing and returns that run's
// id. It returns a [*notReadyError] if this machine lacks something for the plan, such as a
// program.
func (a *App) startScheduled(ctx context.Context, load PlanLoader, s schedule.Schedule, key string) (string, error) {
	if err := localrun.CheckDetach(a.opts.Getenv); err != nil {
		return "", err
	}
	opts, err := a.opts.in(s.Project)
	if err != nil {
		return "", err
	}
	p, err := load(ctx, opts.Project.Root, s.Args)
	if err != nil {
		return "", err
	}
	lacks, err := Preflight(ctx, opts, p)
	if err != nil {
		return "", err
	}
	if len(lacks) > 0 {
		lines := make([]string, len(lacks))
		for i, l := range lacks {
			lines[i] = l.String()
		}
		return "", &notReadyError{strings.Join(lines, "; ")}
	}
	return a.submit(ctx, p, engine.Submission{Project: opts.Project.Root, Who: s.User, Key: key, StartedBy: s.StartedBy()})
}

// ScheduleService implements [server.Schedules].
type ScheduleService struct {
	*schedulerun.Schedules
	newRuns *NewRunService
	starts  bool // this server starts the runs of schedules
}

// Run implements [server.Schedules]: it starts the run of a schedule now. It returns an error if
// this server starts no runs of schedules, or if requests may not start runs on this machine.
func (s *ScheduleService) Run(ctx context.Context, by credential.Identity, name string) (f fleet.Fire, warning string, err error) {
	if !s.starts {
		return f, "", protocol.Conflict("no_schedules", "this server starts no runs of schedules: 'gaffer serve' does")
	}
	if err := s.newRuns.refusal(); err != nil {
		return f, "", err
	}
	f, err = s.RunNow(ctx, name, cmp.Or(by.Name, by.ID))
	switch {
	case err == nil:
		return f, "", nil
	case f.Status == fleet.FireStarted:
		return f, err.Error(), nil
	case f.Status == fleet.FireFailed:
		return f, "", protocol.Conflict("not_started", "no run was started: %s", f.Why)
	}
	return f, "", err
}

// notReadyError reports that this machine lacks something that a plan needs, such as a program.
type notReadyError struct{ lacks string }

func (e *notReadyError) Error() string { return e.lacks }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *notReadyError) NotFound() bool { return true }

// in returns the options for the project at root.
func (o Options) in(root string) (_ Options, err error) {
	if o.Project.Root == root {
		return o, nil
	}
	if o.Project, err = project.At(root, "the schedule"); err != nil {
		return o, err
	}
	if o.Config, err = config.Load(config.Inputs{Root: o.Project.Root, Getenv: o.Getenv}); err != nil {
		return o, fmt.Errorf("the settings of %s: %w", root, err)
	}
	return o, nil
}
