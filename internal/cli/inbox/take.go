package inbox

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

func takeCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "take [ID]",
		Short: "Take an item to work on it",
		Long: `Mark an item as being processed, and show its id and its content.

Without an ID, take the oldest item that is pending or that was abandoned: the
process named with --owner has ended or, without --owner, an hour has passed. With
--again, take the item even if another process may be working on it.`,
		Example: `  gaffer inbox take --type evolve
  id=$(gaffer inbox take --json | jq -r .id)
  gaffer inbox take --owner $$
  gaffer inbox take inbox-1708012345678-a1b2c3 --again`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	kind := typeFlag(cmd, "only an item of this type: evolve, reference or feature")
	again := cmd.Flags().Bool("again", false, "take the item with this ID although another may be at it")
	owner := cmd.Flags().Int("owner", 0, "the process that works on the item; when it ends, others may take it")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		claim := workflow.Claim{Type: workflow.ItemType(*kind), Again: *again}
		if len(args) == 1 {
			claim.ID = args[0]
		} else if *again {
			return exit.Usage(errors.New("--again needs the ID of an item"))
		}
		if *owner != 0 {
			process, err := host.Identify(*owner)
			if err != nil {
				return exit.Usage(fmt.Errorf("--owner: %w", err))
			}
			claim.Owner = &process
		}
		b, err := open(e)
		if err != nil {
			return err
		}
		item, err := b.Take(cmd.Context(), claim)
		if err != nil {
			return err
		}
		if *asJSON {
			return printRaw(e, item)
		}
		return e.Printf("%s\n%s\n", display.Line(item.ID, 200), e.ForOut(item.Content))
	}
	return cmd
}
