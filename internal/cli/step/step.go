// Package step implements the commands 'gaffer step …': they record which step of a workflow
// command is in progress or done. The steps have a fixed order.
package step

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/workflow"
)

// New creates the command group 'gaffer step'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Steps of a command, in their order",
		Example: `  gaffer command begin evolve
  gaffer step begin state-owner-scan
  gaffer step done state-owner-scan --summary "3 sections are ahead"
  gaffer step status`,
	}
	cmd.AddCommand(beginCommand(e), doneCommand(e), statusCommand(e))
	return cmd
}

func names() []string {
	var all []string
	for _, s := range workflow.Steps() {
		all = append(all, string(s)+"\t"+s.Agent())
	}
	return all
}
