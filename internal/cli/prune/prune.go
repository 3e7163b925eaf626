// Package prune implements the command 'gaffer prune': it deletes old data, such as the data of
// runs that ended long ago.
package prune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/app/retention"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// options holds the values of the command's flags.
type options struct {
	older  env.Age
	keep   int
	dryRun bool
	yes    bool
	json   *bool
}

// New creates the command 'gaffer prune'.
func New(e *env.Env) *cobra.Command {
	o := options{older: env.Age(30 * 24 * time.Hour)}
	cmd := &cobra.Command{
		Use:                   "prune [--older AGE] [--keep N] [--dry-run] [--yes]",
		DisableFlagsInUseLine: true,
		Short:                 "Delete what ended long ago",
		Long: `Delete from the database what ended more than 30 days ago, in all projects: runs
with their tasks, attempts, questions, logs and events, ended tasks of channels,
inputs and notes, workers without a recent heartbeat, and on this machine the
folders of those runs' attempts. Answers to idempotency keys are deleted after a
day. Documents and records of projects stay unchanged.

What has not ended is never deleted, nor is a run that a gaffer works on or that
has a living process, nor the latest team and the latest build of a project that
can still be resumed.

The command asks first. Without a terminal it needs --yes. It may be interrupted
at any time; the next prune finishes it. Other commands can work at the same time.
'gaffer serve --keep AGE' does the same every hour.`,
		Example: "  gaffer prune --dry-run\n  gaffer prune --older 90d --keep 20\n  gaffer prune --older 12h --yes --json",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&o.older, "older", "how long ago it ended, such as 30d, 12h or 90m")
	flags.IntVar(&o.keep, "keep", 0, "let the last `N` runs of each project stay, however old")
	flags.BoolVar(&o.dryRun, "dry-run", false, "delete nothing, only show what would be deleted")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	o.json = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, o) }
	return cmd
}

func run(ctx context.Context, e *env.Env, o options) error {
	switch {
	case o.keep < 0:
		return exit.Usage(fmt.Errorf("--keep %d: want 0 or more", o.keep))
	case !o.dryRun && !o.yes && !e.Interactive():
		return exit.WithHint(exit.Usage(errors.New("there is no terminal to ask whether it may be deleted")),
			"--yes deletes without asking, --dry-run shows what would be deleted")
	}
	if !o.dryRun {
		if err := e.RefuseAgents("gaffer prune"); err != nil {
			return err
		}
	}
	return openfleet.WithApp(ctx, e, func(a *app.App) error {
		p, err := a.Pruner.Find(ctx, retention.Policy{OlderThan: time.Duration(o.older), KeepLatest: o.keep})
		if err != nil {
			return err
		}
		take := !o.dryRun && !p.Nothing()
		if take && !o.yes {
			take, err = confirm(ctx, e, p.Pruned)
		}
		if err != nil {
			return err
		}
		if !take {
			return show(e, p.Pruned, *o.json)
		}
		done, err := p.Delete(ctx)
		return errors.Join(show(e, done, *o.json), err)
	})
}

// confirm prints how much data would be deleted, and asks the user whether to delete it.
func confirm(ctx context.Context, e *env.Env, p retention.Pruned) (bool, error) {
	for _, row := range deletedCounts(p) {
		e.Talk("%s", strings.Join(row, "  "))
	}
	return e.Confirm(ctx, "Delete it?")
}

func show(e *env.Env, p retention.Pruned, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(p)
	}
	for _, s := range p.Spared {
		e.Talk("kept %s: %s", display.Printable(s.Run), display.Printable(s.Why))
	}
	if p.Kept > 0 {
		e.Talk("kept %s, the last of each project", phrase.Count(p.Kept, "run"))
	}
	if p.Nothing() {
		e.Talk("nothing ended before %s", formatTime(p.Before))
		return nil
	}
	if err := table.Texts(e, deletedCounts(p)); err != nil {
		return err
	}
	if p.FreeBytes >= worthShrinking {
		e.Talk("%s has %s, of which %s are free for what comes next; 'gaffer backup' and 'gaffer restore' make it small",
			display.Printable(p.File), display.Bytes(p.FileBytes), display.Bytes(p.FreeBytes))
	}
	return nil
}

// worthShrinking is the minimum number of free bytes in the database file at which the command
// tells the user how to shrink the file.
const worthShrinking = 1 << 20

// deletedCounts returns a heading, and a row for each kind of data that was deleted or would be
// deleted.
func deletedCounts(p retention.Pruned) [][]string {
	verb := "would go"
	if p.Taken {
		verb = "gone"
	}
	rows := [][]string{{strings.ToUpper(verb), "FROM BEFORE " + formatTime(p.Before)}}
	for _, of := range []struct {
		kind string
		n    int
	}{
		{"run", p.Runs},
		{"task", p.Tasks},
		{"attempt", p.Attempts},
		{"question", p.Questions},
		{"input", p.Inputs},
		{"note", p.Notes},
		{"idempotency record", p.Promises},
		{"worker", p.Workers},
		{"event", p.Events},
		{"folder", p.Folders},
	} {
		if of.n == 0 {
			continue
		}
		text := phrase.Count(of.n, of.kind)
		if of.kind == "run" && !p.Oldest.IsZero() {
			rows = append(rows, []string{text, fmt.Sprintf("ended %s to %s", formatTime(p.Oldest), formatTime(p.Newest))})
			continue
		}
		rows = append(rows, []string{text})
	}
	return rows
}

// formatTime formats a time in the local time zone.
func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
