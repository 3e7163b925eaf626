package session

import (
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

func completeCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "complete ID AGENT [--exit-code N]",
		DisableFlagsInUseLine: true,
		Short:                 "Say that an agent is done",
		Long: `Say that an agent is done. With its last agent the session ends by itself: as
failed if one of them has failed, as complete otherwise.`,
		Example:           "  gaffer session complete 20260201-143022-abc12345 001\n  gaffer session complete active 001 --exit-code 0",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeAgents(e),
	}
	code := cmd.Flags().Int("exit-code", 0, "the `code` that the agent ended with")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *code != 0 {
			return exit.WithHint(exit.Usage(fmt.Errorf("--exit-code %d: an agent that is complete ended with 0", *code)),
				"'gaffer session fail' says that it failed")
		}
		s, id, err := openAt(e, args[0])
		if err != nil {
			return err
		}
		return s.CompleteAgent(cmd.Context(), id, args[1], *code)
	}
	return cmd
}
