package report

import (
	"context"
	"encoding/json"
	"fmt"

	"gaffer/coordinator"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/ui/report"
	"gaffer/ledger"
)

// printServerReport prints a server's report about its runs, or writes it to the file of --html.
func printServerReport(ctx context.Context, e *env.Env, o options, query ledger.Query) error {
	f, err := openfleet.ServerFleet(e, nil)
	if err != nil {
		return err
	}
	text, err := f.Report(ctx, coordinator.ReportQuery{Since: recordSince(o.since, e.Now()), Agent: query.Agents, Model: query.Models, Template: query.Templates})
	if err != nil {
		return err
	}
	var r ledger.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("server %s: the report: %w", f.Where(), err)
	}
	printUnmatched(e, r.Unmatched)
	switch {
	case *o.json:
		return e.PrintJSON(text)
	case o.html != "":
		return writePage(e, o.html, r, report.Source{Ledger: f.Where(), Version: e.Version})
	}
	return e.Printf("%s", report.Text(r, screenOf(e)))
}
