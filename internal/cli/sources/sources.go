// Package sources implements the command 'gaffer sources': it lists the sources of tasks, such as
// issue trackers, that 'gaffer serve' watches.
package sources

import (
	"context"
	"errors"
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

// New creates the command 'gaffer sources'.
func New(e *env.Env) *cobra.Command {
	var send bool
	cmd := &cobra.Command{
		Use:                   "sources [--send]",
		DisableFlagsInUseLine: true,
		Short:                 "List the sources of work that 'gaffer serve' watches",
		Long: `List the sources that 'gaffer serve' watches on this machine: when it has looked
at each, when it looks again, how many items it has taken, and what went wrong.
'gaffer run --from SOURCE' takes the items of a source once.

The section sources of your own gaffer.yaml names them:

  sources:
    shop:
      from: gh:ada/shop label:agent
      plan: night.yaml          # the defaults of the tasks, without tasks
      every: 10m
      project: /home/ada/shop   # without it, the project of 'gaffer serve'

A look takes only items that never had a task. After a failed look the next one
follows after a pause, and other sources are not affected.

The command also lists the ends of tasks that a source was not told yet. --send
tries that again at once.`,
		Example: "  gaffer sources\n  gaffer sources --send\n  gaffer sources --json | jq '.sources[] | select(.error != null)'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&send, "send", false, "tell the sources what they were not told yet")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error { return run(cmd.Context(), e, a, send, *asJSON) })
	}
	return cmd
}

func run(ctx context.Context, e *env.Env, a *app.App, send, asJSON bool) error {
	failed := 0
	if send {
		sent, left, err := a.Sources.SendReports(ctx, true)
		if err != nil {
			return err
		}
		if failed = left; !asJSON {
			e.Talk("%s sent, %d failed", phrase.Count(sent, "report"), left)
		}
	}
	list, err := a.Sources.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		err = e.PrintJSON(list)
	} else {
		err = show(e, list)
	}
	if err == nil && failed > 0 {
		err = errors.New("some reports were not sent")
	}
	return err
}

func show(e *env.Env, list fleet.Sources) error {
	now := e.Now()
	if len(list.Sources) == 0 {
		e.Talk("no source is watched; 'gaffer sources --help' says how to name one")
	} else {
		rows := [][]table.Cell{table.Row("NAME", "FROM", "LAST LOOK", "NEXT LOOK", "TAKEN", "LAST RUN", "ERROR")}
		for _, s := range list.Sources {
			row := table.Row(s.Name, s.From, ago(s.LastLook, now), in(s.NextLook, now), fmt.Sprint(s.Taken), s.LastRun, s.Error)
			row[6].Style = display.Red
			rows = append(rows, row)
		}
		if err := table.Print(e, rows); err != nil {
			return err
		}
	}
	for _, r := range list.Reports {
		why := r.Error
		if why == "" {
			why = "not sent yet"
		}
		if err := e.Printf("%s/%s: %s is not told that it is %s: %s\n", r.Run, display.Printable(r.Task), display.Printable(r.Source), r.Status, display.Printable(why)); err != nil {
			return err
		}
	}
	return nil
}

// ago returns a text such as "3m ago", or "" if t is zero.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return phrase.Elapsed(max(now.Sub(t), 0).Round(time.Second)) + " ago"
}

// in returns a text such as "in 3m". It returns "now" if the time t has come, and "" if t is zero.
func in(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case !t.After(now):
		return "now"
	}
	return "in " + phrase.Elapsed(t.Sub(now).Round(time.Second))
}
