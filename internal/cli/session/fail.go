package session

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func failCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "fail ID AGENT --error TEXT [--exit-code N]",
		DisableFlagsInUseLine: true,
		Short:                 "Say that an agent has failed, and why",
		Example:               `  gaffer session fail active 002 --error "Missing required input" --exit-code 2`,
		Args:                  cobra.ExactArgs(2),
		ValidArgsFunction:     completeAgents(e),
	}
	code := cmd.Flags().Int("exit-code", 1, "the `code` that the agent ended with")
	message := cmd.Flags().String("error", "", "`TEXT` that says why, for the user")
	_ = cmd.MarkFlagRequired("error") // an error is returned only for an undeclared flag
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, id, err := openAt(e, args[0])
		if err != nil {
			return err
		}
		return s.FailAgent(cmd.Context(), id, args[1], *message, *code)
	}
	return cmd
}
