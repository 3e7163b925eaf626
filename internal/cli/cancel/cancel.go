// Package cancel implements the command 'gaffer cancel': it ends a run or a task.
package cancel

import (
	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer cancel'.
func New(e *env.Env) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Aliases:               []string{"stop", "kill"},
		Use:                   "cancel RUN|TASK",
		DisableFlagsInUseLine: true,
		Short:                 "End a run, or a task and what waits for it",
		Long: `End a run with all its tasks, or one task with the tasks that wait for it. Running
agents are asked to end, and killed if they do not. A task is named by its id, or
as RUN/TASK; - is the latest run.

The gaffer process that works on the run ends its agents. If there is none,
'gaffer resume' continues the run and ends them; the run to name is printed.

The exit code is 1 if the run has ended and its documents could not be written.`,
		Example:           "  gaffer cancel api\n  gaffer cancel 20260201-143022-abc12345\n  gaffer cancel abc1/api --why 'wrong branch'\n  gaffer cancel -",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.RunsAndTasks(e),
	}
	cmd.Flags().StringVar(&why, "why", "the user asked for it", "`TEXT` for the records")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if e.Agent() != nil && !cmd.Flags().Changed("why") {
			why = "the agent that started the run asked for it"
		}
		return runview.WithFleet(ctx, e, func(a *runview.View) error {
			f := a.Fleet
			run, task, err := openfleet.FindEither(ctx, f, args[0])
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
			// If the run has ended and no process works on it, this command itself must do the work
			// that follows the end of a run, such as writing the run's documents.
			if a.App != nil && r.Status.Final() && !r.Owner.Alive {
				if r, err = a.App.Runs.Work(ctx, run); err != nil {
					return err
				}
			}
			if *asJSON {
				if err := e.PrintJSON(r); err != nil {
					return err
				}
			} else {
				printNext(e, r, task, f.Where() != "")
			}
			if a.App == nil {
				return nil
			}
			return a.App.Pending.Check(ctx, run)
		})
	}
	return cmd
}

func printNext(e *env.Env, r fleet.Run, task string, far bool) {
	what := "run " + r.ID
	if task != "" {
		what = "task " + display.Printable(task) + " of " + what
	}
	switch running := r.Counts.Running; {
	case running == 0:
		e.Talk("cancelled %s", what)
	case r.Owner.Alive || far:
		e.Talk("cancelled %s; its agents are being stopped", what)
	default:
		e.Talk("cancelled %s, but no gaffer works on it: 'gaffer resume %s' ends its agents", what, r.ID)
	}
}
