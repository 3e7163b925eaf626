package inbox

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func listCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the items",
		Example: "  gaffer inbox list\n  gaffer inbox list --status pending --json | jq -r '.[].content'",
		Args:    cobra.NoArgs,
	}
	status := cmd.Flags().String("status", "", "only items with this status")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b, err := open(e)
		if err != nil {
			return err
		}
		items, err := b.List()
		if err != nil {
			return err
		}
		return show(e, withStatus(items, *status), *asJSON)
	}
	return cmd
}

// withStatus returns the items with this status, or all items if status is empty. gaffer need not
// know the status, because other programs can set a status of their own.
func withStatus(items []workflow.Item, status string) []workflow.Item {
	var kept []workflow.Item
	for _, item := range items {
		if status == "" || string(item.Status) == status {
			kept = append(kept, item)
		}
	}
	return kept
}

func show(e *env.Env, items []workflow.Item, asJSON bool) error {
	if asJSON {
		raw := []jsontree.Value{}
		for _, item := range items {
			raw = append(raw, item.Raw)
		}
		return e.PrintJSON(raw)
	}
	if len(items) == 0 {
		e.Talk("nothing in the inbox")
		return nil
	}
	rows := [][]string{{"ID", "TYPE", "STATUS", "SUBMITTED", "CONTENT"}}
	for _, item := range items {
		rows = append(rows, []string{
			display.Line(item.ID, 60), display.Line(string(item.Type), 20), display.Line(string(item.Status), 20),
			display.Line(item.Timestamp, 30), display.Line(item.Content, 60),
		})
	}
	return table.Texts(e, rows)
}
