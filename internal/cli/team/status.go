package team

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/open"
	"gaffer/team"
)

func statusCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"show"},
		Short:   "Show the groups by status, who runs, and what was decided last",
		Long: `Show where the session stands: its phase, its groups by status with who works
on them, what was decided last, the messages that nobody has read, and what a
person should do. The columns DEV, QA and REVIEW count starts against their
limit; '!' marks a counter that has reached it.`,
		Example: "  gaffer team status\n  gaffer team status --json | jq '.groups.A.status'",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return open.With(cmd.Context(), e, func(a *app.App) error { return status(cmd.Context(), e, a, *asJSON) })
	}
	return cmd
}

func status(ctx context.Context, e *env.Env, a *app.App, asJSON bool) error {
	s, err := openTeam(e)
	if err != nil {
		return err
	}
	snap, err := s.Resume(ctx)
	if err != nil {
		return err
	}
	found, err := a.FindTeam(ctx, snap.SessionID())
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(e, snap, found)
	}
	if err := board(e, snap); err != nil {
		return err
	}
	return printNext(e, snap, found)
}

// printJSON prints the documents' own words, and the run that they are of.
func printJSON(e *env.Env, snap team.Snapshot, f app.TeamFound) error {
	text, err := json.Marshal(snap)
	if err != nil {
		return err
	}
	whole := map[string]any{}
	if err := json.Unmarshal(text, &whole); err != nil {
		return err
	}
	if f.Run != "" {
		whole["run"] = map[string]any{"id": f.Run, "status": f.Status, "owner": f.Owner}
	}
	return e.PrintJSON(whole)
}

// printNext says what a person can do now.
func printNext(e *env.Env, snap team.Snapshot, f app.TeamFound) error {
	switch {
	case f.Owner > 0:
		return e.Printf("\ngaffer with pid %d works on it: 'gaffer status --watch %s' shows the agents\n", f.Owner, f.Run)
	case snap.Orchestrator.Status == team.SessionCompleted:
		return e.Printf("\nIt is done: what was approved is on branch %s\n", env.Printable(f.Branch))
	case f.Run != "" || snap.Orchestrator.TotalSpawns == 0:
		return e.Printf("\nNobody works on it: 'gaffer team resume' goes on\n")
	}
	return e.Printf("\nAnother program runs it\n")
}
