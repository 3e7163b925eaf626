// Package status implements the command 'gaffer status': it shows a run's tasks as a
// table, or live.
package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer status'.
func New(e *env.Env) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Aliases: []string{"show"},
		Use:     "status [RUN]",
		Short:   "Show a run's tasks as a table, or live with --watch",
		Long: `Show the tasks of a run, the latest of this project unless another is named:
what each does now, since when that is known and who says so, or the last words
of its agent. Tasks that failed come first; 'gaffer logs TASK' has the rest.

--watch shows it until the run has ended, live in a terminal, where questions
are answered in place too, else one line for each change on stdout; the exit
code is then that of 'gaffer run'. With --json as well, each line is the whole
run as JSON. Ctrl-C leaves with exit code 130, and the run goes on.`,
		Example: `  gaffer status
  gaffer status --watch
  gaffer status abc1 --json | jq -r '.tasks[] | select(.status == "failed").id'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: openfleet.Runs(e, true),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it until it has ended")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return runview.WithFleet(ctx, e, func(v *runview.View) error {
			id, err := openfleet.FindRun(ctx, v.Fleet, append(args, "")[0], false)
			if err != nil {
				return err
			}
			if watch {
				return v.Watch(ctx, id, *asJSON)
			}
			r, err := v.Fleet.Run(ctx, id)
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(r)
			}
			return show(e, r, v.Changes(r), v.Fleet.Where() != "")
		})
	}
	return cmd
}

// show prints the tasks as a table, failed tasks first. If the run is on a server, the table has a
// column of workers.
func show(e *env.Env, r fleet.Run, changes fleet.Changes, remote bool) error {
	now := e.Now()
	table.Talk(e, "run %s, %s", display.Printable(r.ID), display.Line(r.Name, 60))
	head := []table.Cell{{Text: "Task", Least: 18}, {Text: "Name", Drop: 1, Least: 28}, {Text: "Status", Keep: true}, {Text: "Time", Keep: true, Drop: 3}, {Text: "Now", Least: 20}}
	named := slices.ContainsFunc(r.Tasks, func(t fleet.Task) bool { return t.Name != "" && t.Name != t.ID })
	if remote {
		head = append(head, table.Cell{Text: "Worker", Drop: 2})
	}
	if !named {
		head = slices.Delete(head, 1, 2)
	}
	rows := [][]table.Cell{head}
	for _, t := range phrase.FailedFirst(r.Tasks) {
		rows = append(rows, row(t, now, named, remote))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	lines := summary(r, now, remote)
	if text := phrase.Changes(changes); text != "" {
		if changes.First != "" {
			text += fmt.Sprintf("; 'gaffer review %s/%s' shows the first", r.ID, changes.First)
		}
		lines = append(lines, display.Printable(text))
	}
	return table.Lines(e, nil, lines...)
}

// row returns the table row of a task. The row contains the task's status, the duration of its last
// attempt, and details, such as what its agent does now or the end of the agent's summary.
func row(t fleet.Task, now time.Time, named, remote bool) []table.Cell {
	took := ""
	if d, ok := phrase.WorkTime(t.Attempt, now); ok {
		took = phrase.Elapsed(d)
	}
	state := strings.Trim(phrase.Detail(t, now)+", "+phrase.Summary(t), ", ")
	if try := phrase.AttemptNumber(t); try != "" {
		state = strings.TrimSuffix("attempt "+try+", "+state, ", ")
	}
	cells := []table.Cell{{Text: t.ID}}
	if named {
		name := display.Line(t.Name, 40)
		if t.Name == t.ID {
			name = ""
		}
		cells = append(cells, table.Cell{Text: name})
	}
	style := phrase.Style(t.Status)
	if phrase.Waiting(t) {
		style = display.Yellow
	}
	cells = append(cells, table.Cell{Text: phrase.TaskLabel(t), Style: style}, table.Cell{Text: took}, table.Cell{Text: phrase.Line(state)})
	if remote {
		worker := ""
		if t.Attempt != nil {
			worker = t.Attempt.Worker
		}
		cells = append(cells, table.Cell{Text: worker})
	}
	return cells
}

// summary returns a line such as "Running: 2 complete, 1 queued; $0.42", and lines about what needs
// the user's attention.
func summary(r fleet.Run, now time.Time, remote bool) []string {
	word := string(r.Status)
	first := strings.ToUpper(word[:1]) + word[1:] + ": " + phrase.RunCounts(r)
	if spent := phrase.Spent(r.Spent); spent != "" {
		first += "; " + spent
	}
	lines := []string{first}
	for _, l := range r.Lanes {
		lines = append(lines, phrase.Paused(l, now))
	}
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			lines = append(lines, phrase.QuestionLine(*t.Question))
		}
	}
	if !r.Status.Final() && !r.Owner.Alive && !remote {
		lines = append(lines, fmt.Sprintf("no gaffer process works on this run; 'gaffer resume %s' continues it", r.ID))
	}
	return lines
}
