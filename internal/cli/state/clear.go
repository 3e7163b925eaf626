package state

import (
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func clearCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clear [PATH…]",
		Short: "Set fields to null, which is to clear them",
		Long: `Set fields to null, which readers take as absent.

With --session it clears what belongs to one session: the active section, the
command, its steps and what the agents left for each other. The build run, the
feed and the inbox are never part of that.`,
		Example: `  gaffer state clear activeSection activeSectionNumber
  gaffer state clear --session`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeFields(e),
	}
	session := cmd.Flags().Bool("session", false, "clear what an earlier session left")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *session == (len(args) > 0) {
			return exit.Usage(errors.New("name the fields to clear, or use --session"))
		}
		if *session {
			return update(cmd, e, []string{""}, func(root *jsontree.Node, _ string) error {
				workflow.StartSession(root)
				return nil
			})
		}
		return update(cmd, e, args, workflow.Clear)
	}
	return cmd
}
