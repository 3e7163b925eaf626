package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/attend"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/suggest"
	"gaffer/team"
)

// options is what the command line says.
type options struct {
	file       string
	mode       string
	developers int
	iterations int
	roles      string
	tests      []string
	into       string
	budget     float64
	fresh      bool
	detach     bool
	json       *bool
}

func (o *options) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.mode, "mode", "", "`MODE` to work in: auto, simple or parallel; gaffer.yaml says which, or auto")
	flags.IntVar(&o.developers, "developers", 0, "let `N` developers work at once, at most 4; 0 leaves it to gaffer.yaml")
	flags.StringVar(&o.roles, "roles", "", "`FILE` that says who plays the roles, and with which prompts")
	flags.StringArrayVar(&o.tests, "test", nil, "shell `COMMAND` that must succeed after each merge; may be repeated")
	flags.StringVar(&o.into, "merge-into", "", "merge all of it into `BRANCH` when the project manager says it is complete")
	flags.IntVar(&o.iterations, "iterations", 0, "stop when a group has had `N` starts of agents; 0 leaves it to gaffer.yaml")
	flags.Float64Var(&o.budget, "budget", 0, "stop before more than `USD` is spent; 0 is no limit")
	flags.BoolVar(&o.detach, "detach", false, "print the run's id and let it run in the background")
	o.json = env.JSONFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
}

var modes = []string{"auto", "simple", "parallel"}

// wish is what the command line and gaffer.yaml ask for.
func (o options) wish(e *env.Env) (n app.NewTeam, err error) {
	c, err := e.Config()
	if err != nil {
		return n, err
	}
	mode := cmp.Or(o.mode, c.Choice("team.mode"))
	n = app.NewTeam{
		Developers: cmp.Or(o.developers, c.Number("team.developers")), Iterations: cmp.Or(o.iterations, c.Number("team.iterations")),
		Tests: o.tests, Into: o.into, Fresh: o.fresh,
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
	switch {
	case !slices.Contains(modes, mode):
		return n, exit.Usage(fmt.Errorf("--mode %s: want one of %s", env.Printable(mode), strings.Join(modes, ", ")))
	case n.Developers < 1 || n.Developers > team.MaxDevelopers:
		return n, exit.Usage(fmt.Errorf("--developers %d: want 1 to %d", n.Developers, team.MaxDevelopers))
	case n.Iterations < 1:
		return n, exit.Usage(fmt.Errorf("--iterations %d: want at least 1", n.Iterations))
	case n.Budget.USD < 0:
		return n, exit.Usage(fmt.Errorf("--budget %g: want a sum of money", n.Budget.USD))
	}
	return n, nil
}

// checkWord refuses one word that was surely meant as a command.
func checkWord(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || strings.ContainsAny(args[0], " \t\n") {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := suggest.Nearest(args[0], names); near != "" {
		text += fmt.Sprintf(", did you mean %s?", near)
	}
	return exit.WithHint(exit.Usage(errors.New(text)), "requirements of one word are given with -f FILE, or -f - and stdin")
}

func (o options) run(ctx context.Context, e *env.Env, t *attend.Attendant, n app.NewTeam) error {
	s, err := t.App.Team(ctx, n)
	if err != nil {
		return err
	}
	if s.Archived != "" {
		e.Talk("the session before is in %s", s.Archived)
	}
	return o.work(ctx, e, t, s.Run)
}

func (o options) work(ctx context.Context, e *env.Env, t *attend.Attendant, run string) error {
	if o.detach {
		return t.Detach(ctx, run, *o.json)
	}
	err := t.Work(ctx, run, *o.json)
	if !*o.json {
		if told := o.tell(ctx, e, t); told != nil {
			return errors.Join(err, told)
		}
	}
	return err
}

// tell says how the session came out.
func (o options) tell(ctx context.Context, e *env.Env, t *attend.Attendant) error {
	s, err := openTeam(e)
	if err != nil {
		return err
	}
	snap, err := s.Resume(ctx)
	if err != nil {
		return err
	}
	found, err := t.App.FindTeam(ctx, snap.SessionID())
	if err != nil {
		return err
	}
	if err := printHead(e, snap); err != nil {
		return err
	}
	if err := printOutcome(e, snap); err != nil {
		return err
	}
	return printNext(e, snap, found)
}
