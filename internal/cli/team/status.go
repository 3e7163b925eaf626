package team

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/flow/teamsession"
	"gaffer/team"
)

func statusCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"show"},
		Short:   "Show the groups by status, who runs, and what was decided last",
		Long: `Show the state of the session: its phase, its groups by status with the agents
that work on them, the latest decisions, the unread messages, and what you should
do next. The columns DEV, QA and REVIEW count starts against their limit; '!'
marks a counter that has reached it.`,
		Example: "  gaffer team status\n  gaffer team status --json | jq '.groups.A.status'",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error {
			v, err := look(cmd.Context(), e, a)
			switch {
			case err != nil:
				return withTeamHint(err)
			case *asJSON:
				return v.printJSON(e)
			}
			return v.print(e, view.head, view.groups, view.stuck, view.agents, view.decisions, view.unread, view.merged, view.outcome, view.next)
		})
	}
	return cmd
}

// view holds the documents of a team session, and its run.
type view struct {
	team.Snapshot
	run teamsession.Found
}

func look(ctx context.Context, e *env.Env, a *app.App) (v view, err error) {
	s, err := Open(e)
	if err != nil {
		return v, err
	}
	if v.Snapshot, err = s.Resume(ctx); err != nil {
		return v, err
	}
	v.run, err = a.Teams.Find(ctx, v.SessionID())
	return v, err
}

// printJSON prints the session's documents and its run as JSON.
func (v view) printJSON(e *env.Env) error {
	text, err := json.Marshal(v.Snapshot)
	if err != nil {
		return err
	}
	whole := map[string]any{}
	if err := json.Unmarshal(text, &whole); err != nil {
		return err
	}
	if f := v.run; f.Run != "" {
		whole["run"] = map[string]any{"id": f.Run, "status": f.Status, "owner": f.Owner, "branch": f.Branch}
	}
	if problem := v.problem(); problem != "" {
		whole["problem"] = problem
	}
	return e.PrintJSON(whole)
}
