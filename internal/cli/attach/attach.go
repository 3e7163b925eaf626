// Package attach implements the command 'gaffer attach': it attaches the user's terminal to the
// tmux session in which an agent runs.
package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer attach'.
func New(e *env.Env) *cobra.Command {
	var readOnly, printOnly bool
	cmd := &cobra.Command{
		Use:                   "attach BEAD [--read-only]",
		DisableFlagsInUseLine: true,
		Short:                 "Attach to the tmux session of an agent",
		Long: `Show the agent of a bead in this terminal, as it runs in tmux. Ctrl-B and then d
detaches. Attaching and detaching do not affect the agent. What you type answers
the agent's open question; if there is none, it is ignored. Ctrl-C does not end
the agent; 'gaffer cancel BEAD' does.

With --command, print the tmux command instead of running it.`,
		Example:           "  gaffer attach bd-42\n  gaffer attach bd-42 --read-only\n  ssh host \"$(gaffer attach bd-42 --command)\"",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Session != "" && t.Status == fleet.Running }),
	}
	cmd.Flags().BoolVarP(&readOnly, "read-only", "r", false, "look, and let no key through")
	cmd.Flags().BoolVar(&printOnly, "command", false, "print the command that attaches")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return openfleet.WithApp(cmd.Context(), e, func(a *app.App) error {
			return attach(cmd.Context(), e, a, args[0], readOnly, printOnly)
		})
	}
	return cmd
}

func attach(ctx context.Context, e *env.Env, a *app.App, bead string, readOnly, printOnly bool) error {
	found, err := a.Terminals.Attach(ctx, bead, readOnly)
	if err != nil {
		return err
	}
	if printOnly {
		return e.Printf("%s\n", display.ShellLine(found.Argv))
	}
	if !display.IsTerminal(e.Out) {
		return exit.WithHint(exit.Usage(errors.New("this is no terminal to attach")),
			fmt.Sprintf("'gaffer logs %s -f' needs none", found.Task.ID))
	}
	cmd := exec.CommandContext(ctx, found.Argv[0], found.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tmux: %w", err)
	}
	return nil
}
