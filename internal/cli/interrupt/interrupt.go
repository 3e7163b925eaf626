// Package interrupt implements the command 'gaffer interrupt'. It ends the current turn of an
// agent, which is the agent's work on the latest message. The agent's conversation is kept.
package interrupt

import (
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer interrupt'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "interrupt TASK",
		DisableFlagsInUseLine: true,
		Short:                 "Stop what an agent does now, and keep its conversation",
		Long: `Stop what the agent of a running task does now, with the commands that it has
started. The task is cancelled with the outcome "interrupted", and its worktree
stays as it is.

The conversation is kept: 'gaffer send TASK TEXT' continues it. If a message waits
already, the agent continues with it at once. An agent whose program cannot be
interrupted is stopped like with 'gaffer cancel'.`,
		Example:           "  gaffer interrupt api\n  gaffer interrupt abc1/api && gaffer send abc1/api 'only change the tests'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Status == fleet.Running }),
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
			t, err := f.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			if err := f.Interrupt(ctx, t.Run, t.ID); err != nil {
				return err
			}
			if err := f.EnsureProcess(ctx, t.Run); err != nil {
				return exit.WithHint(fmt.Errorf("no gaffer works on the run, so its agent goes on: %w", err),
					fmt.Sprintf("'gaffer resume %s' interrupts it", t.Run))
			}
			if *asJSON {
				if t, err = f.Task(ctx, t.Run, t.ID); err != nil {
					return err
				}
				return e.PrintJSON(t)
			}
			e.Talk("interrupting %s; 'gaffer send %[1]s TEXT' continues its conversation", display.Printable(t.ID))
			return nil
		})
	}
	return cmd
}
