// Package team implements the commands 'gaffer team …': they run a team of a project
// manager, developers, QA and a tech lead, and handle the messages between them.
package team

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/statefile"
	"gaffer/team"
)

const long = `Run a team of agents, from requirements to merged, tested and reviewed branches.
A project manager plans groups of tasks. Developers work on the groups, each in
its own worktree and branch. A QA expert tests and a tech lead reviews. Approved
work is merged and tested again. Agents remember nothing between two starts;
gaffer keeps the team's memory in the documents in coordination.

The status word in an agent's answer determines by fixed rules which role is
next. If a group makes no progress, the project manager splits it or the tech
lead helps. If that does not help either, the session stops and says what you
should do. The session is complete when the project manager says so and every
group is merged. Your own branch is changed only with --merge-into.

'gaffer team resume' continues after any interruption. Values that no flag sets
come from 'team' in gaffer.yaml: mode, developers, tests, iterations, roles.`

// New creates the command group 'gaffer team'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "team REQUIREMENTS | -f FILE",
		DisableFlagsInUseLine: true,
		Short:                 "A team: plan, develop, test, review and merge",
		Long:                  long,
		Example: `  gaffer team "Add password reset by mail, and rate limits on auth endpoints"
  gaffer team -f requirements.md --developers 3 --test 'go test ./...'
  gaffer team status
  watch -n 1 'jq .current_phase coordination/orchestrator_state.json'`,
		Args: cobra.ArbitraryArgs, // any number; checkWords reports invalid arguments
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "read the requirements from `FILE`, or - for stdin")
	cmd.Flags().BoolVar(&o.fresh, "new", false, "archive the existing session")
	o.flags(cmd)
	e.SandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.Flags().NFlag() == 0 {
			return cmd.Help()
		}
		if err := checkWords(cmd, args); err != nil {
			return err
		}
		return o.begin(cmd.Context(), e, args)
	}
	cmd.AddCommand(statusCommand(e), resumeCommand(e), initCommand(e), messageCommand(e), archiveCommand(e))
	return cmd
}

// begin starts a team session and executes it.
func (o options) begin(ctx context.Context, e *env.Env, args []string) error {
	requirements, err := readRequirements(ctx, e, o.file, args)
	if err != nil {
		return err
	}
	n, err := o.request(e)
	if err != nil {
		return err
	}
	n.Requirements = requirements
	err = runview.CheckReady(ctx, e, "team", *o.json, func(ctx context.Context, opts app.Options) ([]preflight.Problem, error) {
		problems, err := app.PreflightTeam(ctx, opts, n)
		for i, p := range problems {
			if p.Unwrap() != nil {
				problems[i].Next = exit.Hint(withTeamHint(p))
			}
		}
		return problems, err
	})
	if err != nil {
		return err
	}
	return runview.With(ctx, e, func(t *runview.View) error { return o.run(ctx, e, t, n) })
}

// Open returns the store of the project's team documents.
func Open(e *env.Env) (*team.Store, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	return team.Open(c.Path("paths.team"), team.Options{
		Now:         e.Now,
		LockTimeout: c.Duration("lock_timeout"),
		Notice:      func(n statefile.Notice) { e.Talk("gaffer: %s", display.Printable(n.Text)) },
	}), nil
}
