package inbox

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func doneCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "done ID",
		Short:             "Say that an item is processed",
		Example:           "  gaffer inbox done inbox-1708012345678-a1b2c3 --by evolve",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	by := cmd.Flags().String("by", "", "what took the item in, as `TEXT`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := open(e)
		if err != nil {
			return err
		}
		_, err = b.Done(cmd.Context(), args[0], *by)
		return err
	}
	return cmd
}

func failCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "fail ID --reason TEXT",
		Short:             "Say that an item could not be processed",
		Example:           `  gaffer inbox fail inbox-1708012345678-a1b2c3 --reason "the page is gone"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	reason := cmd.Flags().String("reason", "", "why, as `TEXT`")
	// Ignore the error: MarkFlagRequired fails only for an undeclared flag.
	_ = cmd.MarkFlagRequired("reason")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := open(e)
		if err != nil {
			return err
		}
		_, err = b.Fail(cmd.Context(), args[0], *reason)
		return err
	}
	return cmd
}

func dismissCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "dismiss ID",
		Short: "Remove an item and print it",
		Long: `Remove an item, whatever its status, and print all of it as JSON, so that it
can be put back by hand.`,
		Example:           "  gaffer inbox dismiss inbox-1708012345678-a1b2c3",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeIDs(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := open(e)
			if err != nil {
				return err
			}
			item, err := b.Dismiss(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printRaw(e, item)
		},
	}
}
