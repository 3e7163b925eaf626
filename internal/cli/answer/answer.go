// Package answer implements the command 'gaffer answer'. It lists the open questions of
// agents and answers them.
package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// options holds the values of the command's flags.
type options struct {
	text   string
	given  bool // whether the user gave a text, possibly an empty one
	option int
	deny   bool
	scope  string
	rule   string
	json   bool
}

// New creates the command 'gaffer answer'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "answer [NAME [TEXT]] [--option N | --deny] [--for SCOPE [--rule RULE]]",
		DisableFlagsInUseLine: true,
		Short:                 "List open questions, or answer one",
		Long: `Without a name, list every open question: of runs and of agents that you started
by hand, in all projects, on this machine and on the configured server.

With a name alone, show the question and its options. Answer it with a text, with
one of its options, or by refusing what it asks for, with TEXT as the reason. If
there are options, a TEXT that is a number chooses one, as --option does.

If an agent asks for a permission, an answer holds for this request only. With
--for task, run or always, it also holds for later requests that a rule matches:
of this task, of all tasks of the run, or of all runs. The rule is the first one
that is suggested, or the one of --rule, such as 'Bash(go test:*)'. 'gaffer
permissions' lists and revokes what you have allowed.

Every view shows the same NAME: RUN/TASK with the last part of the run's id, or
the name of an agent that you started by hand. The id of a task is enough if no
other task with that id has a question.

The gaffer process that works on the run passes the answer on. If there is none,
'gaffer resume' continues the run and does so; the run to name is printed.`,
		Example: `  gaffer answer
  gaffer answer 4cebc8bf/api
  gaffer answer api 1
  gaffer answer api allow --for run
  gaffer answer api allow --for always --rule 'Bash(go test:*)'
  gaffer answer api "use port 8080"
  gaffer answer claude-4711 --deny "not in production"`,
		Args:              cobra.RangeArgs(0, 2),
		ValidArgsFunction: openfleet.Answers(e),
	}
	cmd.Flags().IntVar(&o.option, "option", 0, "choose option `N`, from 1")
	cmd.Flags().BoolVar(&o.deny, "deny", false, "refuse what is asked for")
	cmd.Flags().StringVar(&o.scope, "for", "", "how long the answer holds: `SCOPE` is "+strings.Join(scopes(), ", "))
	cmd.Flags().StringVar(&o.rule, "rule", "", "what --for allows or denies, such as 'Bash(go test:*)'")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	// Ignore the errors: only a wrong call, such as one for an undeclared flag, can fail.
	_ = cmd.RegisterFlagCompletionFunc("rule", openfleet.SuggestedRules(e))
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(scopes(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = *asJSON
		if len(args) == 2 {
			o.text, o.given = args[1], true
		}
		chosen := cmd.Flags().Changed("option")
		if err := o.checkScope(); err != nil {
			return exit.Usage(err)
		}
		if len(args) == 0 && (chosen || o.deny || o.scope != "") {
			return exit.WithHint(exit.Usage(errors.New("missing NAME: which question is answered?")), "'gaffer answer' lists them")
		}
		if chosen && (o.deny || o.given) {
			return exit.Usage(errors.New("--option stands alone, without --deny and without a text"))
		}
		if o.given && o.text == "" && !o.deny {
			return exit.Usage(errors.New("the answer is empty"))
		}
		if chosen && o.option < 1 {
			return exit.Usage(fmt.Errorf("--option %d: options are counted from 1", o.option))
		}
		return openfleet.WithQuestions(cmd.Context(), e, func(all openfleet.Everything) error {
			if len(args) == 0 {
				return printQuestions(e, all, o.json)
			}
			return answer(cmd.Context(), e, all, args[0], o)
		})
	}
	return cmd
}

