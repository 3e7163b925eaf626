package session

import (
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

func startCommand(e *env.Env) *cobra.Command {
	var pid int
	cmd := &cobra.Command{
		Use:                   "start ID AGENT [--pid N]",
		DisableFlagsInUseLine: true,
		Short:                 "Say that an agent has started",
		Example:               "  gaffer session start 20260201-143022-abc12345 001 --pid 12345\n  gaffer session start active 001",
		Args:                  cobra.ExactArgs(2),
		ValidArgsFunction:     completeAgents(e),
	}
	cmd.Flags().IntVar(&pid, "pid", 0, "the agent's process `N`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("pid") && pid <= 0 {
			return exit.Usage(fmt.Errorf("--pid %d: want the number of a process", pid))
		}
		s, id, err := openAt(e, args[0])
		if err != nil {
			return err
		}
		return s.StartAgent(cmd.Context(), id, args[1], pid)
	}
	return cmd
}
