// Package answer is the command 'gaffer answer': a person's word to an agent
// that waits for it.
package answer

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
	"gaffer/internal/tui/phrase"
)

// options is what the command line says.
type options struct {
	text   string
	given  bool // a text, also an empty one
	option int
	deny   bool
	json   bool
}

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "answer TASK [TEXT] [--option N | --deny]",
		DisableFlagsInUseLine: true,
		Short:                 "Answer an agent that waits for a person",
		Long: `Answer the question that a task's agent waits for: with a text, with one of its
options, or by refusing what it asks for, with TEXT as the reason. Where there are
options, a TEXT that is a number chooses one, as --option does. Without an
answer, show the question and its options.

The gaffer that works on the run passes the answer on. If none does, 'gaffer
resume' takes the run up and does so; the run to name is printed.`,
		Example: `  gaffer answer api
  gaffer answer api 1
  gaffer answer api "use port 8080"
  gaffer answer api --deny "not in production"`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: open.Answers(e, phrase.Waiting),
	}
	cmd.Flags().IntVar(&o.option, "option", 0, "choose option `N`, from 1")
	cmd.Flags().BoolVar(&o.deny, "deny", false, "refuse what is asked for")
	open.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = *asJSON
		if len(args) == 2 {
			o.text, o.given = args[1], true
		}
		chosen := cmd.Flags().Changed("option")
		if chosen && (o.deny || o.given) {
			return exit.Usage(errors.New("--option stands alone, without --deny and without a text"))
		}
		if o.given && o.text == "" && !o.deny {
			return exit.Usage(errors.New("the answer is empty"))
		}
		if chosen && o.option < 1 {
			return exit.Usage(fmt.Errorf("--option %d: options are counted from 1", o.option))
		}
		return open.WithFleet(cmd.Context(), e, func(f open.Fleet) error { return answer(cmd.Context(), e, f, args[0], o) })
	}
	return cmd
}

func answer(ctx context.Context, e *env.Env, f open.Fleet, name string, o options) error {
	t, err := find(ctx, f, name)
	if err != nil {
		return err
	}
	q := t.Question
	if q == nil {
		return exit.Conflict(fmt.Errorf("task %s of run %s asks nothing, it is %s", t.ID, t.Run, t.Status))
	}
	if !o.given && !o.deny && o.option == 0 {
		return show(e, *q, o.json)
	}
	switch {
	case o.option > len(q.Options):
		err = &fleet.NoOptionError{Number: o.option, Options: len(q.Options)}
	case o.option > 0:
		o.text = q.Options[o.option-1]
	case !o.deny:
		o.text, err = q.Choose(o.text)
	}
	if err != nil {
		return exit.WithHint(exit.Usage(err), fmt.Sprintf("'gaffer answer %s' shows the question and its options", t.ID))
	}
	if err := f.Answer(ctx, q.ID, o.text, o.deny); err != nil {
		return err
	}
	if err := done(e, t, o); err != nil || t.Run == "" || f.Where() != "" {
		return err
	}
	r, err := f.Run(ctx, t.Run)
	if err == nil && !r.Owner.Alive {
		e.Talk("no gaffer works on its run: 'gaffer resume %s' passes the answer on", r.ID)
	}
	return err
}

func done(e *env.Env, t fleet.Task, o options) error {
	if o.json {
		return e.PrintJSON(map[string]any{"run": t.Run, "task": t.ID, "question": t.Question.ID, "answer": o.text, "denied": o.deny})
	}
	if o.deny {
		e.Talk("refused what %s asked for", env.Printable(t.ID))
		return nil
	}
	e.Talk("answered %s: %s", env.Printable(t.ID), phrase.Line(o.text))
	return nil
}

func show(e *env.Env, q fleet.Question, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(q)
	}
	if err := e.Printf("%s\n", env.PrintableLines(q.Text)); err != nil {
		return err
	}
	for i, option := range q.Options {
		if err := e.Printf("  %d  %s\n", i+1, phrase.Line(option)); err != nil {
			return err
		}
	}
	now := e.Now()
	e.Talk("asked by %s %s ago", env.Printable(q.Task), phrase.Age(now.Sub(q.Asked)))
	switch left := phrase.Age(q.Expires.Sub(now)); {
	case q.Expires.IsZero():
	case q.Default == "":
		e.Talk("without an answer within %s it is refused", left)
	default:
		e.Talk("in %s the answer is %q", left, phrase.Line(q.Default))
	}
	return nil
}
