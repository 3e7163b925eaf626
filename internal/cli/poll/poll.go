// Package poll implements the command 'gaffer poll': it lists the attempts that are recorded as
// running, and checks whether their processes still exist.
package poll

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/record/pending"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer poll'.
func New(e *env.Env) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:                   "poll [--repair]",
		DisableFlagsInUseLine: true,
		Short:                 "List what the records say is running, and whether it is",
		Long: `List every attempt whose record says that it is running: what its agent does, or
that it is unattended (it runs, but no gaffer process manages it) or stale (none
of its processes is alive, for example after a reboot).

With --repair, the missing result of a stale attempt is written: how the agent
ended, if that is known, or lost. If the task may be retried, 'gaffer resume'
does so. Running agents are not affected.

The exit code is 1 if an attempt is stale and was not repaired, or if documents
could not be written.`,
		Example: "  gaffer poll\n  gaffer poll --repair\n  gaffer poll --json | jq '.[] | select(.state == \"stale\").bead'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "write the missing result of what is stale")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error { return poll(cmd.Context(), e, a, repair, *asJSON) })
	}
	return cmd
}

func poll(ctx context.Context, e *env.Env, a *app.App, repair, asJSON bool) error {
	list, unwritten := a.Beads.Poll(ctx, repair)
	if owed := (*pending.UnwrittenError)(nil); unwritten != nil && !errors.As(unwritten, &owed) {
		return unwritten
	}
	var err error
	if asJSON {
		err = e.PrintJSON(append([]beadrun.Polled{}, list...))
	} else {
		err = show(e, list)
	}
	if err != nil {
		return err
	}
	stale := 0
	for _, p := range list {
		if p.State == beadrun.Stale && p.Repaired == "" {
			stale++
		}
	}
	if stale == 0 {
		return unwritten
	}
	next := "'gaffer poll --repair' writes the missing results"
	if repair {
		next = "each line says why it could not be repaired"
	}
	return &exit.Error{Code: exit.CodeFailed, Err: fmt.Errorf("%s stale", phrase.Count(stale, "attempt")), Next: next}
}

func show(e *env.Env, list []beadrun.Polled) error {
	if len(list) == 0 {
		e.Talk("no record says that anything is running")
		return nil
	}
	rows := [][]table.Cell{table.Row("Bead", "Attempt", "Agent", "PID", "Time", "State", "Remark")}
	for _, p := range list {
		rows = append(rows, row(e, p))
	}
	return table.Print(e, rows)
}

func row(e *env.Env, p beadrun.Polled) []table.Cell {
	took, pid, state := "", "", p.State
	if !p.Started.IsZero() {
		took = phrase.Elapsed(max(e.Now().Sub(p.Started), 0))
	}
	if p.PID > 0 {
		pid = fmt.Sprint(p.PID)
	}
	style := display.Style("")
	switch {
	case p.Repaired != "":
		state = "now " + p.Repaired
	case p.State == beadrun.Stale:
		style = display.Red
	case p.State == beadrun.Unattended || p.State == "waiting":
		style = display.Yellow
	}
	cells := table.Row(p.Bead, fmt.Sprint(p.Attempt), p.Agent, pid, took, state, phrase.Line(p.Why))
	cells[5].Style = style
	return cells
}
