package state

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func setCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "set PATH=JSON…",
		Short: "Set fields, all or none",
		Long: `Set fields in one update, all of them or none.

A value that is not JSON is taken as a string. A field of the protocol takes
only values of its type; any other field takes anything. Every write also sets
lastUpdated.`,
		Example: `  gaffer state set specVersion=1.2 'nextStep=Run /fctry:execute'
  gaffer state set 'scenarioScore={"satisfied": 5, "total": 8}'
  gaffer state set buildRun.chunks[0].name=Schema`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFields(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if path, _, ok := strings.Cut(arg, "="); !ok || path == "" {
					return exit.Usage(fmt.Errorf("%q is not PATH=JSON", arg))
				}
			}
			return update(cmd, e, args, func(root *jsontree.Node, arg string) error {
				path, value, _ := strings.Cut(arg, "=")
				return workflow.SetText(root, path, value)
			})
		},
	}
}

// update calls change for each argument and stores all changes in a single write. If one call
// fails, nothing is stored.
func update(cmd *cobra.Command, e *env.Env, args []string, change func(root *jsontree.Node, arg string) error) error {
	s, err := Open(e)
	if err != nil {
		return err
	}
	return s.Update(cmd.Context(), func(root *jsontree.Node) error {
		for _, arg := range args {
			if err := change(root, arg); err != nil {
				return err
			}
		}
		return nil
	})
}
