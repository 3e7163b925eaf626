// Package discard implements the command 'gaffer discard': it deletes the worktree of a task and
// keeps a copy of the files under a git ref. With --undo, it restores the worktree.
package discard

import (
	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer discard'.
func New(e *env.Env) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:                   "discard TASK [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Discard the change of a task, or bring it back",
		Long: `Discard the change of a task: delete its worktree. A rescue ref keeps its files,
committed or not, and its branch stays. --undo brings the worktree back as it was.`,
		Example:           "  gaffer discard api\n  gaffer discard abc1/api --undo",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Status.Final() }),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "bring a discarded change back")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := e.RefuseAgents("gaffer discard"); err != nil {
			return err
		}
		return runview.WithFleet(ctx, e, func(v *runview.View) error {
			t, err := v.Fleet.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			do := v.Fleet.Discard
			if undo {
				do = v.Fleet.Restore
			}
			r, err := do(ctx, t.Run, t.ID)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(r)
			case undo:
				return e.Printf("%s: the change is back\n", display.Printable(t.ID))
			}
			return e.Printf("%s: discarded, kept as %s\n", display.Printable(t.ID), display.Printable(r.Rescue))
		})
	}
	return cmd
}
