// Package report is the command 'gaffer report'.
package report

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/ledger"
)

// New makes the command.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [--since DATE]",
		Short: "Count what the run and result records say",
		Long: `Count what the run and result records say: outcomes, retries, durations, reasons
of failure, by agent, model, template and sort of task.

Every attempt is one run. success_rate is of the runs that have ended, and
retry_rate of the tasks. A file that cannot be read is left out and named.
With --json, raw_data has a row for each attempt.`,
		Example: `  gaffer report
  gaffer report --since 2026-02-11
  gaffer report --json | jq '.statistics.by_agent'`,
		Args: cobra.NoArgs,
	}
	since := cmd.Flags().String("since", "", "count only what started or ended since `DATE` (UTC), or since a time")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, *since, *asJSON) }
	return cmd
}

func run(ctx context.Context, e *env.Env, date string, asJSON bool) error {
	since, err := ledger.ParseSince(date)
	if err != nil {
		return exit.WithHint(exit.Usage(fmt.Errorf("--since: %w", err)), "write it as 2026-02-11 or 2026-02-11T09:00:00Z")
	}
	c, err := e.Config()
	if err != nil {
		return err
	}
	store := ledger.Open(c.Path("paths.ledger"), ledger.Options{Now: e.Now})
	if asJSON {
		return printJSON(ctx, e, store, since)
	}
	r, err := store.Report(ctx, since, func(ledger.Attempt) error { return nil })
	if err != nil {
		return err
	}
	return printText(e, r)
}
