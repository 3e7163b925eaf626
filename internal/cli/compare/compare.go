// Package compare implements the command 'gaffer compare'. If several agents did the same task, it
// shows their results side by side.
package compare

import (
	"context"
	"errors"
	"fmt"
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

// New creates the command 'gaffer compare'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare TASK",
		Short: "Compare the results of agents that did the same task",
		Long: `Show the candidates of a task side by side: their checks, the size of their
change, cost and time. TASK is the task or one of its candidates.

'gaffer pick TASK CANDIDATE' takes one of them.`,
		Example:           "  gaffer compare api\n  gaffer compare abc1/api --json | jq '.candidates[] | {task, passed, added}'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return len(t.Candidates) > 0 }),
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			c, err := Find(cmd.Context(), f, args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(c)
			}
			return show(e, c)
		})
	}
	return cmd
}

// Find compares the candidates of a task: the results of several agents for the same task. name is
// the name of that task or of one of its candidates.
func Find(ctx context.Context, f openfleet.Fleet, name string) (fleet.Comparison, error) {
	found, err := f.FindTask(ctx, name)
	if err != nil {
		return fleet.Comparison{}, err
	}
	r, err := f.Run(ctx, found.Run)
	if err != nil {
		return fleet.Comparison{}, err
	}
	c, ok := r.Compare(found.ID)
	if !ok {
		err = exit.WithHint(exit.NotFound(fmt.Errorf("task %s has no candidates", display.Printable(found.ID))),
			"'candidates' in a plan's task, or 'gaffer run --best-of N', let several agents do it")
	}
	return c, err
}

func show(e *env.Env, c fleet.Comparison) error {
	rows := [][]table.Cell{{{Text: "Candidate", Keep: true}, {Text: "State", Keep: true}, {Text: "Checks"}, {Text: "Changed"}, {Text: "Cost", Drop: 2}, {Text: "Time", Drop: 3}, {Text: "Agent", Drop: 1}}}
	for _, one := range c.Candidates {
		state, style := phrase.Label(one.Status), phrase.Style(one.Status)
		if one.Picked {
			state, style = "✓ Picked", display.Green
		}
		checks, cost, took := "", phrase.Money(one.Spent.USD), ""
		if one.Checks > 0 {
			checks = fmt.Sprintf("%d of %d passed", one.Passed, one.Checks)
		}
		if one.WorkedMS > 0 {
			took = phrase.Elapsed(time.Duration(one.WorkedMS) * time.Millisecond)
		}
		row := table.Row(one.Task, state, checks, fmt.Sprintf("+%d −%d in %s", one.Added, one.Removed, phrase.Count(one.Files, "file")), cost, took, display.Line(one.Agent+" "+one.Model, 40))
		row[1].Style = style
		rows = append(rows, row)
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	task := display.Printable(c.Task)
	switch {
	case c.Picked != "":
		e.Talk("%s is picked: %s", display.Printable(c.Picked), phrase.Line(c.Why))
	case c.Question != nil:
		e.Talk("'gaffer pick %s CANDIDATE' takes one of them", task)
	case c.Status == fleet.Failed:
		e.Talk("%s has picked none; 'gaffer logs %s' says why, 'gaffer retry %s' tries again", task, task, task)
	case !c.Status.Final():
		e.Talk("%s picks when all candidates have ended", task)
	default:
		return errors.New("task " + task + " is " + string(c.Status) + " and has picked none")
	}
	return nil
}
