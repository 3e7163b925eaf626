// Package report implements two commands. 'gaffer report' prints statistics about past attempts,
// computed from the run and result records that are stored for each attempt. 'gaffer report
// morning' prints what has happened to tasks since yesterday evening.
package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/text/suggest"
	"gaffer/internal/ui/report"
	"gaffer/ledger"
)

// options holds the values of the command's flags.
type options struct {
	since                     string
	agents, models, templates []string
	html                      string
	json                      *bool
}

// New creates the command 'gaffer report'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [--since WHEN] [--agent NAME] [--html FILE]",
		Short: "Summarize the run and result records",
		Long: `Summarize the run and result records: outcomes, retries, durations and reasons
of failure, by agent, model, template, type of task and week, with
recommendations.

Every attempt counts as one run. success_rate refers to ended runs, retry_rate
to tasks. Files that cannot be read are not counted, but listed. --since counts
attempts that started or ended since then. With --json, raw_data has a row for
each attempt. With --html, the report is one page with charts that needs no
other files. A server counts its own runs of the project, and returns no
raw_data.

--since yesterday, today or a time of day prints the morning report instead:
what was merged, what waits for you, what failed ('gaffer report morning').`,
		Example: `  gaffer report
  gaffer report --since yesterday
  gaffer report --since 7d --agent claude,codex
  gaffer report --json | jq '.statistics.by_agent'
  gaffer report --html report.html`,
		Args: cobra.NoArgs,
	}
	o, flags := options{}, cmd.Flags()
	flags.StringVar(&o.since, "since", "", "count only since `WHEN`: 2026-02-11 (UTC), 7d or 24h")
	flags.StringSliceVar(&o.agents, "agent", nil, "count only runs of agent `NAME`, or of several: a,b")
	flags.StringSliceVar(&o.models, "model", nil, "count only runs with model `NAME`")
	flags.StringSliceVar(&o.templates, "template", nil, "count only runs from template `NAME`; custom is none")
	flags.StringVar(&o.html, "html", "", "write a page with charts to `FILE`, - for stdout")
	openfleet.FleetFlags(e, cmd)
	o.json = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if since, ok := o.morning(e); ok {
			return printMorning(cmd.Context(), e, since, false, *o.json)
		}
		return run(cmd.Context(), e, o)
	}
	cmd.AddCommand(newMorning(e))
	return cmd
}

func run(ctx context.Context, e *env.Env, o options) error {
	if o.html != "" && *o.json {
		return exit.Usage(errors.New("--html and --json exclude each other"))
	}
	query, err := o.query(e)
	if err != nil {
		return err
	}
	c, err := e.Config()
	if err != nil {
		return err
	}
	if c.Server() != "" {
		return printServerReport(ctx, e, o, query)
	}
	opts, err := openfleet.Options(e, nil)
	if err == nil {
		query.Cost, err = app.AttemptCosts(ctx, opts)
	}
	if err != nil { // the costs cannot be read: print the report without them
		query.Cost = nil
		e.Talk("what runs have cost is not known: %s", display.Printable(err.Error()))
	}
	root := c.Path("paths.ledger")
	store := ledger.Open(root, ledger.Options{Now: e.Now})
	if *o.json {
		return printJSON(ctx, e, store, query)
	}
	r, err := store.Report(ctx, query, func(ledger.Attempt) error { return nil })
	if err != nil {
		return err
	}
	printUnmatched(e, r.Unmatched)
	if o.html != "" {
		return writePage(e, o.html, r, report.Source{Ledger: root, Version: e.Version})
	}
	for _, l := range r.LeftOut {
		for i, file := range l.Files {
			if name, err := filepath.Rel(e.Dir, file); err == nil && filepath.IsAbs(file) && filepath.IsLocal(name) {
				l.Files[i] = name
			}
		}
	}
	return e.Printf("%s", report.Text(r, screenOf(e)))
}

func (o options) query(e *env.Env) (ledger.Query, error) {
	since, err := ledger.ParseSince(recordSince(o.since, e.Now()), e.Now())
	if err != nil {
		return ledger.Query{}, exit.WithHint(exit.Usage(fmt.Errorf("--since: %w", err)), "write it as 2026-02-11, 2026-02-11T09:00:00Z, 7d or 24h")
	}
	q := ledger.Query{Since: since}
	for _, f := range []struct {
		flag string
		from []string
		to   *[]string
	}{{"agent", o.agents, &q.Agents}, {"model", o.models, &q.Models}, {"template", o.templates, &q.Templates}} {
		for _, name := range f.from {
			if name = strings.TrimSpace(name); name == "" {
				return ledger.Query{}, exit.Usage(fmt.Errorf("--%s: a name is empty; write it as --%s a,b", f.flag, f.flag))
			}
			*f.to = append(*f.to, name)
		}
	}
	return q, nil
}

// maxSeen is the maximum number of existing names that are listed if the user limits the report to
// the name of an agent, model or template that no attempt has.
const maxSeen = 12

// printUnmatched prints those names of agents, models and templates that the user has asked for,
// but that no attempt in the period of the report has.
func printUnmatched(e *env.Env, list []ledger.Unmatched) {
	for _, u := range list {
		text := fmt.Sprintf("no record has %s %q", u.Field, display.Printable(u.Name))
		if near := suggest.Nearest(u.Name, u.Seen); near != "" {
			text += fmt.Sprintf(", did you mean %q?", display.Printable(near))
		}
		if len(u.Seen) > 0 {
			text += "; seen: " + seen(u.Seen)
		}
		e.Talk("%s", text)
	}
}

func seen(names []string) string {
	var shown []string
	for i, name := range names {
		if i == maxSeen {
			shown = append(shown, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		shown = append(shown, display.Line(name, 60))
	}
	return strings.Join(shown, ", ")
}
