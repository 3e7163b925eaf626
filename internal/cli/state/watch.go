package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func watchCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show the state as it changes",
		Long: `Show the state as it is, and each change that any program makes to it.

A change is shown as the fields that differ; with --json as the whole state on
one line.`,
		Example: "  gaffer state watch\n  gaffer state watch --json | jq --unbuffered -r .workflowStep",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	count := cmd.Flags().Int("count", 0, "end after showing the state `N` times")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := Open(e)
		if err != nil {
			return err
		}
		return (&watcher{env: e, asJSON: *asJSON, count: *count}).run(cmd.Context(), s)
	}
	return cmd
}

// errEnough is the cause with which the command cancels its context when the state was printed as
// often as requested.
var errEnough = errors.New("shown often enough")

type watcher struct {
	env    *env.Env
	asJSON bool
	count  int // maximum number of times the state is printed; 0 means no limit
	last   jsontree.Value
	shown  int
}

// run prints the state and then each of its changes, until ctx ends, until the state was printed as
// often as requested, or until the output fails.
func (w *watcher) run(ctx context.Context, s *workflow.Store) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := s.Watch(ctx, func(state jsontree.Value, err error) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.env.Talk("gaffer: %s", display.PrintableLines(err.Error()))
			return
		}
		if err := w.show(state); err != nil {
			cancel(err)
		}
	})
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errEnough):
		return nil
	case cause != nil:
		return cause
	}
	return err
}

func (w *watcher) show(state jsontree.Value) error {
	if err := w.print(state); err != nil {
		return err
	}
	w.last = state
	if w.shown++; w.shown == w.count {
		return errEnough
	}
	return nil
}

func (w *watcher) print(state jsontree.Value) error {
	if w.asJSON {
		var line bytes.Buffer
		if err := json.Compact(&line, state.Raw()); err != nil {
			return err
		}
		return w.env.Printf("%s\n", &line)
	}
	for _, c := range workflow.Changes(w.last, state) {
		line := c.Field + " = " + c.Value.String()
		if c.Value.Absent() {
			line = c.Field + " cleared"
		}
		if err := w.env.Printf("%s\n", display.Line(line, 200)); err != nil {
			return err
		}
	}
	return nil
}
