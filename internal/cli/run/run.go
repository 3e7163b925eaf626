// Package run implements the command 'gaffer run': it creates a run from a plan and executes the
// run until it ends.
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
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/cli/sourceplan"
	"gaffer/internal/cli/table"
	"gaffer/internal/engine"
	"gaffer/internal/exit"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile/host"
)

const long = `Run the agents of a plan, and show them until the run ends. PLAN is a file, a
folder, a comma-separated list of ids or files, or the text of a prompt, as for
'gaffer plan check'. Several plans become one run, and their first tasks start
together.

In a terminal the view is live. To answer a question, type a number or a text
and Enter; d denies. The first Ctrl-C starts no more tasks and asks whether to
detach, to cancel or to continue. The second cancels the run and waits for its
agents to end. The third exits at once.

Without a terminal each change is a line on stderr. SIGINT and SIGTERM cancel
the run and wait for its agents to end, and the exit code is 130. A second
signal exits at once. After SIGHUP, a gaffer process in the background continues
the run.

The exit code is 0 if every task is complete, 1 if one failed or was cancelled,
3 if a program, a login, git or a branch is missing on this machine, and 5 if
the plan is not valid. With 3 and 5 all problems are printed and nothing starts.
If gaffer is killed, its agents keep running, and 'gaffer resume' continues the
run.

With --open the run is also shown in the browser. This process serves the page,
to browsers of this machine that have the link, until 10 seconds after the run's
end.

With --from the tasks come from a source: issues of GitHub (gh:OWNER/REPO) or
GitLab (glab:OWNER/PROJECT), which gh and glab read, with #12 or label:NAME
behind it; beads (the project's bead file) or beads:FILE; inbox; FILE.csv or
FILE.jsonl. PLAN then has the defaults of the tasks. An item that has an
unfinished or a complete task in any run is left out.

With --server the plan is read here and the server's workers run it. Ctrl-C then
asks whether to leave the run to them or to cancel it. SIGINT and SIGTERM leave
it to them.

--agent and --model are for tasks that name none. --verify adds to the checks of
the plan. All other flags override the plan.`

// options holds the values of the command's flags.
type options struct {
	load   plan.Options
	format string
	over   newrun.Overrides
	source sourceplan.Flags
	dryRun bool
	on     string
	detach bool
	open   *bool
	json   *bool
}

// New creates the command 'gaffer run'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "run PLAN… | run --from SOURCE [PLAN]",
		DisableFlagsInUseLine: true,
		Short:                 "Run a plan's agents, and show them until they end",
		Long:                  long,
		Example: `  gaffer run plan.yaml
  gaffer run prompts/*.md --agent claude --parallel 3 --verify 'go test ./...'
  gaffer run "Add GET /health and cover it with a test" --agent codex --worktree
  gaffer run "Add GET /health" --agent claude,codex,claude:opus --best-of 3 --verify 'go test ./...'
  id=$(gaffer run plan.yaml --detach) && gaffer status --watch $id
  gaffer run plan.yaml --questions rules --detach
  gaffer run plan.yaml --open
  gaffer run plan.yaml --json | jq .counts
  gaffer run --from 'gh:ada/shop label:agent' night.yaml --limit 5 --report comment
  gaffer run --from tasks.csv --agent claude --dry-run
  gaffer run plan.yaml --server https://build.example:4870`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.source.From != "" {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
	}
	o.flags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.dryRun && o.source.From == "" {
			return exit.WithHint(exit.Usage(errors.New("--dry-run needs --from, the source of the items")), "'gaffer plan check PLAN' shows what a plan would run")
		}
		if err := o.check(e, args); err != nil {
			return err
		}
		return run(cmd.Context(), e, args, o)
	}
	return cmd
}

// check returns an error if a flag is not valid, or if --from is used with more than one plan. It
// also stores the names of the configured agents in o.load.
func (o *options) check(e *env.Env, plans []string) error {
	if err := o.over.Check(); err != nil {
		return exit.Usage(err)
	}
	if err := o.source.Check(plans); err != nil {
		return err
	}
	c, err := e.Config()
	if err != nil {
		return err
	}
	o.load.Agents = slices.Sorted(maps.Keys(c.Agents()))
	if err := o.over.CheckAgent(o.load.Agents); err != nil {
		return exit.Usage(err)
	}
	return nil
}

