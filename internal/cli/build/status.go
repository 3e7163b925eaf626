package build

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/text/display"
	"gaffer/workflow"
)

func newStatus(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the progress of the build",
		Long:    "Show the chunks of the build in .fctry/state.json, how its context is doing, and what\nto do next.",
		Example: "  gaffer build status\n  gaffer build status --json | jq .health",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error { return status(cmd.Context(), e, a, *asJSON) })
	}
	return cmd
}

func status(ctx context.Context, e *env.Env, a *app.App, asJSON bool) error {
	f, err := a.Builds.Find(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return e.PrintJSON(map[string]any{
			"buildRun": f.Run, "resumable": f.Resumable, "health": f.Health, "run": f.Engine, "owner": f.Owner,
		})
	}
	if f.Run == nil {
		e.Talk("no build is under way")
		return nil
	}
	rows := [][]table.Cell{table.Row("Chunk", "Name", "Status", "Attempt", "Sections", "After")}
	for _, c := range f.Run.Chunks {
		rows = append(rows, row(c))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	for _, h := range f.Resume.Held {
		if err := e.Printf("%s\n", display.PrintableLines(h.Text())); err != nil {
			return err
		}
	}
	progress := f.Run.Progress()
	return e.Printf("%s: %s, %d/%d chunks%s\n", display.Printable(f.Run.RunID), display.Printable(string(f.Run.Status)), progress.Current, progress.Total, remark(f))
}

func row(c workflow.Chunk) []table.Cell {
	attempt := ""
	if c.Attempt > 0 {
		attempt = fmt.Sprint(c.Attempt)
	}
	after := make([]string, len(c.DependsOn))
	for i, id := range c.DependsOn {
		after[i] = string(id)
	}
	cells := table.Row(string(c.ID), display.Line(c.Name, 40), string(c.Status), attempt, display.Line(strings.Join(c.Sections, " "), 30), strings.Join(after, ", "))
	switch c.Status {
	case workflow.Completed:
		cells[2].Style = display.Green
	case workflow.Failed:
		cells[2].Style = display.Red
	case workflow.Active, workflow.Retrying:
		cells[2].Style = display.Yellow
	}
	return cells
}

// remark returns the last part of the status line of a build: how the agents' context is separated
// from earlier work, such as "standard context", the time of the last checkpoint, and the process
// that works on the build. If there is no such process, remark says how the user can continue the
// build, or why that is impossible.
func remark(f buildrun.Found) string {
	text := ", " + display.Printable(f.Health.Isolation) + " context"
	if f.Health.LastCheckpoint != "" {
		text += ", last checkpoint " + display.Printable(f.Health.LastCheckpoint)
	}
	switch {
	case f.Owner > 0:
		return text + fmt.Sprintf("; gaffer with pid %d works on it", f.Owner)
	case f.Resumable:
		return text + "; 'gaffer build resume' goes on"
	case f.Problem != nil:
		return text + "; " + display.Printable(f.Problem.Error())
	}
	return text
}
