// Package run implements the command 'gaffer run': it creates a run from a plan and
// works on it until the run ends.
package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile/host"
)

const long = `Run the agents of a plan, and show them until they end. PLAN is a file, a
folder, ids or files with commas between them, or the text of a prompt, as for
'gaffer plan check'. Several plans are one run; what may start first in each starts together.

In a terminal the view is live. A question is answered in place: type a number
or text and Enter; d denies. Ctrl-C takes no more work and offers to detach, to
cancel or to go on; again, it cancels the run and waits for the agents to end;
once more, it leaves at once.

Without a terminal each change is a line on stderr. SIGINT and SIGTERM cancel
the run and wait for its agents to end, and the exit code is 130; the second
one leaves at once. SIGHUP leaves the run to a gaffer in the background.

The exit code is 0 if every task is complete, 1 if one failed or was cancelled,
3 if a program, a login, git or a branch is missing on this machine, 5 if the
plan is not valid: then all problems are told, nothing is created, nothing runs. Whatever happens to
gaffer, agents go on, and 'gaffer resume' takes them up again.

With --open the run is shown in the browser, too: by this process, to browsers of
this machine that have the link, until 10 seconds after its end.

With --server the plan is read here and run by the server's workers. Ctrl-C then
offers to leave it to them, which SIGINT and SIGTERM do at once, or to cancel it.

--agent and --model are for tasks that name none. --verify is done after the
checks that the plan has. The other flags stand over what the plan says.`

// options holds the values of the command's flags.
type options struct {
	load   plan.Options
	format string
	over   overrides
	on     string
	detach bool
	open   *bool
	json   *bool
}

// New creates the command.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "run PLAN…",
		DisableFlagsInUseLine: true,
		Short:                 "Run a plan's agents, and show them until they end",
		Long:                  long,
		Example: `  gaffer run plan.yaml
  gaffer run prompts/*.md --agent claude --parallel 3 --verify 'go test ./...'
  gaffer run "Add GET /health and cover it with a test" --agent codex --worktree
  gaffer run "Add GET /health" --agent claude,codex,claude:opus --best-of 3 --verify 'go test ./...'
  id=$(gaffer run plan.yaml --detach) && gaffer status --watch $id
  gaffer run plan.yaml --open
  gaffer run plan.yaml --json | jq .counts
  gaffer run plan.yaml --server https://build.example:4870`,
		Args: cobra.MinimumNArgs(1),
	}
	o.flags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.over.check(); err != nil {
			return exit.Usage(err)
		}
		c, err := e.Config()
		if err != nil {
			return err
		}
		o.load.Agents = slices.Sorted(maps.Keys(c.Agents()))
		if err := o.over.checkAgent(o.load.Agents); err != nil {
			return exit.Usage(err)
		}
		return run(cmd.Context(), e, args, o)
	}
	return cmd
}

func run(ctx context.Context, e *env.Env, args []string, o options) error {
	p, err := loadPlans(e, args, o)
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		return runview.Refuse(e, planNames(args), problems, *o.json)
	}
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		warn(e, display.Printable(w.String()))
	}
	if p.Format == plan.Beads {
		return exit.Usage(fmt.Errorf("beads are dispatched: 'gaffer dispatch --from %s'", args[0]))
	}
	if len(p.Tasks) == 0 {
		return runview.NothingLeft(e, p, *o.json)
	}
	far, err := connect.UsesServer(e)
	if err != nil {
		return err
	}
	if !far { // unknown for a server, whose workers run the programs
		err := runview.CheckReady(ctx, e, planNames(args), *o.json, func(ctx context.Context, opts app.Options) ([]preflight.Problem, error) {
			return app.Preflight(ctx, opts, p)
		})
		if err != nil {
			return err
		}
	}
	return runview.WithFleet(ctx, e, func(t *runview.View) error { return submit(ctx, e, t, p, o) })
}

func submit(ctx context.Context, e *env.Env, t *runview.View, p plan.Plan, o options) error {
	t.Show = *o.open
	if err := runview.CheckFlags(e, t.Show, o.detach, t.Fleet.Where() != ""); err != nil {
		return err
	}
	id, warnings, err := connect.Submit(ctx, e, t.Fleet, p, o.on)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		warn(e, w)
	}
	if o.detach {
		return t.Detach(ctx, id, *o.json)
	}
	return t.Work(ctx, id, *o.json)
}

func warn(e *env.Env, text string) {
	e.Talk("%s: %s", e.Paint(e.Err, display.Yellow, "warning"), text)
}

// loadPlans reads all plans before anything runs, and combines them into one.
func loadPlans(e *env.Env, args []string, o options) (plan.Plan, error) {
	root, err := e.Project()
	if err != nil {
		return plan.Plan{}, err
	}
	o.load.Dir, o.load.Root, o.load.Format = e.Dir, root.Root, plan.Format(o.format)
	var plans []plan.Plan
	var problems plan.Problems
	for _, arg := range args {
		p, err := plan.Load(host.OS(), arg, o.load)
		if found, ok := errors.AsType[plan.Problems](err); ok {
			problems = append(problems, found...)
		} else if err != nil {
			return plan.Plan{}, err
		}
		plans = append(plans, p)
	}
	if len(problems) > 0 {
		return plan.Plan{}, problems
	}
	whole, err := combine(plans)
	if err != nil {
		return plan.Plan{}, err
	}
	whole.Warnings = append(whole.Warnings[:len(whole.Warnings):len(whole.Warnings)], o.over.unusedFlagWarnings(whole.Tasks)...)
	return o.over.apply(whole)
}

// planNames returns the name of the plans for an error message.
func planNames(args []string) string {
	if len(args) > 1 {
		return phrase.Count(len(args), "plan")
	}
	return args[0]
}
