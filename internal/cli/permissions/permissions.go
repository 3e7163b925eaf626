// Package permissions implements the command 'gaffer permissions': it shows which permissions
// agents have asked for, and lists and changes the rules that answer them.
package permissions

import (
	"context"
	"errors"
	"fmt"
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
	"gaffer/internal/ui/phrase"
)

const long = `Show which permissions agents have asked for in recent runs, and how they were
answered. Rule is what would answer the same request the next time.

A rule is a tool, or a tool with a pattern: Bash(go test:*), Edit(src/**),
WebFetch(domain:go.dev). Rules come from the plan (the key permissions), from
your settings ('gaffer permissions allow RULE'), and from answers that hold for
longer than one request ('gaffer answer NAME allow --for run'). Deny rules come
first, then those that ask you, then those that allow.

--plan prints what was allowed, and never denied, as the key permissions of a
plan: of a task, or of all tasks below defaults.`

// options holds the values of the command's flags.
type options struct {
	since string
	all   bool
	plan  bool
}

// New creates the command 'gaffer permissions' and its subcommands.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "permissions [--since WHEN] [--all] [--plan]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what agents asked for, and the rules that answer it",
		Long:                  long,
		Example: `  gaffer permissions
  gaffer permissions --since 24h --all
  gaffer permissions --plan
  gaffer permissions --json | jq -r '.[] | select(.denied == 0).rule'
  gaffer permissions allow 'Bash(go test:*)' 'Edit(src/**)'`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.since, "since", "7d", "only requests since `WHEN`: 24h, 14:02 or 2026-02-11")
	flags.BoolVarP(&o.all, "all", "a", false, "of all projects")
	flags.BoolVar(&o.plan, "plan", false, "print the key permissions for a plan")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		since, err := env.Since(o.since, e.Now())
		if err != nil {
			return exit.Usage(err)
		}
		if o.plan && *asJSON {
			return exit.Usage(errors.New("--plan and --json: want one of them"))
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			list, err := f.Permissions(cmd.Context(), o.all, since)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(append([]fleet.PermissionRequest{}, list...))
			case o.plan:
				return printPlan(e, list)
			}
			return printRequests(e, list)
		})
	}
	cmd.AddCommand(grants(e), revoke(e), change(e, "allow"), change(e, "deny"), change(e, "ask"), remove(e))
	return cmd
}

