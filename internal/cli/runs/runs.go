// Package runs implements the command 'gaffer runs': it lists the runs of a project, of
// all projects, or of a server.
package runs

import (
	"context"
	"fmt"
	"path/filepath"
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
	all    bool
	status []string
	name   string
	since  string
	limit  int
}

// waiting is the status that this command shows for a running run with an open question.
// [fleet.Run] has the status Running for such a run.
const waiting = "waiting"

// statuses returns the valid values of --status.
func statuses() []string {
	return []string{string(fleet.Running), waiting, string(fleet.Complete), string(fleet.Failed), string(fleet.Cancelled)}
}

// New creates the command 'gaffer runs'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "runs [--all] [--status STATUS] [--name TEXT] [--since WHEN] [-n N]",
		DisableFlagsInUseLine: true,
		Aliases:               []string{"list", "ls"},
		Short:                 "List runs, also those that have ended",
		Long: `List the runs of this project, the latest first: their tasks, when they began, how
long they took and what they cost. A run with a task that waits for the user is
"waiting". In every command, the last part of a run's id stands for the whole id.`,
		Example: `  gaffer runs
  gaffer runs --all --status failed,waiting --since 7d
  gaffer runs -n 0 --json | jq -r '.[] | select(.spent.usd > 1).id'`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all", "a", false, "of all projects")
	flags.StringSliceVar(&o.status, "status", nil, "only `STATUS`, or several: "+strings.Join(statuses(), ","))
	flags.StringVar(&o.name, "name", "", "only those with `TEXT` in their name")
	flags.StringVar(&o.since, "since", "", "only those that began since `WHEN`: 2h, 7d, 14:02 or 2026-02-11")
	flags.IntVarP(&o.limit, "limit", "n", 20, "the latest `N` of the last 1000 runs; 0 is all of those")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	// Ignore the error: the flag exists and has no completion function yet.
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		since, err := o.check(e.Now())
		if err != nil {
			return exit.Usage(err)
		}
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			list, asked, err := find(cmd.Context(), f, o, since)
			if err != nil {
				return err
			}
			shown := list
			if o.limit > 0 {
				shown = list[:min(len(list), o.limit)]
			}
			if *asJSON {
				return e.PrintJSON(append([]fleet.Run{}, shown...))
			}
			if len(shown) == 0 {
				e.Talk("no run%s", map[bool]string{true: " of that kind"}[o.filters()])
				return nil
			}
			if err := table.Print(e, rows(shown, asked, e.Now(), o.all)); err != nil {
				return err
			}
			if len(shown) < len(list) {
				e.Talk("these are the latest %d; -n 0 lists up to 1000", len(shown))
			}
			return nil
		})
	}
	return cmd
}

func (o options) filters() bool { return len(o.status) > 0 || o.name != "" || o.since != "" }

// check returns an error if a flag is not valid. It returns the parsed value of --since.
func (o options) check(now time.Time) (since time.Time, err error) {
	if o.limit < 0 {
		return since, fmt.Errorf("-n %d: want 0 or more", o.limit)
	}
	for _, s := range o.status {
		if !slices.Contains(statuses(), s) {
			err := fmt.Errorf("--status %q: want one of %s", s, strings.Join(statuses(), ", "))
			if near := suggest.Nearest(s, statuses()); near != "" {
				return since, exit.WithHint(err, fmt.Sprintf("did you mean %s?", near))
			}
			return since, err
		}
	}
	return env.Since(o.since, now)
}

// maxRead is the maximum number of runs that are read. A server returns no more in one answer.
const maxRead = 1000

// find returns the runs that match the flags, the latest first, and a map from the id of a run to
// the number of its open questions. It reads at most maxRead runs. With a limit and without
// filters, it reads only one run more than the limit, so that the caller sees whether there are
// more. The caller applies the limit.
func find(ctx context.Context, f openfleet.Fleet, o options, since time.Time) (list []fleet.Run, asked map[string]int, err error) {
	limit := o.limit + 1
	if o.limit == 0 || o.filters() {
		limit = maxRead
	}
	if list, err = f.List(ctx, o.all, min(limit, maxRead)); err != nil {
		return nil, nil, err
	}
	questions, err := f.Questions(ctx)
	asked = map[string]int{}
	for _, q := range questions {
		asked[q.Run]++
	}
	return slices.DeleteFunc(list, func(r fleet.Run) bool {
		return r.Created.Before(since) || !strings.Contains(strings.ToLower(r.Name), strings.ToLower(o.name)) ||
			len(o.status) > 0 && !slices.Contains(o.status, statusOf(r, asked))
	}), asked, err
}

func statusOf(r fleet.Run, asked map[string]int) string {
	if r.Status == fleet.Running && asked[r.ID] > 0 {
		return waiting
	}
	return string(r.Status)
}

func rows(runs []fleet.Run, asked map[string]int, now time.Time, all bool) [][]table.Cell {
	head := []table.Cell{
		{Text: "Run", Keep: true},
		{Text: "Name"},
		{Text: "Status", Keep: true},
		{Text: "Tasks", Drop: 3},
		{Text: "Began", Keep: true, Drop: 4},
		{Text: "Time", Keep: true, Drop: 2},
		{Text: "Cost", Keep: true, Drop: 1},
	}
	if all {
		head = append([]table.Cell{{Text: "Project", Drop: 5}}, head...)
	}
	rows := [][]table.Cell{head}
	for _, r := range runs {
		end := now
		if !r.Ended.IsZero() {
			end = r.Ended
		}
		c := r.Counts
		label, style := phrase.Label(r.Status), phrase.Style(r.Status)
		if statusOf(r, asked) == waiting {
			label, style = phrase.WaitingLabel, display.Yellow
		}
		row := []table.Cell{
			{Text: r.ID, Short: fleet.ShortRun(r.ID)},
			{Text: display.Line(r.Name, 60)},
			{Text: label, Style: style},
			{Text: phrase.Counts(c), Short: fmt.Sprintf("%d/%d", c.Complete, c.Total)},
			{Text: phrase.Clock(r.Created, now)},
			{Text: phrase.Elapsed(max(end.Sub(r.Created), 0))},
			{Text: phrase.Money(r.Spent.USD)},
		}
		if all {
			row = append([]table.Cell{{Text: r.Project, Short: filepath.Base(r.Project)}}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}