func run(ctx context.Context, e *env.Env, args []string, o options) error {
	var name string // name of the plan, for messages
	var p plan.Plan
	var made app.SourcePlan
	var err error
	if o.source.From != "" {
		name = o.source.From
		made, err = o.source.Load(ctx, e, args)
		if err == nil && len(made.Tasks) > 0 {
			p, err = o.applyTo(made.Plan)
		}
	} else {
		name = planNames(args)
		p, err = loadPlans(e, args, o)
	}
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		return runview.Refuse(e, name, problems, *o.json)
	}
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		warn(e, display.Printable(w.String()))
	}
	switch {
	case o.source.From == "":
	case len(p.Tasks) == 0:
		return nothingToTake(e, made, *o.json)
	default:
		if text := sourceplan.LeftOut(made); text != "" {
			e.Talk("%s", text)
		}
		if o.dryRun {
			return printItems(e, p, *o.json)
		}
	}
	if p.Format == plan.Beads {
		return errBeads(args)
	}
	if len(p.Tasks) == 0 {
		return runview.NothingLeft(e, p, *o.json)
	}
	far, err := openfleet.UsesServer(e)
	if err != nil {
		return err
	}
	// Check the programs only if the plan runs on this machine. The programs of a server's workers
	// are unknown here.
	if !far {
		err := runview.CheckReady(ctx, e, name, *o.json, func(ctx context.Context, opts app.Options) ([]preflight.Problem, error) {
			return app.Preflight(ctx, opts, p)
		})
		if err != nil {
			return err
		}
	}
	return runview.WithFleet(ctx, e, func(t *runview.View) error { return submit(ctx, e, t, p, o) })
}

func errBeads(args []string) error {
	return exit.Usage(fmt.Errorf("beads are dispatched: 'gaffer dispatch --from %s'", args[0]))
}

func submit(ctx context.Context, e *env.Env, t *runview.View, p plan.Plan, o options) error {
	t.Show = *o.open
	if err := runview.CheckFlags(e, t.Show, o.detach, t.Fleet.Where() != ""); err != nil {
		return err
	}
	id, warnings, err := openfleet.Submit(ctx, e, t.Fleet, p, o.on)
	// With --from, the plan has a task for each item of a source, such as an issue. If another run
	// has taken one of the items since the source was read, no run is created. This is no error.
	if held, ok := errors.AsType[*engine.ItemsHeldError](err); ok && o.source.From != "" {
		return nothingToTake(e, app.SourcePlan{From: o.source.From, Plan: p, Found: len(held.Items), Held: held.Items}, *o.json)
	}
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

// loadPlans reads all plans, before any task runs, and combines them into one.
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
	whole, err := newrun.Combine(plans)
	if err != nil {
		return plan.Plan{}, err
	}
	return o.applyTo(whole)
}

// applyTo returns the plan with the values that the flags set, in place of the plan's own values.
func (o options) applyTo(p plan.Plan) (plan.Plan, error) {
	p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)], o.over.UnusedWarnings(p.Tasks)...)
	return o.over.Apply(p)
}

// nothingToTake prints that the source of --from, such as an issue tracker, has no items from which
// a run could be made. The command then ends without an error.
func nothingToTake(e *env.Env, made app.SourcePlan, asJSON bool) error {
	if asJSON {
		return runview.NothingLeft(e, plan.Plan{Name: made.From, SourceFile: made.SourceFile}, true)
	}
	e.Talk("%s: %s", display.Line(made.From, 60), sourceplan.Empty(made))
	return nil
}

// item is the JSON form of an item of a source, such as an issue, and of the task that would be
// made from it. It is printed with --dry-run.
type item struct {
	Task   string `json:"task"`
	Source string `json:"source"`
	ID     string `json:"id"`
	Title  string `json:"title"`
	URL    string `json:"url,omitempty"`
	Agent  string `json:"agent"`
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt"`
}

// printItems prints the items of a source, such as issues, from which a run would be made. If
// several agents compete on an item, printItems still prints the item only once.
func printItems(e *env.Env, p plan.Plan, asJSON bool) error {
	list, rows := []item{}, [][]string{{"TASK", "TITLE", "AGENT", "ADDRESS"}}
	for _, t := range p.Tasks {
		if t.Candidate != "" {
			continue
		}
		i := item{t.ID, t.Item.Source, t.Item.ID, t.Item.Title, t.Item.URL, engine.AgentOf(t), t.Model, t.Prompt}
		list = append(list, i)
		rows = append(rows, []string{i.Task, i.Title, phrase.Join(" ", i.Agent, i.Model), i.URL})
	}
	if asJSON {
		return e.PrintJSON(list)
	}
	return table.Texts(e, rows)
}

// planNames returns a name for the plans, for messages: the only plan as the user has typed it, or
// a text such as "3 plans".
func planNames(args []string) string {
	if len(args) > 1 {
		return phrase.Count(len(args), "plan")
	}
	return args[0]
}
