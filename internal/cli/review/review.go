// Package review implements the command 'gaffer review'. It shows the changes of a run on a
// terminal screen. With flags it comments on, approves or sends back one change without a screen.
package review

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/ui/tui/program"
	screen "gaffer/internal/ui/tui/review"
	"gaffer/internal/ui/tui/terminal"
)

// options holds the values of the command's flags.
type options struct {
	comment  string
	old      bool
	approve  bool
	sendBack bool
	json     bool
}

func (o options) acts() bool { return o.comment != "" || o.approve || o.sendBack }

// New creates the command 'gaffer review'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "review [RUN|TASK] [--comment PLACE TEXT]",
		DisableFlagsInUseLine: true,
		Short:                 "Read changes, comment on lines, send back, approve, merge",
		Long: `Show the changes of a run, or the change of a task: files, diff, the agent's last
message, checks, and your comments with the agent's answers. Without an argument
it is the latest run. '?' shows the keys.

A comment is a draft until you send it. Sending back gives all drafts to the
agent at once, in the same conversation. Tab shows only what is new since your
last review. Leaving ends nothing that runs.

Without a terminal, or with --json, the changes and comments are printed. These
flags need no terminal: --comment writes a comment on PATH, PATH:LINE or
PATH:FIRST-LAST, or on the whole change with '.', --approve approves the change,
--send-back sends all drafts to the agent. --comment comes first if there are
several.`,
		Example: `  gaffer review
  gaffer review api
  gaffer review api --comment internal/api/health.go:12-14 'Use http.StatusOK.' --send-back
  gaffer review api --approve
  gaffer review --json | jq '.reviews[] | {task, state}'`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: openfleet.RunsAndChanges(e),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.comment, "comment", "", "comment on `PLACE`, such as main.go:12")
	flags.BoolVar(&o.old, "old", false, "with --comment: the lines before the change")
	flags.BoolVar(&o.approve, "approve", false, "approve the change")
	flags.BoolVar(&o.sendBack, "send-back", false, "send all comments to the agent")
	cmd.MarkFlagsMutuallyExclusive("approve", "send-back")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = *asJSON
		switch {
		case o.comment != "" && len(args) < 2:
			return exit.Usage(errors.New("--comment PLACE needs TASK and TEXT"))
		case o.comment == "" && len(args) > 1:
			return exit.WithHint(exit.Usage(fmt.Errorf("%q: want one run or task", args[1])), "--comment PLACE before the text writes a comment")
		case o.old && o.comment == "":
			return exit.Usage(errors.New("--old needs --comment"))
		case o.acts() && len(args) == 0:
			return exit.Usage(errors.New("missing TASK: whose change is it?"))
		}
		return review(cmd.Context(), e, args, o)
	}
	return cmd
}

func review(ctx context.Context, e *env.Env, args []string, o options) (err error) {
	notices := make(chan string, 16)
	onScreen := !o.json && !o.acts() && e.Getenv("TERM") != "dumb"
	if onScreen {
		_, err := terminal.Open(e.In, e.Out)
		onScreen = err == nil
	}
	var notice func(string)
	if onScreen {
		notice = func(text string) {
			select {
			case notices <- text:
			default: // the channel is full: drop the notice
			}
		}
	}
	f, err := openfleet.OpenFleet(ctx, e, notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	run, task := "", ""
	if len(args) == 0 || args[0] == "-" {
		run, err = openfleet.FindRun(ctx, f, "", false)
	} else {
		run, task, err = openfleet.FindEither(ctx, f, args[0])
	}
	switch {
	case err != nil:
		return err
	case o.acts():
		return act(ctx, e, f, run, task, args, o)
	case onScreen:
		return show(ctx, e, f, run, task, notices)
	}
	return printReviews(ctx, e, f, run, task, o.json)
}

// exitTimeout is how long pending actions may take after the user has left the screen.
const exitTimeout = 5 * time.Second

// show shows the screen of a task's change, or the list of changes if task is empty, until the user
// leaves.
func show(ctx context.Context, e *env.Env, f openfleet.Fleet, run, task string, notices <-chan string) error {
	ctx, cancel := context.WithCancel(ctx)
	m := screen.New(f.Where(), run, task, e.Now())
	m.Color = e.Color(e.Out)
	feed := newFeed(f, notices)
	p := program.New(ctx, m, program.Terminal{In: e.In, Out: e.Out, Color: m.Color, Now: e.Now}, func(action any) program.Task { return feed.perform(ctx, action) })
	feed.send = p.Send
	for _, first := range m.InitialActions() {
		feed.perform(ctx, first)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		feed.run(ctx)
	}()
	err := p.Show()
	waiting, stop := context.WithTimeout(ctx, exitTimeout)
	err = errors.Join(err, p.Finish(waiting))
	stop()
	cancel()
	<-ended
	return err
}
