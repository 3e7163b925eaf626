// Package cost implements the command 'gaffer cost': it prints what attempts have cost, by day,
// agent, model, account, project or run.
package cost

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/text/suggest"
	"gaffer/internal/ui/phrase"
)

// options holds the values of the command's flags.
type options struct {
	by, since, zone string
	all, csv        bool
}

// New creates the command 'gaffer cost'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "cost [--by WHAT] [--since WHEN] [--all] [--csv]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what attempts have cost",
		Long: `Show what the attempts of this project have cost, and how many tokens they used:
by day, agent, model, account, project or run, and what runs have spent of their budgets.

An attempt counts on the day on which it started, in your time zone. A running
attempt counts with what it has reported so far. Not every agent program reports
a cost: such attempts are counted as unknown, and not as free. "cached" tokens
are a part of the input.`,
		Example: `  gaffer cost
  gaffer cost --by agent --since 7d
  gaffer cost --by run --all --csv > cost.csv
  gaffer cost --json | jq '.total.usd'`,
		Args: cobra.NoArgs,
	}
	names := groupings()
	flags := cmd.Flags()
	flags.StringVar(&o.by, "by", string(fleet.CostByDay), "group by `WHAT`: "+strings.Join(names, ", "))
	flags.StringVar(&o.since, "since", "", "only attempts that started since `WHEN`: 24h, 7d, 14:02 or 2026-02-11")
	flags.StringVar(&o.zone, "tz", "", "the time zone of days, such as Europe/Berlin; without it the machine's")
	flags.BoolVarP(&o.all, "all", "a", false, "of all projects")
	flags.BoolVar(&o.csv, "csv", false, "print the table as CSV")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	// Ignore the error: the call fails only if the flag is undeclared or already has completions.
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q, err := o.query(e)
		if err != nil {
			return exit.Usage(err)
		}
		if o.csv && *asJSON {
			return exit.Usage(errors.New("--csv and --json: want one of them"))
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			report, err := f.Cost(cmd.Context(), o.all, q)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(report)
			case o.csv:
				return report.WriteCSV(e.Out)
			}
			return show(e, report)
		})
	}
	return cmd
}

func groupings() (names []string) {
	for _, g := range fleet.CostGroupings() {
		names = append(names, string(g))
	}
	return names
}

// query checks the command's flags and returns the cost query that they describe.
func (o options) query(e *env.Env) (q fleet.CostQuery, err error) {
	q.By = fleet.CostGrouping(o.by)
	if !slices.Contains(fleet.CostGroupings(), q.By) {
		err := fmt.Errorf("--by %q: want one of %s", o.by, strings.Join(groupings(), ", "))
		if near := suggest.Nearest(o.by, groupings()); near != "" {
			return q, exit.WithHint(err, fmt.Sprintf("did you mean %s?", near))
		}
		return q, err
	}
	if o.zone == "" {
		o.zone = localZone(e.Getenv("TZ"))
	} else if _, err := time.LoadLocation(o.zone); err != nil || o.zone == "Local" {
		return q, fmt.Errorf("--tz %q: want the name of a time zone, such as Europe/Berlin", o.zone)
	}
	if q.Zone, err = time.LoadLocation(o.zone); err != nil {
		return q, err
	}
	q.Since, err = env.Since(o.since, e.Now().In(q.Zone))
	return q, err
}

// localZone returns the name of the machine's time zone, such as Europe/Berlin, so that it can be
// sent to a server. It returns UTC if the zone has no name. variable is the value of the
// environment variable TZ.
func localZone(variable string) string {
	name := strings.TrimPrefix(variable, ":")
	if name == "" {
		link, _ := os.Readlink("/etc/localtime") // ignore the error: if the file is not a link, the zone has no name
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" || name == "Local" {
		return "UTC"
	}
	return name
}

