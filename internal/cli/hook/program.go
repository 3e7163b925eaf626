package hook

import (
	"context"
	"errors"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/env"
)

func programCommand(e *env.Env, program string) *cobra.Command {
	return &cobra.Command{
		Use:   program,
		Short: "Record what " + program + " does, and ask the user for it",
		Long: `Record what ` + program + ` does, for views of the fleet: idle, running or waiting for
the user. The event is JSON on stdin; events that it does not know are ignored.

After a tool call, the hook records files that were written outside a command, as
'gaffer hook post-tool-use' does, and agents that repeat the same action. Before a
context is compacted, it adds an event to the activity feed. If the user must
permit something, it asks for as long as the setting hooks.answer_within says, by
default not at all; then the agent asks at its own prompt.`,
		Example: `  echo '{"hook_event_name": "Stop", "session_id": "1", "cwd": "/src/web"}' | gaffer hook ` + program,
		// Accept any arguments and flags: a wrongly configured hook must not stop the agent.
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			serve(cmd.Context(), e, program, args)
			return nil
		},
	}
}

// Main runs a hook. To save time, it does not build cobra's command tree. args must be the name of
// an agent program and, optionally, an event as JSON. For other arguments, Main does nothing and
// returns ok = false. The caller must then use the command tree, which handles help and errors.
func Main(e *env.Env, args []string) (code int, ok bool) {
	n := len(args)
	plain := n == 1 || n == 2 && strings.HasPrefix(args[1], "{")
	if !plain || !agentproc.IsProgram(args[0]) {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	serve(ctx, e, args[0], args[1:])
	return 0, true
}

// call is one call of a hook by an agent program.
type call struct {
	*env.Env
	*hookevents.Call
}

// serve handles one call of a hook. Within the time limit Budget, it stores the event and performs
// the actions that follow from it, even if storing has failed. If all this worked without an error,
// it then calls decide, which may ask the user and has timeouts of its own.
func serve(ctx context.Context, e *env.Env, program string, words []string) {
	c := &call{e, &hookevents.Call{Program: program}}
	quick, cancel := context.WithTimeout(ctx, Budget)
	defer cancel()
	done := runWithin(quick, e, program, func(ctx context.Context) error {
		from := hookevents.Environment{In: e.In, Getenv: e.Getenv, Now: e.Now}
		var err error
		c.Call, err = hookevents.HandleCall(ctx, from, program, words)
		return errors.Join(err, c.act(ctx))
	})
	if done {
		reportError(e, program, safely(ctx, c.decide))
	}
}

func (c *call) act(ctx context.Context) error {
	var errs []error
	for _, d := range c.Actions {
		switch d.Kind {
		case hookevents.RecordWrittenFiles:
			errs = append(errs, noteWritten(ctx, c.Env, c.Raw))
		case hookevents.NotifyLoop:
			errs = append(errs, c.addLoopEvent(ctx, d.Text))
		case hookevents.NotifyContext:
			errs = append(errs, c.addContextEvent(ctx, d.Text))
		case hookevents.Withdraw:
			errs = append(errs, c.withdraw(ctx, d.Text))
		}
	}
	return errors.Join(errs...)
}
