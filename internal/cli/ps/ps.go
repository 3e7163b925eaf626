// Package ps implements the command 'gaffer ps': it lists the running agents.
package ps

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer ps'.
func New(e *env.Env) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List what runs now: agents, what they do, who waits",
		Long: `List the running agents, in this project or in all: what each does, since when,
and the source of that information. Agents that you started by hand are included.
Then come open questions, paused lanes, and runs that no gaffer works on.

With --json each run is an element of the list. Agents that were started by hand
are in one more element, which has "agents" and no tasks.`,
		Example: "  gaffer ps\n  gaffer ps --all\n  gaffer ps --json | jq '.[].tasks[] | select(.question)'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all projects")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			runs, err := f.Runs(cmd.Context(), all, false)
			if err != nil {
				return err
			}
			byHand, err := openfleet.ByHand(cmd.Context(), e, f, all)
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(document(runs, byHand))
			}
			questions, err := openfleet.Questions(cmd.Context(), f, byHand)
			if err != nil {
				return err
			}
			return show(e, listing{runs: runs, byHand: byHand, questions: onlyShown(questions, runs, byHand), all: all, remote: f.Where() != ""})
		})
	}
	return cmd
}

// listing holds the data to print.
type listing struct {
	runs      []fleet.Run
	byHand    []fleet.Worker // agents that users have started by hand
	questions []openfleet.Asked
	all       bool // list the agents of all projects
	remote    bool // the runs are on a server
}

// document returns the value that --json prints.
func document(runs []fleet.Run, byHand []fleet.Worker) []any {
	list := []any{}
	for _, r := range runs {
		list = append(list, r)
	}
	if len(byHand) > 0 {
		list = append(list, struct {
			Name   string         `json:"name"`
			Agents []fleet.Worker `json:"agents"`
			// Tasks is always empty. Every element has this key, so that a filter such as jq
			// '.[].tasks[]' works.
			Tasks []fleet.Task `json:"tasks"`
		}{byHandName, byHand, []fleet.Task{}})
	}
	return list
}

// byHandName is shown instead of a run's name for agents that users have started by hand.
const byHandName = "by hand"

// onlyShown returns only those questions that come from a task of the given runs, or from one of
// the agents in the parameter byHand.
func onlyShown(questions []openfleet.Asked, runs []fleet.Run, byHand []fleet.Worker) []openfleet.Asked {
	shown := map[string]bool{}
	for _, w := range byHand {
		shown[w.Name] = true
	}
	for _, r := range runs {
		for _, t := range r.Tasks {
			shown[fleet.QuestionName(r.ID, t.ID)] = true
		}
	}
	return slices.DeleteFunc(questions, func(a openfleet.Asked) bool { return !shown[a.Name] })
}

func show(e *env.Env, p listing) error {
	now := e.Now()
	if rows := rows(p, now); len(rows) > 1 {
		if err := table.Print(e, rows); err != nil {
			return err
		}
	} else {
		e.Talk("no agent runs")
	}
	return table.Lines(e, nil, remarks(p, now)...)
}

// rows returns a table: a heading, and a row for each task that is running or waits for its next
// attempt, and for each agent started by hand. If the runs are on a server, a row shows the worker
// or the machine instead of the process id.
func rows(p listing, now time.Time) [][]table.Cell {
	head := []table.Cell{
		{Text: "Run", Keep: true},
		{Text: "Task", Least: 20},
		{Text: "PID", Keep: true, Drop: 1},
		{Text: "Attempt", Drop: 2},
		{Text: "Time", Keep: true, Drop: 5},
		{Text: "Cost", Keep: true, Drop: 3},
		{Text: "State", Least: 24},
	}
	if p.remote {
		head[2] = table.Cell{Text: "Worker", Drop: 4}
	}
	if p.all {
		head = append([]table.Cell{{Text: "Project", Drop: 4}}, head...)
	}
	rows := [][]table.Cell{head}
	for _, r := range p.runs {
		for _, t := range r.Tasks {
			if t.Status != fleet.Running && (t.Status != fleet.Queued || t.RetryAt.IsZero()) {
				continue
			}
			row := row(r, t, now, p.remote)
			if p.all {
				row = append([]table.Cell{{Text: r.Project, Short: filepath.Base(r.Project)}}, row...)
			}
			rows = append(rows, row)
		}
	}
	for _, w := range p.byHand {
		row := byHandRow(w, now, p.remote)
		if p.all {
			row = append([]table.Cell{{Text: w.Dir, Short: filepath.Base(w.Dir)}}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}

// byHandRow returns the table row of an agent started by hand. The cells for the attempt, the time
// and the cost are empty, because [fleet.Worker] has no such data.
func byHandRow(w fleet.Worker, now time.Time, remote bool) []table.Cell {
	where := w.Host
	if !remote && w.PID > 0 {
		where = fmt.Sprint(w.PID)
	}
	cells := table.Row(byHandName, w.Name, where, "", "", "", phrase.ByHand(w, now))
	if w.ClaudeStatus == "waiting" {
		cells[len(cells)-1].Style = display.Yellow
	}
	return cells
}

func row(r fleet.Run, t fleet.Task, now time.Time, remote bool) []table.Cell {
	where, number, took, cost := "", "", "", ""
	if a := t.Attempt; a != nil {
		switch {
		case remote:
			where = a.Worker
		case a.PID > 0 && t.Status == fleet.Running:
			where = fmt.Sprint(a.PID)
		}
		number, cost = fmt.Sprint(a.Number), phrase.Money(a.Spent.USD)
		if d, ok := phrase.WorkTime(a, now); ok {
			took = phrase.Elapsed(d)
		}
	}
	if try := phrase.AttemptNumber(t); try != "" {
		number = try
	}
	cells := table.Row(r.ID, t.ID, where, number, took, cost, phrase.State(t, now))
	cells[0].Short = fleet.ShortRun(r.ID)
	if phrase.Waiting(t) {
		cells[len(cells)-1].Style = display.Yellow
	}
	return cells
}

// remarks returns the lines below the table: the open questions, the paused agent accounts and
// reached cost limits, and the runs on which nobody works. On this machine, these are runs without
// a gaffer process. On a server, they are runs of which no worker has a task.
func remarks(p listing, now time.Time) (lines []string) {
	for _, a := range p.questions {
		lines = append(lines, a.Line())
	}
	seen := map[string]bool{}
	for _, r := range p.runs {
		for _, l := range r.Lanes {
			if !seen[l.Name] {
				seen[l.Name] = true
				lines = append(lines, phrase.Paused(l, now))
			}
		}
	}
	for _, r := range p.runs {
		switch {
		case p.remote && r.Counts.Running == 0:
			lines = append(lines, fmt.Sprintf("run %s: %s, and no worker has a task of it", r.ID, phrase.Counts(r.Counts)))
		case !p.remote && !r.Owner.Alive:
			lines = append(lines, fmt.Sprintf("run %s: no gaffer process works on it, %s; 'gaffer resume %s' continues it",
				r.ID, phrase.Counts(r.Counts), r.ID))
		}
	}
	return lines
}
