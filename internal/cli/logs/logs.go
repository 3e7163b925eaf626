// Package logs is the command 'gaffer logs': what an agent has written.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("tail") && o.tail < 0 {
			return exit.Usage(fmt.Errorf("--tail %d: want 0 or more", o.tail))
		}
		return open.With(cmd.Context(), e, func(a *app.App) error { return logs(cmd.Context(), e, a, args[0], o) })
	}
	return cmd
}

func logs(ctx context.Context, e *env.Env, a *app.App, name string, o options) error {
	t, err := a.FindTask(ctx, name)
	if err != nil {
		return err
	}
	t, err = started(ctx, a, t, o.follow)
	if err != nil {
		return err
	}
	path, err := pathOf(e, t)
	if err != nil {
		return err
	}
	f, err := openLog(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := seek(f, o.tail); err != nil {
		return err
	}
	out := e.Out
	if env.IsTerminal(e.Out) {
		shown := safe.New(e.Out)
		defer shown.End()
		out = shown
	}
	if !o.follow {
		_, err = io.Copy(out, f)
		return err
	}
	return follow(ctx, f, out, ended(ctx, a, t))
}

// started waits for a task that has not begun if it is to be followed.
func started(ctx context.Context, a *app.App, t fleet.Task, wait bool) (fleet.Task, error) {
	hasLog := func(t fleet.Task) bool { return t.Attempt != nil && t.Attempt.Log != "" }
	if hasLog(t) || !wait {
		return t, nil
	}
	err := a.Follow(ctx, t.Run, pause, func(r fleet.Run) error {
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

func pathOf(e *env.Env, t fleet.Task) (string, error) {
	if t.Attempt == nil || t.Attempt.Log == "" {
		return "", exit.NotFound(fmt.Errorf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status))
	}
	if filepath.IsAbs(t.Attempt.Log) {
		return t.Attempt.Log, nil
	}
	p, err := e.Project()
	return filepath.Join(p.Root, t.Attempt.Log), err
}

// openLog waits for nothing, whatever stands in the log's place.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	return f, nil
}

// pause is how long to wait before looking again at something that grows.
const pause = 200 * time.Millisecond

// ended reports whether the attempt that ran has ended.
func ended(ctx context.Context, a *app.App, t fleet.Task) func() (bool, error) {
	return func() (bool, error) {
		now, err := a.FindTask(ctx, t.Run+"/"+t.ID)
		if err != nil {
			return false, err
		}
		return now.Status != fleet.Running || now.Attempt == nil || now.Attempt.ID != t.Attempt.ID, nil
	}
}

// follow copies what is added until the attempt has ended. That is asked before
// the last copy, so that nothing written before the end is missed.
func follow(ctx context.Context, from io.Reader, to io.Writer, over func() (bool, error)) error {
	for {
		last, err := over()
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil || last {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
