// Package accounts implements the command 'gaffer accounts': it lists the user's accounts of agent
// programs, and says which accounts are paused.
package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// Account is an account in the user's settings, or the account that an agent program itself is
// logged in to. The latter is listed only while it is paused.
type Account struct {
	Agent   string       `json:"agent"`
	Name    string       `json:"name,omitempty"` // empty for the account that the program is logged in to
	State   string       `json:"state"`          // free, paused or unusable
	Until   time.Time    `json:"until,omitzero"` // end of the pause; zero if the account is not paused
	Reason  string       `json:"reason,omitempty"`
	Reserve bool         `json:"reserve,omitempty"` // this account is used only while the agent's accounts without Reserve are paused
	Running int          `json:"running"`           // number of running attempts
	Today   fleet.Cost   `json:"today"`             // cost of the attempts that started today
	Unknown int          `json:"unknown,omitempty"` // number of attempts that started today and whose cost is unknown
	Budget  *fleetBudget `json:"budget,omitempty"`
}

// fleetBudget is what an account may spend in a day and in a month, in US dollars. 0 means no
// limit.
type fleetBudget struct {
	Day   float64 `json:"day,omitempty"`
	Month float64 `json:"month,omitempty"`
}

// The values of Account.State.
const (
	free     = "free"
	paused   = "paused"
	unusable = "unusable"
)

// New creates the command 'gaffer accounts'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accounts",
		Short: "List your accounts of agent programs, and which are paused",
		Long: `List the accounts in the section accounts of your own gaffer.yaml, in the order of
their use: whether each is free, or paused until its rate limit ends, how many
attempts use it now, and what attempts have spent with it that started today. The
program's own account is listed while it is paused.

An account is unusable if its config folder or a variable is missing here.`,
		Example: "  gaffer accounts\n  gaffer accounts --json | jq -r '.[] | select(.state == \"paused\").name'",
		Args:    cobra.NoArgs,
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			list, err := read(cmd.Context(), e, f, opts)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(list)
			case len(list) == 0:
				e.Talk("no accounts: each agent program uses its own; see docs/accounts.md")
				return nil
			}
			return show(e, list)
		})
	}
	return cmd
}

// read returns the accounts in the settings, followed by the paused accounts that agent programs
// themselves are logged in to. Each account has its pause, its number of running attempts and its
// cost of today.
func read(ctx context.Context, e *env.Env, f openfleet.Fleet, opts app.Options) ([]Account, error) {
	lanes, err := f.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := f.Runs(ctx, true, false)
	if err != nil {
		return nil, err
	}
	now := e.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	cost, err := f.Cost(ctx, true, fleet.CostQuery{By: fleet.CostByAccount, Since: midnight, Zone: time.UTC})
	if err != nil {
		return nil, err
	}
	running := map[string]int{}
	for _, r := range runs {
		for _, t := range r.Tasks {
			if a := t.Attempt; a != nil && a.Status == fleet.Running {
				running[accountName(t.AgentOf(*a), a.Account)]++
			}
		}
	}
	list := []Account{}
	for i, checked := range app.CheckAccounts(opts) {
		settings := opts.Config.Accounts()[i]
		a := Account{Agent: checked.Agent, Name: checked.Name, State: free, Reserve: settings.Reserve}
		if b := settings.Budget; b.Day > 0 || b.Month > 0 {
			a.Budget = &fleetBudget{b.Day, b.Month}
		}
		if checked.Problem != "" {
			a.State, a.Reason = unusable, checked.Problem
		}
		list = append(list, a)
	}
	for _, l := range lanes {
		if own := l.Agent() == l.Name; own && l.Until.After(now) {
			list = append(list, Account{Agent: l.Name, State: free})
		}
	}
	for i := range list {
		a := &list[i]
		name := accountName(a.Agent, a.Name)
		a.Running = running[name]
		for _, l := range lanes {
			if l.Name == name && l.Until.After(now) && a.State == free {
				a.State, a.Until, a.Reason = paused, l.Until, l.Reason
			}
		}
		for _, row := range cost.Rows {
			if row.Key == name {
				a.Today.Tokens, a.Unknown = row.Tokens, row.Unknown
				if row.USD != nil {
					a.Today.USD = *row.USD
				}
			}
		}
	}
	return list, nil
}

// accountName returns the name by which a fleet knows an account: AGENT/ACCOUNT or, if account is
// empty, AGENT. The latter is the account that the agent program itself is logged in to.
func accountName(agent, account string) string {
	if account == "" {
		return agent
	}
	return agent + "/" + account
}

func show(e *env.Env, list []Account) error {
	rows := [][]table.Cell{table.Row("Agent", "Account", "State", "Running", "Today", "Budget")}
	for _, a := range list {
		name := table.Cell{Text: a.Name}
		if a.Name == "" {
			name = table.Cell{Text: "(its own)", Style: display.Faint}
		}
		rows = append(rows, []table.Cell{{Text: a.Agent}, name, a.state(e.Now()), {Text: fmt.Sprint(a.Running)}, {Text: phrase.Spent(a.Today)}, {Text: a.budget()}})
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	var lines []string
	for _, a := range list {
		if a.State == unusable {
			lines = append(lines, phrase.Line(a.Reason))
		}
	}
	return table.Lines(e, nil, lines...)
}

func (a Account) state(now time.Time) table.Cell {
	switch {
	case a.State == paused:
		lane := fleet.Lane{Until: a.Until, Reason: a.Reason}
		return table.Cell{Text: phrase.Line(phrase.PausedUntil(lane, now)), Style: display.Yellow}
	case a.State == unusable:
		return table.Cell{Text: unusable, Style: display.Red}
	case a.Reserve:
		return table.Cell{Text: free + ", in reserve", Style: display.Green}
	}
	return table.Cell{Text: free, Style: display.Green}
}

// budget returns a text that says what the account may spend, or "" if it has no limit.
func (a Account) budget() string {
	if a.Budget == nil {
		return ""
	}
	day, month := "", ""
	if a.Budget.Day > 0 {
		day = phrase.Money(a.Budget.Day) + " a day"
	}
	if a.Budget.Month > 0 {
		month = phrase.Money(a.Budget.Month) + " a month"
	}
	return phrase.Join(", ", day, month)
}
