package team

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func showCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the groups by status, who runs, and unread messages",
		Long: `Show where the session stands: its phase, its groups by status with who works
on them, and the messages that nobody has read. The columns DEV, QA and REVIEW
count starts against their limit; '!' marks a counter that has reached it.`,
		Example: "  gaffer team show\n  gaffer team show --json | jq '.groups.A.status'",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := open(e)
		if err != nil {
			return err
		}
		snap, err := s.Resume(cmd.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return e.PrintJSON(snap)
		}
		return board(e, snap)
	}
	return cmd
}
