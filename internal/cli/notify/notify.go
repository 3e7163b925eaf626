// Package notify implements the command 'gaffer notify': it sends a test notification, and lists
// the settings for notifications and the latest notifications.
package notify

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/app/notifications"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/record/notify"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer notify' and its subcommands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Show how notifications are sent, and which were sent",
		Long: `gaffer notifies you when an agent asks something, a task has finally failed, a
worker went offline, a run has ended or a budget is used up: on the screen of this
machine, by HTTP, or with a program of yours. 'gaffer run' notifies you of its
run, 'gaffer serve' of all runs. The settings are below notify: see 'gaffer config'.`,
	}
	cmd.AddCommand(test(e), list(e))
	return cmd
}

func test(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "test [CHANNEL]",
		DisableFlagsInUseLine: true,
		Short:                 "Send a notification and say what happened",
		Long: `Send a test message over every configured channel, or over one of desktop, webhook
and command. Quiet hours do not apply. The exit code is 1 if a channel does not
work.`,
		Example:   "  gaffer notify test\n  gaffer notify test webhook",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"desktop", "webhook", "command"},
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		results, err := app.TestNotify(cmd.Context(), opts, strings.Join(args, ""))
		if err != nil {
			return err
		}
		return showTests(e, results, *asJSON)
	}
	return cmd
}

func showTests(e *env.Env, results []notifications.TestResult, asJSON bool) error {
	var wrong []string
	rows := [][]table.Cell{table.Row("Channel", "Sent", "Where", "What happened")}
	for _, r := range results {
		mark, said := table.Cell{Text: "✓", Style: display.Green}, "sent"
		if r.Error != "" {
			mark, said = table.Cell{Text: "✗", Style: display.Red}, phrase.Line(r.Error)
			wrong = append(wrong, r.Name)
		}
		rows = append(rows, []table.Cell{{Text: r.Name}, mark, {Text: phrase.Line(r.Where)}, {Text: said}})
	}
	var err error
	if asJSON {
		err = e.PrintJSON(results)
	} else {
		err = table.Print(e, rows)
	}
	if err == nil && len(wrong) > 0 {
		err = errors.New("not sent by " + strings.Join(wrong, ", "))
	}
	return err
}

// maxListedAge is the maximum age of the notifications that 'gaffer notify list' prints.
const maxListedAge = 7 * 24 * time.Hour

func list(e *env.Env) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:                   "list",
		DisableFlagsInUseLine: true,
		Short:                 "Show the channels and the latest notifications",
		Long: `Show the channels, their problems, and the notifications of the last days, the
latest first. Their states are told (sent), waiting, given up, and overtaken:
for example, a question was answered before its notification was sent.`,
		Example: "  gaffer notify list\n  gaffer notify list --json | jq '.lately[] | select(.state == \"given up\")'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "show so many at the most, `N`")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error {
			n, err := a.Notifications.Overview(cmd.Context(), e.Now().Add(-maxListedAge))
			if err != nil {
				return err
			}
			n.Recent = n.Recent[:min(max(limit, 0), len(n.Recent))]
			if *asJSON {
				return e.PrintJSON(n)
			}
			return show(e, n)
		})
	}
	return cmd
}

func show(e *env.Env, n notifications.Overview) error {
	if err := e.Printf("events  %s\nquiet   %s\nburst   %d in a minute\n", events(n.Events), quiet(n), n.Burst); err != nil {
		return err
	}
	if err := table.Print(e, channels(n.Channels)); err != nil {
		return err
	}
	if len(n.Recent) == 0 {
		e.Talk("no notifications in the last %d days", maxListedAge/(24*time.Hour))
		return nil
	}
	return table.Print(e, records(n.Recent, e.Now()))
}

func events(kinds []notify.Kind) string {
	if len(kinds) == 0 {
		return "none: no notifications are sent"
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

func quiet(n notifications.Overview) string {
	switch {
	case n.Quiet == "":
		return "never"
	case n.QuietQuestions:
		return n.Quiet + ", for questions too"
	}
	return n.Quiet + ", but not for questions"
}

func channels(list []notifications.Channel) [][]table.Cell {
	rows := [][]table.Cell{table.Row("Channel", "State", "Where")}
	for _, c := range list {
		mark, where := table.Cell{Text: "✓ on", Style: display.Green}, c.Where
		switch {
		case c.Problem != "":
			mark, where = table.Cell{Text: "✗ broken", Style: display.Red}, c.Problem
		case !c.On:
			mark, where = table.Cell{Text: "○ off", Style: display.Faint}, c.Off
		}
		rows = append(rows, []table.Cell{{Text: c.Name}, mark, {Text: phrase.Line(where)}})
	}
	return rows
}

func records(list []notify.Record, now time.Time) [][]table.Cell {
	rows := [][]table.Cell{table.Row("When", "Channel", "State", "What")}
	for _, r := range list {
		state := table.Cell{Text: string(r.State)}
		if r.State == notify.GivenUp {
			state.Style = display.Red
		}
		what := phrase.Line(r.Note.Title)
		if r.Why != "" {
			what = fmt.Sprintf("%s (%s)", what, phrase.Line(r.Why))
		}
		rows = append(rows, []table.Cell{{Text: phrase.Clock(r.Queued, now)}, {Text: r.Channel}, state, {Text: what}})
	}
	return rows
}
