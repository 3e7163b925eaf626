package hook

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/interactive"
	"gaffer/internal/supervisor"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

func programCommand(e *env.Env, program string) *cobra.Command {
	return &cobra.Command{
		Use:   program,
		Short: "Note what " + program + " does, and decide for it if a person is asked",
		Long: `Note what ` + program + ` does, for whoever looks at the fleet: idle, running or waiting
for a person. The event is JSON on stdin; all events may be given to it.

After a tool it notes files that were written outside a command, as
'gaffer hook post-tool-use' does, and an agent that does the same again and
again. Before a context is compacted it tells the activity feed. Where a person
must permit something, it asks for as long as the setting hooks.answer_within
says, by default not at all, and then leaves it to the agent's own prompt.`,
		Example: `  echo '{"hook_event_name": "Stop", "session_id": "1", "cwd": "/src/web"}' | gaffer hook ` + program,
		// A hook that is set up wrongly must not stop the agent either.
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			serve(cmd.Context(), e, program, args)
			return nil
		},
	}
}

// Main runs a hook without the rest of the command tree, which takes longer to
// build than the hook takes. It reports false, having done nothing, for a command
// line that is not plain: help and mistakes are the tree's.
func Main(e *env.Env, args []string) (code int, ok bool) {
	plain := len(args) == 1 || len(args) == 2 && strings.HasPrefix(args[1], "{")
	if !plain || !isProgram(args[0]) {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	serve(ctx, e, args[0], args[1:])
	return 0, true
}

func isProgram(name string) bool {
	return name == interactive.Claude || name == interactive.Codex || name == interactive.Gemini
}

// call is one call of a hook.
type call struct {
	*env.Env
	program string
	raw     jsontree.Value
	event   interactive.Event
	folder  interactive.Folder
	session interactive.Session
	deeds   []interactive.Deed
}

// serve takes an event. Everything but the wait for a person is done within the
// budget.
func serve(ctx context.Context, e *env.Env, program string, args []string) {
	c := &call{Env: e, program: program}
	if within(ctx, e, program, func(ctx context.Context) error { return c.take(ctx, args) }) {
		complain(e, program, safely(ctx, c.decide))
	}
}

// take notes the event and does what follows from it. What cannot be noted is no
// reason to leave the rest undone.
func (c *call) take(ctx context.Context, args []string) error {
	if err := c.read(args); err != nil {
		return err
	}
	errs := []error{c.note(ctx)}
	for _, d := range c.deeds {
		switch d.Kind {
		case interactive.NoteWritten:
			errs = append(errs, noteWritten(ctx, c.Env, c.raw))
		case interactive.NoteLoop:
			errs = append(errs, c.tellLoop(ctx, d.Text))
		case interactive.NoteContext:
			errs = append(errs, c.tellContext(ctx, d.Text))
		case interactive.Withdraw:
			errs = append(errs, c.withdraw(ctx, d.Text))
		}
	}
	return errors.Join(errs...)
}

// read takes the event from stdin, or from the last word: Codex gives it to the
// program that it notifies.
func (c *call) read(args []string) (err error) {
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "{") {
		c.raw, err = readEvent(strings.NewReader(args[n-1]))
	} else {
		c.raw, err = readEvent(c.In)
	}
	c.event = interactive.Read(c.program, c.raw)
	return err
}

// note folds the event into the document of its session.
func (c *call) note(ctx context.Context) error {
	state, err := c.StateDir()
	if err != nil {
		return err
	}
	if c.event.Session == "" {
		return nil
	}
	process := c.process()
	fold := func(s interactive.Session) interactive.Session {
		s, c.deeds = interactive.Fold(s, c.event, c.Now())
		s.Attempt = c.Getenv(supervisor.Mark)
		if process.PID > 0 || s.Process.PID == 0 {
			s.Process = process
		}
		return s
	}
	c.folder = interactive.In(state)
	c.session, err = c.folder.Update(ctx, c.program, c.event.Session, fold)
	if err != nil && c.deeds == nil {
		c.session = fold(interactive.Session{})
	}
	if err != nil {
		return fmt.Errorf("note the event: %w", err)
	}
	return nil
}

// process is the agent that has called the hook, if that can be told.
func (c *call) process() host.Process {
	pid := interactive.Ancestor(c.program)
	if pid == 0 {
		return host.Process{}
	}
	p, err := host.Identify(pid)
	if err != nil {
		return host.Process{}
	}
	return p
}
