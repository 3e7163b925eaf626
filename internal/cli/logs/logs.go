// Package logs is the command 'gaffer logs': what an agent has written.
package logs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
	"gaffer/internal/tui/safe"
)

// options is what the command line says.
type options struct {
	follow bool
	tail   int // lines; all if negative
}

// New makes the command.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Aliases:               []string{"log"},
		Use:                   "logs TASK [-f] [--tail N]",
		DisableFlagsInUseLine: true,
		Short:                 "Print what a task's agent has written",
		Long: `Print the log of a task, with the output of all its attempts. Into a pipe or a
file it goes as it is; on a terminal colours are kept and whatever else could
steer the terminal is made visible.`,
		Example:           "  gaffer logs api\n  gaffer logs api -f --tail 20\n  gaffer logs abc1/api | jq -r 'select(.type == \"result\").result'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: open.Tasks(e, func(t fleet.Task) bool { return t.Attempt != nil }),
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the attempt ends")
	cmd.Flags().IntVar(&o.tail, "tail", -1, "begin with the last `N` lines")
	open.FleetFlags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("tail") && o.tail < 0 {
			return exit.Usage(fmt.Errorf("--tail %d: want 0 or more", o.tail))
		}
		return open.WithFleet(cmd.Context(), e, func(f open.Fleet) error { return logs(cmd.Context(), e, f, args[0], o) })
	}
	return cmd
}

func logs(ctx context.Context, e *env.Env, f open.Fleet, name string, o options) error {
	t, err := f.FindTask(ctx, name)
	if err != nil {
		return err
	}
	t, err = started(ctx, f, t, o.follow)
	if err != nil {
		return err
	}
	out := e.Out
	if env.IsTerminal(e.Out) {
		shown := safe.New(e.Out)
		defer shown.End()
		out = shown
	}
	return f.Log(ctx, t, out, o.tail, o.follow)
}

// pause is how long to wait before looking again at a task that has not begun.
const pause = 200 * time.Millisecond

// started waits for a task that has not begun if it is to be followed. Where the
// log is only matters on this machine.
func started(ctx context.Context, f open.Fleet, t fleet.Task, wait bool) (fleet.Task, error) {
	hasLog := func(t fleet.Task) bool { return t.Attempt != nil && (t.Attempt.Log != "" || f.Where() != "") }
	if hasLog(t) || !wait {
		return t, nil
	}
	err := f.Follow(ctx, t.Run, pause, func(r fleet.Run) error {
		for _, now := range r.Tasks {
			if now.ID == t.ID {
				t = now
			}
		}
		if hasLog(t) || t.Status.Final() {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return t, err
}

// errFound ends a search.
var errFound = errors.New("found")
