package session

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func finishCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "finish ID",
		Short: "End a session and print how it ended",
		Long: `End a session whose agents have all ended, and print how: complete or failed.

A session ends by itself with its last agent, so this is for one without
agents, and for those whose agents were written by other programs.`,
		Example:           "  gaffer session finish active",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, id, err := openAt(e, args[0])
		if err != nil {
			return err
		}
		state, err := s.CompleteSession(cmd.Context(), id)
		if err != nil {
			return err
		}
		return e.Printf("%s\n", state)
	}
	return cmd
}
