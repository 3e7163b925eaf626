// Package cancel is the command 'gaffer cancel': it ends a run or a task.
package cancel

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
)

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:                   "cancel RUN|TASK",
		DisableFlagsInUseLine: true,
		Short:                 "End a run, or a task and what waits for it",
		Long: `End a run with everything in it, or one task with what waits for it. Agents that
run are told to end, and ended if they do not. A task is named by its id, or as
RUN/TASK; - is the latest run.`,
		Example:           "  gaffer cancel api\n  gaffer cancel 20260201-143022-abc12345\n  gaffer cancel abc1/api --why 'wrong branch'\n  gaffer cancel -",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: open.RunsAndTasks(e),
	}
	cmd.Flags().StringVar(&why, "why", "a person asked for it", "`TEXT` for the records")
	open.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return open.WithFleet(ctx, e, func(f open.Fleet) error {
			run, task, err := find(ctx, f, args[0])
			if err != nil {
				return err
			}
			if err := f.Cancel(ctx, run, task, why); err != nil {
				return err
			}
			r, err := f.Run(ctx, run)
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(r)
			}
			tell(e, r, task, f.Where() != "")
			return nil
		})
	}
	return cmd
}

// find tells a run from a task. A name that could be both is refused.
func find(ctx context.Context, f open.Fleet, name string) (run, task string, err error) {
	if name == "" {
		return "", "", exit.Usage(fmt.Errorf("the name is empty, want a run or a task"))
	}
	if name == "-" {
		run, err = open.FindRun(ctx, f, name, true)
		return run, "", err
	}
	t, noTask := f.FindTask(ctx, name)
	if strings.Contains(name, "/") {
		return t.Run, t.ID, noTask
	}
	run, noRun := f.FindRun(ctx, name, false)
	isRun, isTask := noRun == nil && run == name, noTask == nil && t.ID == name
	switch {
	case isRun && !isTask:
		return run, "", nil
	case isTask && !isRun:
		return t.Run, t.ID, nil
	case noRun == nil && noTask == nil:
		return "", "", exit.Usage(fmt.Errorf("%q could be run %s or task %s: name it whole, a task as RUN/TASK", name, run, t.ID))
	case noTask == nil:
		return t.Run, t.ID, nil
	case noRun == nil:
		return run, "", nil
	}
	return "", "", neither(name, noRun, noTask)
}

// neither is the error that says more than that something is not there, or one
// that says it of both.
func neither(name string, errs ...error) error {
	for _, err := range errs {
		if exit.Of(err) != exit.CodeNotFound {
			return err
		}
	}
	return exit.WithHint(exit.NotFound(fmt.Errorf("no run and no task is called %q", name)),
		"'gaffer ps' lists what runs, 'gaffer status' the tasks")
}

func tell(e *env.Env, r fleet.Run, task string, far bool) {
	what := "run " + r.ID
	if task != "" {
		what = "task " + env.Printable(task) + " of " + what
	}
	switch running := r.Counts.Running; {
	case running == 0:
		e.Talk("cancelled %s", what)
	case r.Owner.Alive || far:
		e.Talk("cancelled %s; its agents are told to end", what)
	default:
		e.Talk("cancelled %s, but nobody looks after it: 'gaffer resume %s' ends its agents", what, r.ID)
	}
}
