package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/cli/sourceplan"
	"gaffer/internal/exit"
	"gaffer/internal/flow/dispatch"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile/host"
)

func checkCommand(e *env.Env) *cobra.Command {
	var o plan.Options
	var format, agent, model string
	var from sourceplan.Flags
	cmd := &cobra.Command{
		Use:                   "check PLAN | check --from SOURCE [PLAN]",
		DisableFlagsInUseLine: true,
		Short:                 "Draw the order of a plan's tasks, or list the plan's problems",
		Long: `Read a plan and draw its tasks in the order in which they may start, or report all
of its problems, with file, line and column. PLAN is a file, a folder, ids or
files with commas between them, or the text of a prompt. An invalid plan ends with
exit code 5.

The command also reports what is missing on this machine, one line for each
problem with what to do: agent programs, logins, models as far as the program can
tell, git and branches for worktrees. The exit code is then 3, or 4 for a
repository that cannot be used in its current state. With --server none of this is
checked, because the workers have their own programs. Nothing is created, and no
program that the plan or gaffer.yaml names is run.

With --from it shows what 'gaffer run --from SOURCE' would run now. gh and glab
are then run to read issues.`,
		Example: `  gaffer plan check plan.yaml
  gaffer plan check prompts/000-orchestrator.md --pending-only
  gaffer plan check 001,002 --prompts-dir prompts
  gaffer plan check plan.yaml --json | jq '.tasks[].after'
  gaffer plan check --from tasks.csv --agent claude`,
		Args: func(cmd *cobra.Command, args []string) error {
			if from.From != "" {
				return nil
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&agent, "agent", "", "who does the tasks that name no agent: `NAME`, such as claude")
	flags.StringVar(&model, "model", "", "`NAME` of the model of tasks that name none")
	flags.BoolVar(&o.SeparateFiles, "separate-files", false, "let tasks that change the same files wait for each other")
	flags.BoolVar(&o.PendingOnly, "pending-only", false, "leave out what is ticked or has a summary")
	flags.StringVar(&o.Workflow, "workflow", "", "the `ID` of the one that is meant in a file of several")
	flags.StringVar(&o.PromptsDir, "prompts-dir", "", "find prompts by id below `DIR` (default prompts in the project)")
	flags.StringVar(&format, "format", "", "read PLAN as `FORMAT` instead of finding it out: "+strings.Join(formatWords(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatWords(), cobra.ShellCompDirectiveNoFileComp))
	from.Add(cmd)
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := from.Check(args); err != nil {
			return err
		}
		o.Format = plan.Format(format)
		load := func(o plan.Options) (string, plan.Plan, error) {
			p, err := plan.Load(host.OS(), args[0], o)
			return args[0], p, err
		}
		if from.From != "" {
			load = func(plan.Options) (string, plan.Plan, error) {
				made, err := from.Load(cmd.Context(), e, args)
				if text := sourceplan.LeftOut(made); text != "" {
					e.Talk("%s", text)
				}
				return from.From, made.Plan, err
			}
		}
		return check(cmd.Context(), e, load, o, agent, model, *asJSON)
	}
	return cmd
}

func formatWords() []string {
	words := make([]string, len(plan.Formats()))
	for i, f := range plan.Formats() {
		words[i] = string(f)
	}
	return words
}

// check prints the plan that the function load returns, or the problems in the plan. load also
// returns a name for the plan, which messages use. agent and model are the defaults for tasks
// without an agent or a model.
func check(ctx context.Context, e *env.Env, load func(plan.Options) (string, plan.Plan, error), o plan.Options, agent, model string, asJSON bool) error {
	p, err := e.Project()
	if err != nil {
		return err
	}
	c, err := e.Config()
	if err != nil {
		return err
	}
	o.Dir, o.Root, o.Agents = e.Dir, p.Root, slices.Sorted(maps.Keys(c.Agents()))
	if agent != "" {
		if err := dispatch.CheckAgent(agent, o.Agents); err != nil {
			return fmt.Errorf("--agent: %w", err)
		}
	}
	arg, loaded, err := load(o)
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		return printProblems(e, arg, problems, asJSON)
	}
	if err != nil {
		return err
	}
	for i := range loaded.Tasks {
		loaded.Tasks[i].SetDefaultAgent(agent, model)
	}
	lacks, err := missingHere(ctx, e, loaded)
	if err != nil {
		return err
	}
	if asJSON {
		out := wire(loaded)
		if err := addSandboxes(ctx, e, loaded, out.Tasks); err != nil {
			return err
		}
		out.Ready, out.Lacks = len(lacks) == 0, append([]preflight.Problem{}, lacks...)
		err = e.PrintJSON(out)
	} else if err = draw(e, loaded); err == nil {
		err = errors.Join(warn(e, loaded), runview.PrintProblems(e, lacks))
	}
	if err != nil || len(lacks) == 0 {
		return err
	}
	return runview.NotReady(arg, lacks, ": it cannot run here")
}

// missingHere returns the problems that prevent the plan from running on this machine. It returns
// no problems if the plan runs on a server, because the programs of the server's workers are
// unknown here.
func missingHere(ctx context.Context, e *env.Env, p plan.Plan) ([]preflight.Problem, error) {
	far, err := openfleet.UsesServer(e)
	if far || err != nil {
		return nil, err
	}
	opts, err := openfleet.Options(e, nil)
	if err != nil {
		return nil, err
	}
	return app.Preflight(ctx, opts, p)
}

// addSandboxes sets the sandbox that each task gets on this machine. It does nothing if the plan
// runs on a server.
func addSandboxes(ctx context.Context, e *env.Env, p plan.Plan, tasks []checkedTask) error {
	far, err := openfleet.UsesServer(e)
	if far || err != nil {
		return err
	}
	opts, err := openfleet.Options(e, nil)
	if err != nil {
		return err
	}
	boxes, err := app.Sandboxes(ctx, opts, p)
	for i, t := range tasks {
		if mode := boxes.Modes[t.ID]; mode != plan.SandboxNone {
			tasks[i].Sandbox = string(mode)
		}
	}
	return err
}

// printProblems prints the problems of a plan as the command's result, and returns an error that
// says how many there are.
func printProblems(e *env.Env, arg string, problems plan.Problems, asJSON bool) error {
	if asJSON {
		if err := e.PrintJSON(refusal{Problems: problems}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			if err := e.Printf("%s\n", display.Printable(p.String())); err != nil {
				return err
			}
		}
	}
	return exit.Invalid(fmt.Errorf("%s: %s", display.Line(arg, 60), phrase.Count(len(problems), "problem")))
}

func warn(e *env.Env, p plan.Plan) error {
	for _, w := range p.Warnings {
		word := e.Paint(e.Out, display.Yellow, "warning")
		if err := e.Printf("%s: %s\n", word, display.Printable(w.String())); err != nil {
			return err
		}
	}
	if len(p.Overlaps()) > 0 {
		e.Talk("hint: --separate-files lets tasks that change the same files wait for each other")
	}
	return nil
}
