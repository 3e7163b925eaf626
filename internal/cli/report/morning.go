package report

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/ui/report"
)

// newMorning creates the command 'gaffer report morning'.
func newMorning(e *env.Env) *cobra.Command {
	var since string
	var all bool
	cmd := &cobra.Command{
		Use:                   "morning [--since WHEN] [--all]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what has become of tasks since yesterday",
		Long: `Show what has become of the tasks of this project since 18:00 of yesterday, or
since WHEN: which wait for you, failed (with the reason), wait for review, were
merged, are complete without a change, run or were skipped. Below that: each
run, what started it and its cost; the questions of agents, and the rule or user
that answered them; the accounts that agents used, and their rate limits.

WHEN is yesterday or today (from 0:00), a time of day, an age or a date. Times
are in your time zone. The dashboard has the same report as a page.`,
		Example: `  gaffer report morning
  gaffer report morning --since 22:00 --all
  gaffer report morning --json | jq -r '.failed[] | .task + ": " + .why'`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&since, "since", "", "since `WHEN`: yesterday, 22:00, 24h, 7d or 2026-02-11")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all projects")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	// Ignore the error: the flag exists and has no completion function yet.
	_ = cmd.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{"yesterday", "today", "24h", "7d"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		at, err := env.Since(since, e.Now())
		if err != nil {
			return exit.Usage(err)
		}
		if at.IsZero() {
			at = fleet.MorningStart(e.Now())
		}
		return printMorning(cmd.Context(), e, at, all, *asJSON)
	}
	return cmd
}

// isWord reports whether the text of --since is "yesterday", "today" or a time of day. With such a
// text, 'gaffer report' can print the morning report; see [options.morning].
func isWord(since string) bool {
	return since == "yesterday" || since == "today" || strings.Contains(since, ":") && !strings.Contains(since, "-")
}

// recordSince converts the text of --since for the report on past attempts, which is made from
// their run and result records. That report does not know texts such as "yesterday", whose meaning
// depends on the user's time zone. recordSince replaces such a text by a time in UTC. It returns
// any other text unchanged.
func recordSince(text string, now time.Time) string {
	if at, err := env.Since(text, now); isWord(text) && err == nil {
		return at.UTC().Format(time.RFC3339)
	}
	return text
}

// morning returns the time at which the morning report begins. ok is true if the flags of 'gaffer
// report' ask for the morning report. For this, --since must be "yesterday", "today" or a time of
// day, and the flags --html, --agent, --model and --template must not be given.
func (o options) morning(e *env.Env) (since time.Time, ok bool) {
	if !isWord(o.since) || o.html != "" || len(o.agents)+len(o.models)+len(o.templates) > 0 {
		return since, false
	}
	since, err := env.Since(o.since, e.Now())
	return since, err == nil
}

func printMorning(ctx context.Context, e *env.Env, since time.Time, everywhere, asJSON bool) error {
	return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
		r, err := f.Morning(ctx, everywhere, fleet.MorningQuery{Since: since})
		if err != nil {
			return err
		}
		if asJSON {
			return e.PrintJSON(r)
		}
		r.Until = r.Until.In(e.Now().Location())
		return e.Printf("%s", report.Morning(r, screenOf(e)))
	})
}
