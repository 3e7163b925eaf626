// Package ps is the command 'gaffer ps': what runs now.
package ps

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/open"
	"gaffer/internal/cli/table"
	"gaffer/internal/tui/phrase"
)

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List what runs now: agents, what they do, who waits",
		Long: `List the agents that run now, in this project or in all: what each does, since
when and who says so; then paused lanes, and runs that nobody looks after.`,
		Example: "  gaffer ps\n  gaffer ps --all\n  gaffer ps --json | jq '.[].tasks[] | select(.question)'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all projects")
	open.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return open.WithFleet(cmd.Context(), e, func(f open.Fleet) error {
			runs, err := f.Runs(cmd.Context(), all, false)
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(append([]fleet.Run{}, runs...))
			}
			return show(e, runs, all, f.Where() != "")
		})
	}
	return cmd
}

func show(e *env.Env, runs []fleet.Run, all, far bool) error {
	now := e.Now()
	if rows := rows(runs, now, all, far); len(rows) > 1 {
		if err := table.Print(e, rows); err != nil {
			return err
		}
	} else {
		e.Talk("no agent runs")
	}
	return table.Lines(e, nil, remarks(runs, now, far)...)
}

// rows has a row for each task that runs or waits for its next attempt.
// Of a server it has the workers and not the processes, which are theirs.
func rows(runs []fleet.Run, now time.Time, all, far bool) [][]table.Cell {
	head, where := []table.Cell{
		{Text: "Run", Keep: true}, {Text: "Task", Least: 20}, {Text: "PID", Keep: true, Drop: 1}, {Text: "Attempt", Drop: 2},
		{Text: "Time", Keep: true, Drop: 5}, {Text: "Cost", Keep: true, Drop: 3}, {Text: "State", Least: 24},
	}, pidOf
	if far {
		head[2], where = table.Cell{Text: "Worker", Drop: 4}, workerOf
	}
	if all {
		head = append([]table.Cell{{Text: "Project", Drop: 4}}, head...)
	}
	rows := [][]table.Cell{head}
	for _, r := range runs {
		for _, t := range r.Tasks {
			if t.Status != fleet.Running && (t.Status != fleet.Queued || t.RetryAt.IsZero()) {
				continue
			}
			row := row(r, t, now, where(t))
			if all {
				row = append([]table.Cell{{Text: r.Project, Short: filepath.Base(r.Project)}}, row...)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func pidOf(t fleet.Task) string {
	if t.Attempt == nil || t.Attempt.PID <= 0 || t.Status != fleet.Running {
		return ""
	}
	return fmt.Sprint(t.Attempt.PID)
}

func workerOf(t fleet.Task) string {
	if t.Attempt == nil {
		return ""
	}
	return t.Attempt.Worker
}

func row(r fleet.Run, t fleet.Task, now time.Time, where string) []table.Cell {
	number, took, cost := "", "", ""
	if a := t.Attempt; a != nil {
		number, cost = fmt.Sprint(a.Number), phrase.Money(a.Spent.USD)
		if d, ok := phrase.Took(a, now); ok {
			took = phrase.Elapsed(d)
		}
	}
	if try := phrase.Try(t); try != "" {
		number = try
	}
	cells := table.Row(r.ID, t.ID, where, number, took, cost, phrase.State(t, now))
	cells[0].Short = open.ShortID(r.ID)
	if phrase.Waiting(t) {
		cells[len(cells)-1].Style = env.Yellow
	}
	return cells
}

// remarks are the lanes that are paused and the runs that need somebody.
func remarks(runs []fleet.Run, now time.Time, far bool) (lines []string) {
	seen := map[string]bool{}
	for _, r := range runs {
		for _, l := range r.Lanes {
			if !seen[l.Name] {
				seen[l.Name] = true
				lines = append(lines, phrase.Paused(l, now))
			}
		}
	}
	for _, r := range runs {
		switch {
		case far && r.Counts.Running == 0:
			lines = append(lines, fmt.Sprintf("run %s: %s, and no worker has a task of it", r.ID, phrase.Counts(r.Counts)))
		case !far && !r.Owner.Alive:
			lines = append(lines, fmt.Sprintf("run %s: nobody looks after it, %s; 'gaffer resume %s' takes it up",
				r.ID, phrase.Counts(r.Counts), r.ID))
		}
	}
	return lines
}
