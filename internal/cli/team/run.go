package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/team"
)

// options holds the values of the command's flags.
type options struct {
	given      func(flag string) bool
	file       string
	mode       string
	developers int
	iterations int
	roles      string
	tests      []string
	into       string
	questions  string
	budget     float64
	fresh      bool
	detach     bool
	open, json *bool
}

func (o *options) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	o.given = flags.Changed
	flags.StringVar(&o.mode, "mode", "", "`MODE`: auto, simple (one group) or parallel")
	flags.IntVar(&o.developers, "developers", 0, "let `N` developers work at once, 1 to 4")
	flags.StringVar(&o.roles, "roles", "", "`FILE` that says who plays which role")
	flags.StringArrayVar(&o.tests, "test", nil, "shell `COMMAND` that each merge must pass; repeatable")
	flags.StringVar(&o.into, "merge-into", "", "merge it all into `BRANCH` when it is complete")
	flags.IntVar(&o.iterations, "iterations", 0, "stop when a group has had `N` starts of agents")
	flags.StringVar(&o.questions, "questions", "", "questions that no rule answers, of all roles: `ask`,\nrules (deny them), allow or deny")
	flags.Float64Var(&o.budget, "budget", 0, "stop when `USD` is spent")
	flags.BoolVar(&o.detach, "detach", false, "run in the background, and print the run's id")
	o.open = runview.ShowFlag(cmd)
	o.json = env.JSONFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("questions", cobra.FixedCompletions(newrun.Questions(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
}

var modes = []string{"auto", "simple", "parallel"}

// request returns the options of a team session. A flag that was given takes precedence over
// gaffer.yaml. It returns an error if an option is not valid.
func (o options) request(e *env.Env) (n teamsession.Request, err error) {
	c, err := e.Config()
	if err != nil {
		return n, err
	}
	mode := cmp.Or(o.mode, c.Choice("team.mode"))
	n = teamsession.Request{
		Developers: c.Number("team.developers"), Iterations: c.Number("team.iterations"),
		Tests: o.tests, TestsTimeout: c.Duration("team.tests_timeout"), Into: o.into, Fresh: o.fresh, Questions: plan.QuestionPolicy(o.questions),
	}
	if o.given("developers") {
		n.Developers = o.developers
	}
	if o.given("iterations") {
		n.Iterations = o.iterations
	}
	if n.Budget.USD = o.budget; o.tests == nil {
		n.Tests = c.List("team.tests")
	}
	if o.roles != "" {
		n.Roles = e.Path(o.roles)
	}
	if mode != "auto" {
		n.Mode = team.Mode(mode)
	}
	if err := runview.CheckFlags(e, *o.open, o.detach, false); err != nil {
		return n, err
	}
	if err := newrun.CheckQuestions(o.questions); err != nil {
		return n, exit.Usage(err)
	}
	switch {
	case !slices.Contains(modes, mode):
		return n, exit.Usage(fmt.Errorf("--mode %s: want one of %s", display.Printable(mode), strings.Join(modes, ", ")))
	case n.Developers < 1 || n.Developers > team.MaxDevelopers:
		return n, exit.Usage(fmt.Errorf("--developers %d: want 1 to %d", n.Developers, team.MaxDevelopers))
	case n.Iterations < 1:
		return n, exit.Usage(fmt.Errorf("--iterations %d: want at least 1", n.Iterations))
	case o.given("budget") && !(o.budget > 0):
		return n, exit.Usage(fmt.Errorf("--budget %g: want an amount above 0", o.budget))
	}
	return n, nil
}

func (o options) run(ctx context.Context, e *env.Env, t *runview.View, n teamsession.Request) error {
	s, err := t.App.Teams.Start(ctx, n)
	if s.Archived != "" {
		e.Talk("the session before is in %s", s.Archived)
	}
	if err != nil {
		return withTeamHint(err)
	}
	return o.work(ctx, e, t, s.Run)
}

func (o options) work(ctx context.Context, e *env.Env, t *runview.View, run string) error {
	if o.detach {
		return t.Detach(ctx, run, *o.json)
	}
	t.Show = *o.open
	err := t.Work(ctx, run, *o.json)
	if !*o.json {
		if printErr := o.printResult(ctx, e, t); printErr != nil {
			return errors.Join(err, printErr)
		}
	}
	return err
}

// printResult prints the result of the session. It prints nothing if another gaffer process works
// on the session now.
func (o options) printResult(ctx context.Context, e *env.Env, t *runview.View) error {
	v, err := look(ctx, e, t.App)
	if err != nil || v.run.Owner > 0 {
		return err
	}
	return v.print(e, view.head, view.merged, view.outcome, view.next)
}