// printQuestions prints the open questions in all.Asked, the oldest first. If the configured server
// did not answer, all.Asked has only this machine's questions, and printQuestions returns the
// server's error.
func printQuestions(e *env.Env, all openfleet.Everything, asJSON bool) error {
	if asJSON {
		if err := e.PrintJSON(append([]openfleet.Asked{}, all.Asked...)); err != nil {
			return err
		}
		return all.Failed
	}
	if len(all.Asked) == 0 {
		if all.Failed == nil {
			e.Talk("no agent asks anything")
		}
		return all.Failed
	}
	rows := [][]table.Cell{table.Row("Name", "Waiting", "Where", "Question")}
	prompts := 0
	for _, a := range all.Asked {
		where := "this machine"
		if a.Terminal {
			where, prompts = "its own terminal", prompts+1
		} else if a.Server != "" {
			where = a.Server
		}
		text := []string{phrase.Line(a.Text)}
		for i, option := range a.Options {
			text = append(text, fmt.Sprintf("[%d %s]", i+1, phrase.Line(option)))
		}
		rows = append(rows, table.Row(a.Name, phrase.Age(max(e.Now().Sub(a.Asked), 0)), where, strings.Join(text, " ")))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	if len(all.Asked) > prompts {
		e.Talk("'gaffer answer NAME' shows one of them, 'gaffer answer NAME TEXT' answers it")
	}
	if prompts > 0 {
		e.Talk("set hooks.answer_within to answer from here what an agent asks in its own terminal")
	}
	return all.Failed
}

func answer(ctx context.Context, e *env.Env, all openfleet.Everything, name string, o options) error {
	a, err := find(ctx, all, name)
	if err != nil {
		return err
	}
	if !o.given && !o.deny && o.option == 0 {
		if o.scope != "" {
			return exit.Usage(fmt.Errorf("--for %s: also say whether it is allowed: 'gaffer answer %s allow --for %s'", o.scope, a.Name, o.scope))
		}
		return show(e, a, o.json)
	}
	if err := e.RefuseAgents("gaffer answer"); err != nil {
		return err
	}
	if a.Terminal {
		return exit.WithHint(exit.Conflict(fmt.Errorf("%s waits at its own prompt, which takes the answer: %s", a.Name, waitLocation(a))),
			"with the setting hooks.answer_within, such as 2m, its next question can be answered from here")
	}
	hint := fmt.Sprintf("'gaffer answer %s' shows the question and its options", a.Name)
	reply, choices := fleet.Reply{Text: o.text, Deny: o.deny}, a.Choices()
	switch {
	case o.option > len(choices):
		err = &fleet.NoOptionError{Number: o.option, Options: len(choices)}
	case o.option > 0:
		reply = choices[o.option-1].Reply
	case !o.deny:
		hint += fmt.Sprintf(`; '"%s"' answers with the number itself`, o.text)
		reply, err = a.Reply(o.text)
	}
	if err == nil && o.scope != "" {
		reply, err = o.lasting(a.Question, reply)
	}
	if err != nil {
		return exit.WithHint(exit.Usage(err), hint)
	}
	if err := a.Answer(ctx, reply); err != nil {
		return err
	}
	switch {
	case o.json:
		err = e.PrintJSON(answered{a.Run, a.Task, a.Name, a.ID, reply.Text, reply.Deny, reply.Scope, reply.Rule})
	case reply.Deny:
		e.Talk("refused what %s asked for%s", display.Printable(a.Name), lastingText(reply))
	default:
		e.Talk("answered %s: %s%s", display.Printable(a.Name), phrase.Line(reply.Text), lastingText(reply))
	}
	if err != nil {
		return err
	}
	if r, ok := a.Unattended(ctx); ok {
		e.Talk("no gaffer works on its run: 'gaffer resume %s' passes the answer on", r)
	}
	return nil
}

// waitLocation says where the user finds the terminal of an agent that waits at its own prompt: in
// which folder and, if known, in which tmux pane.
func waitLocation(a openfleet.Asked) string {
	text := "in a terminal"
	if a.Dir != "" {
		text = "in " + display.Printable(a.Dir)
	}
	if a.Pane != "" {
		text += ", tmux pane " + display.Printable(a.Pane)
	}
	return text
}

func show(e *env.Env, a openfleet.Asked, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(a)
	}
	if err := e.Printf("%s\n", display.PrintableLines(a.Text)); err != nil {
		return err
	}
	for i, choice := range a.Choices() {
		if err := e.Printf("  %d  %s\n", i+1, phrase.Line(choice.Text)); err != nil {
			return err
		}
	}
	if len(a.Suggestions) > 1 {
		e.Talk("other rules for --rule: %s", phrase.Line(strings.Join(a.Suggestions[1:], "  ")))
	}
	now := e.Now()
	e.Talk("asked by %s %s ago", display.Printable(a.Name), phrase.Age(max(now.Sub(a.Asked), 0)))
	switch left := phrase.Age(a.Expires.Sub(now)); {
	case a.Terminal:
		e.Talk("it can be answered in its own terminal only, %s", waitLocation(a))
	case a.Expires.IsZero():
	case a.Default == "":
		e.Talk("without an answer within %s it is refused", left)
	default:
		e.Talk("in %s the answer is %q", left, phrase.Line(a.Default))
	}
	return nil
}
