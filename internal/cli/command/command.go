// Package command implements 'gaffer command begin' and 'gaffer command end'. The workflow of a
// project has commands of its own, such as evolve and review. The package stores in the workflow's
// state file which of them is in progress.
package command

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// New creates the command 'gaffer command' and its subcommands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "command",
		Short:   "Begin and end a command of the workflow",
		Example: "  gaffer command begin evolve\n  gaffer command end",
	}
	cmd.AddCommand(beginCommand(e), endCommand(e))
	return cmd
}

func beginCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "begin NAME",
		Short: "Begin a command: init, evolve, ref, review or execute",
		Long: `Begin a command: init, evolve, ref, review or execute.

The steps that an earlier command completed, and what its agents left for each
other, no longer count.`,
		Example:   "  gaffer command begin evolve",
		Args:      cobra.ExactArgs(1),
		ValidArgs: names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := state.Open(e)
			if err != nil {
				return err
			}
			var unended workflow.Command
			err = s.Update(cmd.Context(), func(root *jsontree.Node) (err error) {
				unended, err = workflow.BeginCommand(root, workflow.Command(args[0]))
				return err
			})
			if err == nil && unended != "" {
				e.Talk("gaffer: %s had begun and never ended", display.Line(string(unended), 80))
			}
			return err
		},
	}
}

func endCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "end",
		Short: "End the current command",
		Long: `End the current command.

Evolve and review clear the untracked changes of the sections they were about:
those named with --section, else the active one.`,
		Example: "  gaffer command end\n  gaffer command end --section core-flow --section 2.12",
		Args:    cobra.NoArgs,
	}
	sections := cmd.Flags().StringArray("section", nil, "a section that evolve or review was about, as `NAME`: its alias or number; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		var cleared int
		err = s.Update(cmd.Context(), func(root *jsontree.Node) (err error) {
			cleared, err = workflow.EndCommandFor(root, *sections...)
			return err
		})
		if err == nil && cleared > 0 {
			e.Talk("untracked changes cleared: %d", cleared)
		}
		return err
	}
	return cmd
}

func names() []string {
	var all []string
	for _, c := range workflow.Commands() {
		all = append(all, string(c))
	}
	return all
}
