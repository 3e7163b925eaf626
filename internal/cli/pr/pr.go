// Package pr implements the command 'gaffer pr': it opens a pull request for the change of a task.
// With --feedback, it instead adds the comments and the failed checks of the task's pull request to
// the task's review.
package pr

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/landing"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

type options struct {
	into, program  string
	feedback, send bool
	json           *bool
}

// New creates the command 'gaffer pr'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "pr TASK [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Open a pull request for a task's change, or fetch its comments",
		Long: `Push the branch of a task to the remote origin and open a pull request, with the
program gh for GitHub or glab for GitLab. If one is open, only the branch is pushed.

--feedback fetches the review comments and the failed checks of the pull request,
and adds them to the task's review as comments. --send also sends them to the
task's agent, in the same conversation.`,
		Example:           "  gaffer pr api\n  gaffer pr abc1/api --into develop\n  gaffer pr api --feedback --send",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Status.Final() }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "the pull request is for `BRANCH`")
	flags.StringVar(&o.program, "with", "", "use the `PROGRAM` gh or glab, whatever the address of origin")
	flags.BoolVar(&o.feedback, "feedback", false, "add the comments and failed checks of the pull request to the review")
	flags.BoolVar(&o.send, "send", false, "with --feedback: send the comments to the agent")
	o.json = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if o.send && !o.feedback {
			return exit.Usage(errors.New("--send needs --feedback"))
		}
		if err := e.RefuseAgents("gaffer pr"); err != nil {
			return err
		}
		return openfleet.WithApp(ctx, e, func(a *app.App) error {
			t, err := a.Fleet.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			if o.feedback {
				return o.fetchComments(ctx, e, a, t)
			}
			p, err := a.Landing.WithProgress(func(text string) { e.Talk("%s", display.Printable(text)) }).PR(ctx, t.Run, t.ID, o.into, o.program)
			switch {
			case err != nil:
				return err
			case *o.json:
				return e.PrintJSON(p)
			case !p.New:
				e.Talk("%s: the pull request is open already", display.Printable(t.ID))
			}
			return e.Printf("%s\n", display.Printable(p.URL))
		})
	}
	return cmd
}

// fetchComments fetches the comments and the failed checks of the pull request, and adds them to
// the task's review as comments. With --send, it also sends the review to the task's agent.
func (o options) fetchComments(ctx context.Context, e *env.Env, a *app.App, t fleet.Task) error {
	done, err := a.Landing.Feedback(ctx, t.Run, t.ID, o.into, o.program)
	if err != nil {
		return err
	}
	said, round := "", 0
	if o.send {
		f := openfleet.LocalFleet(a)
		r, err := f.Review(ctx, t.Run, t.ID)
		if err != nil {
			return err
		}
		said = "there is nothing to send to the agent of %s"
		// If there are unsent comments, SendBack sends them to the agent. If an earlier command has
		// already sent all comments, SendBack only makes sure that a gaffer process works on the
		// run, so that the agent continues.
		if openfleet.HasDrafts(r) || r.State == fleet.ReviewSentBack {
			r, before, err := openfleet.SendBack(ctx, f, t.Run, t.ID, "")
			if err != nil {
				return err
			}
			if said, round = "sent to the agent of %s", r.Round; before {
				said = "sent to the agent of %s before; it continues"
			}
		}
	}
	if *o.json {
		return e.PrintJSON(struct {
			landing.Feedback
			// Round is the number of the review round in which the comments were sent to the agent.
			// It is 0 if nothing was sent.
			Round int `json:"round,omitempty"`
		}{done, round})
	}
	for _, c := range done.Added {
		place := "the change"
		if c.Path != "" {
			place = c.Path
		}
		if err := e.Printf("%s  %s: %s\n", c.ID, display.Printable(place), display.Line(c.By+": "+c.Text, 100)); err != nil {
			return err
		}
	}
	e.Talk("%s added, %d known already, %s failed; %s", phrase.Count(len(done.Added), "comment"), done.Known, phrase.Count(len(done.Failed), "check"), display.Printable(done.URL))
	switch {
	case o.send:
		e.Talk(said, display.Printable(t.ID))
	case len(done.Added) > 0:
		e.Talk("'gaffer review %s/%s' shows them and sends them to the agent", t.Run, display.Printable(t.ID))
	}
	return nil
}
