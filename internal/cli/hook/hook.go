// Package hook is the commands 'gaffer hook …', which an agent program calls
// when something happens in it. They are guests there: whatever goes wrong, the
// agent must not notice.
package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command group.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "What an agent program calls when something happens in it",
		Long: `What an agent program calls when something happens in it.

The event is JSON on stdin. A hook always succeeds, prints nothing unless it
decides something, and takes two seconds at most, but where a person is asked;
what goes wrong is said on stderr.`,
		Example: "  gaffer hook claude <event.json\n  gaffer hook post-tool-use <event.json",
		Args:    cobra.ArbitraryArgs,
		RunE:    unknown,
	}
	for _, program := range agentproc.Programs() {
		cmd.AddCommand(programCommand(e, program))
	}
	cmd.AddCommand(postToolUseCommand(e))
	return cmd
}

// unknown is told as any failure and not as a mistake in the command line, whose
// code would have an agent stop what it is at: a program may have settings for a
// newer gaffer than this one.
func unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return exit.WithHint(fmt.Errorf("hook %.60q: this gaffer has no such hook", args[0]), "'gaffer hook --help' lists them")
}

// Budget is how long an agent waits for a hook, except where a user is asked.
// Unfinished work is dropped: on a busy machine, twenty hooks at once that write to
// one document took more than a second. It is less than the agent programs allow a
// hook: they end a slower one and report that it failed.
const Budget = 2 * time.Second

// guest makes a function a hook.
func guest(e *env.Env, hook func(ctx context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), Budget)
		defer cancel()
		within(ctx, e, cmd.Name(), hook)
		return nil
	}
}

// within calls a hook, which ends with its context, and whose errors and panics end
// with it. What is still under way then ends with the process, which leaves every
// document whole. It tells whether the hook has done all it should.
func within(ctx context.Context, e *env.Env, name string, hook func(ctx context.Context) error) bool {
	ended := make(chan error, 1)
	go func() { ended <- safely(ctx, hook) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = fmt.Errorf("not done within %s", Budget)
	}
	return complain(e, name, err)
}

func safely(ctx context.Context, hook func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return hook(ctx)
}

// complain says what went wrong, if anything did.
func complain(e *env.Env, name string, err error) (fine bool) {
	if err != nil {
		e.Talk("gaffer: hook %s: %s", name, display.Line(err.Error(), 500))
	}
	return err == nil
}
