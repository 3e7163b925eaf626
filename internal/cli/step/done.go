package step

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func doneCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:       "done STEP",
		Short:     "Say that a step is complete",
		Example:   `  gaffer step done interviewer --summary "Captured 5 decisions"`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: names(),
	}
	summary := cmd.Flags().String("summary", "", "what the agents after it should know, as `TEXT`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		return s.Update(cmd.Context(), func(root *jsontree.Node) error {
			return workflow.DoneStep(root, workflow.Step(args[0]), *summary)
		})
	}
	return cmd
}
