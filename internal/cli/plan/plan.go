// Package plan implements the commands 'gaffer plan …': they check and show a plan
// before it runs.
package plan

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

// New creates the command group 'gaffer plan'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Check a plan, and show the order of its tasks",
		Long: `Look at plans: gaffer's own YAML, an orchestrator's markdown, workflow YAML,
phase plans, a folder or a list of prompts, one prompt.`,
		Example: "  gaffer plan check plan.yaml",
	}
	cmd.AddCommand(checkCommand(e))
	return cmd
}