func show(e *env.Env, r fleet.CostReport) error {
	if len(r.Rows) == 0 {
		e.Talk("no attempt of an agent in this time")
		printLimits(e, r.Limits)
		return nil
	}
	head := []table.Cell{{Text: title(r.By), Keep: true}}
	if r.By == fleet.CostByRun {
		head = append(head, table.Cell{Text: "Name"})
	}
	head = append(head, table.Cell{Text: "Cost", Keep: true}, table.Cell{Text: "Attempts", Keep: true, Drop: 3}, table.Cell{Text: "Input", Keep: true, Drop: 4},
		table.Cell{Text: "Cached", Keep: true, Drop: 1}, table.Cell{Text: "Output", Keep: true, Drop: 2})
	rows := [][]table.Cell{head}
	for _, row := range r.Rows {
		rows = append(rows, cells(r.By, row, nameOf(r.By, row.Key)))
	}
	if len(r.Rows) > 1 {
		total := r.Total
		total.Name = ""
		rows = append(rows, cells(r.By, total, "total"))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	if r.Total.Unknown > 0 {
		e.Talk("the cost of %s is unknown, and not in these sums", phrase.Count(r.Total.Unknown, "attempt"))
	}
	for _, b := range r.Budgets {
		fmt.Fprintf(e.Out, "budget of %s: %s\n", fleet.ShortRun(b.Run), budgetText(b))
	}
	printLimits(e, r.Limits)
	return nil
}

// printLimits prints what is left of the user's spending limits for the current day and month.
func printLimits(e *env.Env, limits []fleet.CostLimit) {
	for _, l := range limits {
		name := "today"
		if l.Period == "month" {
			name = "this month"
		}
		if l.Account != "" {
			name += " with " + display.Line(l.Account, 60)
		}
		fmt.Fprintf(e.Out, "%s: %s, %s left\n", name, phrase.SpentOf(fleet.Cost{USD: l.Spent.USD}, fleet.Cost{USD: l.Limit.USD}), fleet.Money(l.Left.USD))
	}
}

func title(by fleet.CostGrouping) string { return strings.ToUpper(string(by[:1])) + string(by[1:]) }

// nameOf returns the name to show for a row of the cost report. by says how the report groups the
// attempts into rows, for example by model. key is the value that all attempts of the row have in
// common. If key is empty, the attempts have no such value. For models, this means that they used
// the agent's default model.
func nameOf(by fleet.CostGrouping, key string) string {
	switch {
	case key == "" && by == fleet.CostByModel:
		return "(default)"
	case key == "":
		return "(none)"
	}
	return display.Line(key, 60)
}

func cells(by fleet.CostGrouping, row fleet.CostRow, name string) []table.Cell {
	first := table.Cell{Text: name}
	if by == fleet.CostByRun && row.Key != "" {
		first.Short = fleet.ShortRun(row.Key)
	}
	line := []table.Cell{first}
	if by == fleet.CostByRun {
		line = append(line, table.Cell{Text: display.Line(row.Name, 40)})
	}
	usd := "unknown"
	if row.USD != nil {
		usd = phrase.Money(*row.USD)
	}
	if row.USD != nil && row.Unknown > 0 {
		usd += "+" // the sum lacks the attempts whose cost is unknown
	}
	attempts := fmt.Sprint(row.Attempts)
	if row.Running > 0 {
		attempts += fmt.Sprintf(" (%d running)", row.Running)
	}
	return append(line, table.Cell{Text: usd}, table.Cell{Text: attempts}, table.Cell{Text: phrase.Tokens(row.Input)}, table.Cell{Text: phrase.Tokens(row.Cached)}, table.Cell{Text: phrase.Tokens(row.Output)})
}

func budgetText(b fleet.RunBudget) string {
	var parts []string
	if b.Budget.USD > 0 {
		parts = append(parts, fleet.MoneyOf(b.Spent.USD, b.Budget.USD))
	}
	if b.Budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s tokens", tokens(b.Spent.Tokens), phrase.Tokens(b.Budget.Tokens)))
	}
	return fmt.Sprintf("%s, %.0f%%", strings.Join(parts, ", "), 100*b.Share())
}

func tokens(n int64) string {
	if n == 0 {
		return "0"
	}
	return phrase.Tokens(n)
}
