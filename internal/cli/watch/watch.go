// Package watch implements the command 'gaffer watch': it shows the fleet on a terminal
// screen.
package watch

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/ui/tui/program"
	"gaffer/internal/ui/tui/terminal"
	screen "gaffer/internal/ui/tui/watch"
)

// New creates the command 'gaffer watch'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "See the whole fleet in the terminal, answer, cancel, retry",
		Long: `Show everything that runs, in all projects, until you leave: questions first, the
oldest on top, then paused lanes, runs and workers. Enter opens a run, a task with
its log, or a question; '?' shows the keys. With RUN, begin with that run.

If you answer, cancel or retry in a run of this machine that no process works on,
'gaffer resume' is started in the background.

The screen shows this machine, or the server that --server or the settings name.
If the server is unreachable, the screen says so and waits. Leaving the screen ends
nothing that runs.`,
		Example: `  gaffer watch
  gaffer watch -
  gaffer watch --server https://build.example:4870`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: openfleet.Runs(e, true),
	}
	openfleet.FleetFlags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := terminal.Open(e.In, e.Out); err != nil || e.Getenv("TERM") == "dumb" {
			return exit.WithHint(exit.Usage(errors.New("this is no terminal that a screen could be shown on")),
				"'gaffer ps' lists what runs, 'gaffer status --json' is for programs")
		}
		return showScreen(cmd.Context(), e, args)
	}
	return cmd
}

// showScreen shows the screen until the user leaves it. If the fleet cannot be read at the start,
// it returns an error and opens no screen.
func showScreen(ctx context.Context, e *env.Env, args []string) (err error) {
	notices := make(chan string, 16)
	fleet, err := openfleet.OpenFleet(ctx, e, func(text string) {
		select {
		case notices <- text:
		default: // the channel is full: drop the notice
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	run := ""
	if len(args) > 0 {
		if run, err = openfleet.FindRun(ctx, fleet, args[0], false); err != nil {
			return err
		}
	}
	first, err := overview(ctx, fleet)
	if err != nil {
		return err
	}
	return show(ctx, e, fleet, notices, run, first)
}

// finishWithin limits how long the command waits, after the user has left the screen, for the
// user's actions that have not finished yet, such as cancelling a run.
const finishWithin = 5 * time.Second

func show(ctx context.Context, e *env.Env, fleet openfleet.Fleet, notices <-chan string, run string, first screen.Fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	m := screen.New(fleet.Where(), run, e.Now())
	f := &feed{fleet: fleet, now: e.Now, notices: notices, focuses: make(chan screen.Focus, 1), nextRead: make(chan struct{}), last: e.Now()}
	p := screen.NewProgram(ctx, m, program.Terminal{In: e.In, Out: e.Out, Color: e.Color(e.Out), Now: e.Now}, f)
	f.send = p.Send
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Send(first)
		f.run(ctx)
	}()
	err := p.Show()
	waiting, stop := context.WithTimeout(ctx, finishWithin)
	err = errors.Join(err, p.Finish(waiting))
	stop()
	cancel()
	<-ended
	return err
}
