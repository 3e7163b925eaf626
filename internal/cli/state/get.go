package state

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func getCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get [PATH]",
		Short: "Show a field, or the whole state",
		Long: `Show a field, or the whole state as JSON.

A string is shown without its quotes, unless --json asks for them. A field that
is absent or null ends with code 3.`,
		Example: `  gaffer state get workflowStep
  gaffer state get buildRun.chunks[0] --json
  gaffer state get | jq .readinessSummary`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFields(e),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := Open(e)
		if err != nil {
			return err
		}
		v, err := s.Load()
		if err != nil {
			return err
		}
		if len(args) == 1 {
			if v, err = workflow.Get(v, args[0]); err != nil {
				return err
			}
		}
		return show(e, v, *asJSON)
	}
	return cmd
}

func show(e *env.Env, v jsontree.Value, asJSON bool) error {
	if text, ok := v.Str(); ok && !asJSON {
		return e.Printf("%s\n", e.ForOut(text))
	}
	text, err := jsontree.Format(v.Raw())
	if err != nil {
		return err
	}
	return e.Printf("%s", text)
}
