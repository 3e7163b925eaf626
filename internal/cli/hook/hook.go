// Package hook implements the commands 'gaffer hook …'. Agent programs run them at events such as a
// tool call. A hook that fails must not disturb the agent.
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

// New creates the command 'gaffer hook' and its subcommands.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Commands that agent programs call at events",
		Long: `Commands that agent programs call when an event happens.

The event is JSON on stdin. A hook always succeeds, and prints only decisions.
It takes two seconds at most, except while the user is asked. Errors are printed
to stderr.`,
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

// unknown reports a hook that this version of gaffer does not know. The settings of an agent
// program may name such a hook if a newer gaffer has written them. The error must not be a usage
// error: its exit code would be 2, with which a hook tells Claude Code to block the agent's action.
func unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return exit.WithHint(fmt.Errorf("hook %.60q: this gaffer has no such hook", args[0]), "'gaffer hook --help' lists them")
}

// Budget is the time limit of a hook. It does not include the time to ask the user. A hook can take
// too long if it waits for a document that other hooks have locked. Budget is less than the time
// limit of the agent programs, which kill a slow hook and report it as failed.
const Budget = 2 * time.Second

// hookCommand returns a function for cobra.Command.RunE that runs hook with the time limit Budget.
// The function prints an error of hook, and always returns nil.
func hookCommand(e *env.Env, hook func(ctx context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), Budget)
		defer cancel()
		runWithin(ctx, e, cmd.Name(), hook)
		return nil
	}
}

// runWithin runs a hook and prints its error or panic to stderr. It reports whether the hook
// completed without an error. If ctx ends first, runWithin returns while the hook is still running.
// The process then exits, which stops the hook. The stopped hook leaves no half-written document,
// because gaffer replaces files atomically.
func runWithin(ctx context.Context, e *env.Env, name string, hook func(ctx context.Context) error) bool {
	ended := make(chan error, 1)
	go func() { ended <- safely(ctx, hook) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = fmt.Errorf("not done within %s", Budget)
	}
	return reportError(e, name, err)
}

func safely(ctx context.Context, hook func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return hook(ctx)
}

// reportError prints err to stderr if it is not nil. It returns true if err is nil.
func reportError(e *env.Env, name string, err error) (fine bool) {
	if err != nil {
		e.Talk("gaffer: hook %s: %s", name, display.Line(err.Error(), 500))
	}
	return err == nil
}
