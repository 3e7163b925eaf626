package session

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func cancelCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID [AGENT]",
		Short: "Cancel an agent, or a session with all its agents",
		Long: `Cancel an agent, or a session with every agent in it that has not ended.

This writes the documents. It ends no process.`,
		Example:           "  gaffer session cancel active 003\n  gaffer session cancel 20260201-143022-abc12345",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeAgents(e),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, id, err := openAt(e, args[0])
		if err != nil {
			return err
		}
		if len(args) == 2 {
			return s.CancelAgent(cmd.Context(), id, args[1])
		}
		return s.CancelSession(cmd.Context(), id)
	}
	return cmd
}
