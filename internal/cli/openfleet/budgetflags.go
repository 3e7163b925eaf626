package openfleet

import (
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/exit"
)

// BudgetFlags adds the flags --budget and --tokens, which set a new budget for a task or a run. The
// parameter what is the word "task" or "run" for the flags' help. The caller must call the returned
// function after the flags were parsed: it checks and returns their values, with zero for a flag
// that was not given.
func BudgetFlags(cmd *cobra.Command, what string) func() (fleet.Cost, error) {
	var c fleet.Cost
	cmd.Flags().Float64Var(&c.USD, "budget", 0, "what the "+what+" may cost, in `USD`, with what it has cost already")
	cmd.Flags().Int64Var(&c.Tokens, "tokens", 0, "how many tokens the "+what+" may use, `N`, with those that it has used already")
	return func() (fleet.Cost, error) {
		switch {
		case cmd.Flags().Changed("budget") && !(c.USD >= 0.000001 && c.USD <= 1e9):
			return c, exit.Usage(fmt.Errorf("--budget %g: want an amount above 0", c.USD))
		case cmd.Flags().Changed("tokens") && (c.Tokens <= 0 || c.Tokens > 1e15):
			return c, exit.Usage(fmt.Errorf("--tokens %d: want a number above 0", c.Tokens))
		}
		return c, nil
	}
}
