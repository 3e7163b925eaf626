// Package status is the command 'gaffer status': a run's tasks as a table, or
// live.
package status

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/attend"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/open"
	"gaffer/internal/cli/table"
	"gaffer/internal/tui/phrase"
)

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show a run's tasks as a table, or live with --watch",
		Long: `Show the tasks of a run, the latest of this project unless another is named:
what each does now, since when that is known and who says so.

--watch shows it until the run has ended, live in a terminal, where questions
are answered in place too, else one line for each change on stdout; the exit
code is then that of 'gaffer run'. With --json as well, each line is the whole
run as JSON. Ctrl-C leaves with exit code 130, and the run goes on.`,
		Example: `  gaffer status
  gaffer status --watch
  gaffer status abc1 --json | jq -r '.tasks[] | select(.status == "failed").id'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: open.Runs(e, true),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it until it has ended")
	open.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return attend.WithFleet(ctx, e, func(t *attend.Attendant) error {
			id, err := open.FindRun(ctx, t.Fleet, append(args, "")[0], false)
			if err != nil {
				return err
			}
			if watch {
				return t.Watch(ctx, id, *asJSON)
			}
			r, err := t.Fleet.Run(ctx, id)
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(r)
			}
			return show(e, r, t.Fleet.Where() != "")
		})
	}
	return cmd
}

// show prints the table. Of a run that is far away it has the workers and not
// the paths of logs, which are theirs.
func show(e *env.Env, r fleet.Run, far bool) error {
	now := e.Now()
	e.Talk("run %s, %s", env.Printable(r.ID), env.Line(r.Name, 60))
	where, last := logOf(e.Dir), "Log"
	if far {
		where, last = workerOf, "Worker"
	}
	rows := [][]table.Cell{table.Row("#", "Task", "Status", "Time", "Now", last)}
	for _, t := range r.Tasks {
		rows = append(rows, row(t, now, where(t)))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	for _, line := range summary(r, now, far) {
		if err := e.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// row is a line of the table that users of sessions know, and what the task
// does now.
func row(t fleet.Task, now time.Time, last string) []table.Cell {
	name, took := t.Name, ""
	if name == "" {
		name = t.ID
	}
	if d, ok := phrase.Took(t.Attempt, now); ok {
		took = phrase.Elapsed(d)
	}
	state := phrase.Detail(t, now)
	if try := phrase.Try(t); try != "" {
		state = strings.TrimSuffix("attempt "+try+", "+state, ", ")
	}
	return []table.Cell{
		{Text: t.ID}, {Text: env.Line(name, 40)}, {Text: phrase.Label(t.Status), Style: style(t)}, {Text: took}, {Text: env.Line(state, 100)}, {Text: last},
	}
}

// logOf is where a task's log is, from dir.
func logOf(dir string) func(fleet.Task) string {
	return func(t fleet.Task) string {
		switch {
		case t.Attempt == nil || t.Attempt.Log == "":
			return ""
		case t.Status == fleet.Running:
			return "tail -f " + relative(dir, t.Attempt.Log)
		}
		return relative(dir, t.Attempt.Log)
	}
}

func workerOf(t fleet.Task) string {
	if t.Attempt == nil {
		return ""
	}
	return t.Attempt.Worker
}

func style(t fleet.Task) env.Style {
	switch t.Status {
	case fleet.Running:
		return env.Yellow
	case fleet.Complete:
		return env.Green
	case fleet.Failed:
		return env.Red
	}
	return env.Faint
}

// summary is such as "Running: 2 complete, 1 queued, $0.42", and what needs
// somebody.
func summary(r fleet.Run, now time.Time, far bool) []string {
	word := string(r.Status)
	first := strings.ToUpper(word[:1]) + word[1:] + ": " + phrase.Counts(r.Counts)
	if spent := phrase.Spent(r.Spent); spent != "" {
		first += "; " + spent
	}
	lines := []string{first}
	for _, l := range r.Lanes {
		lines = append(lines, phrase.Paused(l, now))
	}
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			lines = append(lines, fmt.Sprintf("%s asks: %s; 'gaffer answer %s'", env.Printable(t.ID), phrase.Line(t.Question.Text), env.Printable(t.ID)))
		}
	}
	if !r.Status.Final() && !r.Owner.Alive && !far {
		lines = append(lines, fmt.Sprintf("nobody looks after this run; 'gaffer resume %s' takes it up", r.ID))
	}
	return lines
}

// relative is path from dir, or path itself if it is not below.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
