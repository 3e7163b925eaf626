// Package resume implements the command 'gaffer resume': it continues a run that no
// gaffer process works on.
package resume

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
)

// New creates the command 'gaffer resume'.
func New(e *env.Env) *cobra.Command {
	var detach bool
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Continue a run that was left, detached or interrupted",
		Long: `Work on a run until it ends: the latest of this project that has not ended,
unless another is named. Agents that still run are taken over; the results of
those that ended meanwhile are collected; nothing is started twice. If all runs
have ended, it goes on with one that was killed before it had merged all changes
that its plan merges.

It shows the run and ends as 'gaffer run' does, with the same exit codes. A run
that another gaffer works on is refused with exit code 4.

--budget and --tokens set what the run may use. Tasks that were stopped because the run's
budget was spent go on in the same conversation, also if the run has ended.

A server continues its runs without this command; they are only shown.`,
		Example:           "  gaffer resume\n  gaffer resume 20260201-143022-abc12345\n  gaffer resume abc1 --detach\n  gaffer resume abc1 --budget 20",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: openfleet.Runs(e, false),
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "let it run in the background")
	budgetOf := openfleet.BudgetFlags(cmd, "run")
	show := runview.ShowFlag(cmd)
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		budget, err := budgetOf()
		if err != nil {
			return err
		}
		raise := budget != fleet.Cost{}
		return runview.WithFleet(ctx, e, func(t *runview.View) error {
			t.Show = *show
			if err := runview.CheckFlags(e, t.Show, detach, t.App == nil); err != nil {
				return err
			}
			name := append(args, "")[0]
			id, err := openfleet.FindRun(ctx, t.Fleet, name, !raise || name == "")
			if exit.Of(err) == exit.CodeNotFound && t.App != nil {
				if forgotten := t.App.FindRunNotInDatabase(ctx, name); forgotten != nil {
					return forgotten
				}
			}
			if exit.Of(err) == exit.CodeNotFound && t.App != nil && name == "" {
				if unlanded := findUnlanded(ctx, t); unlanded != "" {
					id, err = unlanded, nil
				}
			}
			if err != nil {
				return err
			}
			if t.App != nil {
				if err := t.App.Fleet.MayChange(ctx, id, "gaffer resume"); err != nil {
					return err
				}
			}
			if raise {
				if err := t.Fleet.RaiseBudget(ctx, id, budget); err != nil {
					return err
				}
			}
			if detach {
				return t.Detach(ctx, id, *asJSON)
			}
			return t.Work(ctx, id, *asJSON)
		})
	}
	return cmd
}

// findUnlanded returns the id of the latest run with unmerged changes that its plan tells gaffer to
// merge. Such changes remain if the gaffer process was killed after the tasks had ended.
// findUnlanded considers only the latest five runs. If none of them has such changes, it returns
// "".
func findUnlanded(ctx context.Context, t *runview.View) string {
	all, err := t.Fleet.Runs(ctx, false, true)
	if err != nil {
		return ""
	}
	slices.SortFunc(all, func(a, b fleet.Run) int { return b.Created.Compare(a.Created) })
	// Check only a few runs, because git takes time to compare the changes of each run with the
	// target branch.
	const most = 5
	for _, r := range all[:min(len(all), most)] {
		if c, err := t.App.Landing.Overview(ctx, r.ID); err == nil && c.Unlanded > 0 {
			return r.ID
		}
	}
	return ""
}
