// Package state implements the commands 'gaffer state …': they read and change fields
// of the workflow's state.
package state

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// New creates the command group 'gaffer state'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Workflow state: fields of .fctry/state.json",
		Long: `Read and change the fields of the workflow's state, .fctry/state.json.

A field is named by its path: specVersion, scenarioScore.total,
buildRun.chunks[0].status. A dot in a name is written as \. in the path.
Null and absent are alike.`,
		Example: `  gaffer state get currentCommand
  gaffer state set activeSection=#core-flow activeSectionNumber=2.2
  gaffer state clear activeSection activeSectionNumber`,
	}
	cmd.AddCommand(getCommand(e), setCommand(e), clearCommand(e), watchCommand(e))
	return cmd
}

// completeFields suggests the names of the fields that are set in the state. After an error it
// suggests nothing, because a shell prompt cannot show errors.
func completeFields(e *env.Env) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		s, err := Open(e)
		if err != nil {
			return nil, noFiles
		}
		v, err := s.Load()
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for _, c := range workflow.Changes(jsontree.Value{}, v) {
			names = append(names, display.Line(c.Field, 80))
		}
		return names, noFiles
	}
}