func printRequests(e *env.Env, list []fleet.PermissionRequest) error {
	if len(list) == 0 {
		e.Talk("no agent has asked for a permission in this time")
		return nil
	}
	rows := [][]table.Cell{{{Text: "Rule"}, {Text: "Asked", Keep: true}, {Text: "Answers", Keep: true}, {Text: "By"}, {Text: "Last", Keep: true, Drop: 1}, {Text: "Last request", Drop: 2}}}
	for _, p := range list {
		rows = append(rows, table.Row(p.Rule, fmt.Sprint(p.Asked), answers(p), by(p), ago(e, p.Last), phrase.Line(p.Example)))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	e.Talk("'gaffer permissions allow RULE' answers one in all later runs, --plan prints those that were allowed for a plan")
	return nil
}

// answers returns a text that says how many of the requests in p were allowed, were denied or are
// open, such as "3 allowed, 1 denied".
func answers(p fleet.PermissionRequest) string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{{p.Allowed, "allowed"}, {p.Denied, "denied"}, {p.Open, "open"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if len(parts) == 0 {
		return "not needed any more"
	}
	return strings.Join(parts, ", ")
}

// by returns the names of the users and rules that have answered the requests in p. Those with the
// most answers come first. An answer without a name is the user's: "you".
func by(p fleet.PermissionRequest) string {
	var names []string
	for _, a := range p.By {
		name := a.By
		if name == "" {
			name = "you"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func ago(e *env.Env, t time.Time) string { return phrase.Age(max(e.Now().Sub(t), 0)) + " ago" }

// printPlan prints permission rules in the format of a plan, so that the user can copy them into a
// plan. It prints the rules of those requests in list that were allowed and never denied.
func printPlan(e *env.Env, list []fleet.PermissionRequest) error {
	var allowed, both []string
	for _, p := range list {
		switch {
		case p.Allowed > 0 && p.Denied == 0:
			allowed = append(allowed, p.Rule)
		case p.Allowed > 0:
			both = append(both, p.Rule)
		}
	}
	slices.Sort(allowed)
	if len(both) > 0 {
		e.Talk("left out, because it was also denied: %s", phrase.Line(strings.Join(both, "  ")))
	}
	if len(allowed) == 0 {
		e.Talk("no request was allowed in this time, so there is no rule for a plan")
		return nil
	}
	if err := e.Printf("permissions:\n  allow:\n"); err != nil {
		return err
	}
	for _, rule := range allowed {
		if err := e.Printf("    - %s\n", quoted(rule)); err != nil {
			return err
		}
	}
	e.Talk("put it below 'defaults:' of the plan, or into one of its tasks")
	return nil
}

func grants(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "grants", DisableFlagsInUseLine: true,
		Short: "List the answers that hold for longer than one request",
		Long: `List the rules that answers with --for have made and that still hold: what they
allow or deny, for which task or run, or always, and who made them. 'gaffer
permissions revoke' removes one.`,
		Example: "  gaffer permissions grants\n  gaffer permissions grants --json | jq -r '.[] | select(.scope == \"always\").id'",
		Args:    cobra.NoArgs,
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			list, err := f.Grants(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(append([]fleet.Grant{}, list...))
			}
			return printGrants(e, list)
		})
	}
	return cmd
}

func printGrants(e *env.Env, list []fleet.Grant) error {
	if len(list) == 0 {
		e.Talk("no answer holds for longer than one request: 'gaffer answer NAME allow --for run' makes one that does")
		return nil
	}
	rows := [][]table.Cell{table.Row("ID", "Rule", "Answer", "For", "By", "Made")}
	for _, g := range list {
		rows = append(rows, table.Row(g.ID, g.Rule, verb(g), where(g), g.By, ago(e, g.Made)))
	}
	return table.Print(e, rows)
}

func verb(g fleet.Grant) string {
	if g.Deny {
		return "deny"
	}
	return "allow"
}

// where returns a text that says where a grant applies: to a task, to a run, or always. A grant is
// a permission rule that a user has made by answering an agent's request.
func where(g fleet.Grant) string {
	switch g.Scope {
	case fleet.GrantTask:
		return "task " + fleet.QuestionName(g.Run, g.Task)
	case fleet.GrantRun:
		return "run " + fleet.ShortRun(g.Run)
	}
	return string(g.Scope)
}

func revoke(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", DisableFlagsInUseLine: true,
		Short: "Remove an answer that holds for longer than one request",
		Long: `Remove a rule that an answer with --for has made. ID is its id, or the start of
it. Requests that it has already answered stay answered.`,
		Example: "  gaffer permissions revoke 5f0c2ab9",
		Args:    cobra.ExactArgs(1),
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.ValidArgsFunction = openfleet.Grants(e)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer permissions revoke"); err != nil {
			return err
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			g, err := findGrant(cmd.Context(), f, args[0])
			if err != nil {
				return err
			}
			if err := f.RemoveGrant(cmd.Context(), g.ID); err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(g)
			}
			e.Talk("removed %s: %s %s, %s", display.Printable(g.ID), verb(g), phrase.Line(g.Rule), phrase.Line(where(g)))
			return nil
		})
	}
	return cmd
}

// findGrant returns the grant whose id is text or, if there is none, the only one whose id starts
// with text.
func findGrant(ctx context.Context, f openfleet.Fleet, text string) (fleet.Grant, error) {
	list, err := f.Grants(ctx)
	if err != nil {
		return fleet.Grant{}, err
	}
	var found []fleet.Grant
	for _, g := range list {
		if g.ID == text {
			return g, nil
		}
		if text != "" && strings.HasPrefix(g.ID, text) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return fleet.Grant{}, exit.WithHint(exit.NotFound(fmt.Errorf("no grant has the id %q", text)),
			"'gaffer permissions grants' lists them; 'gaffer permissions remove RULE' removes a rule of your settings")
	case 1:
		return found[0], nil
	}
	return fleet.Grant{}, exit.WithHint(exit.Conflict(fmt.Errorf("%s: %d grants have an id that begins with it", text, len(found))), "type more of it")
}
