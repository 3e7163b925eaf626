// Package rebase implements the command 'gaffer rebase': it rebases the branch of a task
// onto its target branch.
package rebase

import (
	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer rebase'.
func New(e *env.Env) *cobra.Command {
	var onto string
	cmd := &cobra.Command{
		Use:                   "rebase TASK [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Move the commits of a task onto the target branch",
		Long: `Copy the commits of a task onto the latest commit of the branch that its change
is for, in the task's own worktree. A rescue ref keeps the old commits. A conflict
changes nothing: the commands that resolve it are printed.`,
		Example:           "  gaffer rebase api\n  gaffer rebase abc1/api --onto develop",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Status.Final() }),
	}
	cmd.Flags().StringVar(&onto, "onto", "", "copy them onto `BRANCH`")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := e.RefuseAgents("gaffer rebase"); err != nil {
			return err
		}
		return openfleet.WithApp(ctx, e, func(a *app.App) error {
			t, err := a.Fleet.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			done, err := a.Landing.Rebase(ctx, t.Run, t.ID, onto)
			id := display.Printable(t.ID)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(done)
			case done.Before == done.After:
				return e.Printf("%s: already on top of %s\n", id, display.Printable(done.Base.Branch))
			}
			return e.Printf("%s: on top of %s, %.9s is now %.9s; the old commits are kept as %s\n",
				id, display.Printable(done.Base.Branch), done.Before, done.After, display.Printable(done.Rescue))
		})
	}
	return cmd
}
