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
		Short: "Go on with the session where it was interrupted",
		Long: `Go on with the session in coordination: agents that still run are taken over,
and what follows from their answers goes on exactly where it was. A session that
stopped with an error is tried again from there, with as many starts as at
first, and with another budget if --budget says one.

A session that another program began continues where its documents say that it
stands. One that is completed, contradicts itself or has a status that gaffer does
not know is refused with the reason, and its documents stay as they are.

The other flags are for a session that gaffer has not run yet: one that has run
keeps what it was begun with.`,
		Example: "  gaffer team resume\n  gaffer team resume --budget 20 --detach",
		Args:    cobra.NoArgs,
	}
	o.flags(cmd)
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

// checkKept returns an error for flags that have no effect on a session that has
// already been started.
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
