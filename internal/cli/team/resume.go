package team

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/attend"
	"gaffer/internal/cli/env"
)

func resumeCommand(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Go on with the session where it was interrupted",
		Long: `Go on with the session in coordination: agents that still run are taken over, and
what follows from their answers goes on exactly where it was. A session that
stopped with an error is tried again from there, with as many starts as at first.

The flags are for a session that 'gaffer team init' has begun and nobody has run
yet; a session that has run keeps what it was begun with.`,
		Example: "  gaffer team resume\n  gaffer team resume --detach",
		Args:    cobra.NoArgs,
	}
	o.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		n, err := o.wish(e)
		if err != nil {
			return err
		}
		return attend.With(cmd.Context(), e, func(t *attend.Attendant) error {
			run, err := t.App.ResumeTeam(cmd.Context(), n)
			if err != nil {
				return err
			}
			return o.work(cmd.Context(), e, t, run)
		})
	}
	return cmd
}
