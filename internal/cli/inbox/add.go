package inbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/statefile"
	"gaffer/workflow"
)

func addCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add --type TYPE TEXT",
		Short: "Add an item and print its id",
		Long: `Add an item and print its id.

TYPE is evolve, reference or feature. A TEXT of - is read from stdin.`,
		Example: `  gaffer inbox add --type evolve "Make onboarding faster"
  gaffer inbox add --type reference https://example.com/patterns
  pbpaste | gaffer inbox add --type feature -`,
		Args: cobra.ExactArgs(1),
	}
	kind := typeFlag(cmd, "what the item is: evolve, reference or feature")
	// Ignore the error: MarkFlagRequired fails only for an undeclared flag.
	_ = cmd.MarkFlagRequired("type")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		content, err := typedText(cmd.Context(), e, args[0])
		if err != nil {
			return err
		}
		b, err := open(e)
		if err != nil {
			return err
		}
		item, err := b.Add(cmd.Context(), workflow.ItemType(*kind), content)
		if err != nil {
			return err
		}
		return e.Printf("%s\n", item.ID)
	}
	return cmd
}

// typedText returns the text that the user typed. For "-" it returns the text from stdin without
// its final newline.
func typedText(ctx context.Context, e *env.Env, typed string) (string, error) {
	if typed != "-" {
		return typed, nil
	}
	data, err := e.ReadIn(ctx, statefile.MaxSize)
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}
