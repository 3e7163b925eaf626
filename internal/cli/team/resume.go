package team

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

func resumeCommand(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Continue an interrupted session",
		Long: `Continue the session in coordination. Agents that are still running are kept,
and their answers are handled as usual. A session that stopped with an error
continues at that point, with the full number of agent starts again. --budget
sets a new budget.

A session that another program began continues from the state in its documents.
If that state is completed, contradictory or unknown to gaffer, the command
fails and the documents stay unchanged.

The other flags are for a session that gaffer has not run yet. A session that
has run keeps its options.`,
		Example: "  gaffer team resume\n  gaffer team resume --budget 20 --detach",
		Args:    cobra.NoArgs,
	}
	o.flags(cmd)
	e.SandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		n, err := o.request(e)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		return runview.With(ctx, e, func(t *runview.View) error {
			if err := checkKept(ctx, e, t, cmd.Flags()); err != nil {
				return withTeamHint(err)
			}
			run, err := t.App.Teams.Resume(ctx, n)
			if err != nil {
				return withTeamHint(err)
			}
			return o.work(ctx, e, t, run)
		})
	}
	return cmd
}

// checkKept returns an error if gaffer has already run the session, and the user set a flag for an
// option that the session keeps from its start. Such a flag would have no effect.
func checkKept(ctx context.Context, e *env.Env, t *runview.View, flags *pflag.FlagSet) error {
	v, err := look(ctx, e, t.App)
	if err != nil || v.run.Run == "" {
		return err
	}
	for _, name := range []string{"mode", "developers", "roles", "test", "merge-into", "iterations"} {
		if flags.Changed(name) {
			return exit.WithHint(
				exit.Usage(fmt.Errorf("--%s: session %s has run already and keeps what it was begun with", name, display.Printable(v.SessionID()))),
				"leave it out, or begin another session with 'gaffer team --new'",
			)
		}
	}
	return nil
}
