// Package retry implements the command 'gaffer retry': it queues a failed or cancelled
// task again.
package retry

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer retry'.
func New(e *env.Env) *cobra.Command {
	var resume bool
	cmd := &cobra.Command{
		Use:   "retry TASK",
		Short: "Queue a task again that failed or was cancelled",
		Long: `Queue a task again that failed or was cancelled, with as many attempts as at
first, and the tasks that were cancelled because of it. The gaffer process that
works on the run starts it. If there is none, use 'gaffer resume', or --resume
here.

A task that was stopped because its budget was spent goes on in the same
conversation with --budget or --tokens: what all its attempts may use together.`,
		Example: "  gaffer retry api\n  gaffer retry abc1/api --resume\n  gaffer retry abc1/api --budget 5",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool {
			return t.Status == fleet.Failed || t.Status == fleet.Cancelled
		}),
	}
	cmd.Flags().BoolVar(&resume, "resume", false, "work on the run until it ends, as 'gaffer resume' does")
	budgetOf := openfleet.BudgetFlags(cmd, "task")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		budget, err := budgetOf()
		if err != nil {
			return err
		}
		return runview.WithFleet(ctx, e, func(a *runview.View) error {
			t, err := a.Fleet.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			if err := retryTask(ctx, a.Fleet, t, budget); err != nil {
				return err
			}
			r, err := a.Fleet.Run(ctx, t.Run)
			if err != nil {
				return err
			}
			switch {
			case resume && !r.Owner.Alive:
				return a.Work(ctx, r.ID, *asJSON)
			case *asJSON:
				return e.PrintJSON(r)
			}
			printNext(e, t, r, a.Fleet.Where() != "")
			return nil
		})
	}
	return cmd
}

// retryTask queues a task again. If the money or the tokens in budget are not zero, they replace
// the same limit of the task's budget.
func retryTask(ctx context.Context, f openfleet.Fleet, t fleet.Task, budget fleet.Cost) error {
	if budget == (fleet.Cost{}) {
		return f.Retry(ctx, t.Run, t.ID)
	}
	return f.RetryWithBudget(ctx, t.Run, t.ID, budget)
}

func printNext(e *env.Env, t fleet.Task, r fleet.Run, far bool) {
	id := display.Printable(t.ID)
	if far {
		e.Talk("%s is queued again; a worker will run it", id)
		return
	}
	if r.Owner.Alive {
		e.Talk("%s is queued again; gaffer with pid %d will run it", id, r.Owner.PID)
		return
	}
	e.Talk("%s is queued again; 'gaffer resume %s' goes on", id, r.ID)
}
