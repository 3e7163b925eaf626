// Package inbox implements the commands 'gaffer inbox …'. The inbox is a list of the user's ideas.
// An idea waits there until a command of the project's workflow, such as evolve, works on it.
package inbox

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// New creates the command 'gaffer inbox' and its subcommands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "Ideas that wait to be worked on",
		Long: `Keep the ideas, links and features that wait for a later command.

They live in .fctry/inbox.json and outlast every session.`,
		Example: `  gaffer inbox add --type evolve "Make onboarding faster"
  gaffer inbox process
  gaffer inbox take --type evolve
  gaffer inbox done inbox-1708012345678-a1b2c3`,
	}
	cmd.AddCommand(addCommand(e), listCommand(e), takeCommand(e), doneCommand(e), failCommand(e), dismissCommand(e), processCommand(e))
	return cmd
}

func open(e *env.Env) (*workflow.Inbox, error) {
	s, err := state.Open(e)
	if err != nil {
		return nil, err
	}
	return s.Inbox(), nil
}

// completeIDs suggests the ids of the inbox's items, each with the item's content. After an error
// it suggests nothing, because a shell prompt cannot show errors.
func completeIDs(e *env.Env) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		b, err := open(e)
		if err != nil || len(args) > 0 {
			return nil, noFiles
		}
		items, err := b.List()
		if err != nil {
			return nil, noFiles
		}
		var ids []string
		for _, item := range items {
			ids = append(ids, display.Line(item.ID, 80)+"\t"+display.Line(item.Content, 60))
		}
		return ids, noFiles
	}
}

// typeFlag adds the flag --type.
func typeFlag(cmd *cobra.Command, usage string) *string {
	value := cmd.Flags().String("type", "", usage)
	var words []string
	for _, t := range workflow.ItemTypes() {
		words = append(words, string(t))
	}
	// Ignore the error: the call fails only if the flag is undeclared or already has completions.
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return value
}

// printRaw prints an item of the inbox as JSON, including fields that gaffer does not know.
func printRaw(e *env.Env, item workflow.Item) error {
	text, err := jsontree.Format(item.Raw.Raw())
	if err != nil {
		return err
	}
	return e.Printf("%s", text)
}
