// Package hook is the commands 'gaffer hook …', which an agent program calls
// when something happens in it. They are guests there: whatever goes wrong, the
// agent must not notice.
package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

// New makes the group.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "What an agent program calls when something happens in it",
		Long: `What an agent program calls when something happens in it.

The event is JSON on stdin. A hook always succeeds, prints no result, and takes
a second at most; what goes wrong is said on stderr.`,
		Example: "  gaffer hook post-tool-use <event.json",
	}
	cmd.AddCommand(postToolUseCommand(e))
	return cmd
}

// budget is how long an agent waits for a hook at most.
const budget = time.Second

// guest makes a function a hook: it ends in time, and its errors and panics end
// with it. What is still under way then ends with the process, which leaves
// every document whole.
func guest(e *env.Env, hook func(ctx context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), budget)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					ended <- fmt.Errorf("panic: %v", r)
				}
			}()
			ended <- hook(ctx)
		}()
		var err error
		select {
		case err = <-ended:
		case <-ctx.Done():
			err = fmt.Errorf("not done within %s", budget)
		}
		if err != nil {
			e.Talk("gaffer: hook %s: %s", cmd.Name(), env.Line(err.Error(), 500))
		}
		return nil
	}
}
