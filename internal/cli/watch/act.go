package watch

import (
	"context"
	"fmt"

	"gaffer/fleet"
	screen "gaffer/internal/ui/tui/watch"
)

// Focus implements [screen.Backend]. The parameter at names the run and the task that the user
// looks at. Focus sends it to followFocus, and replaces a previous value that followFocus has not
// read yet.
func (f *feed) Focus(at screen.Focus) {
	select {
	case <-f.focuses:
	default:
	}
	f.focuses <- at
}

// Answer implements [screen.Backend].
func (f *feed) Answer(ctx context.Context, question string, a fleet.Reply) error {
	if f.fleet.Where() != "" {
		return f.fleet.Answer(ctx, question, a)
	}
	open, err := f.fleet.Questions(ctx)
	if err != nil {
		return err
	}
	if err := f.fleet.Answer(ctx, question, a); err != nil {
		return err
	}
	for _, q := range open {
		if q.ID == question && q.Run != "" {
			return f.ensureProcess(ctx, q.Run, "it is answered")
		}
	}
	return nil
}

// Cancel implements [screen.Backend].
func (f *feed) Cancel(ctx context.Context, run, task string) error {
	if err := f.fleet.Cancel(ctx, run, task, ""); err != nil {
		return err
	}
	return f.ensureProcess(ctx, run, "it is cancelled")
}

// Retry implements [screen.Backend].
func (f *feed) Retry(ctx context.Context, run, task string) error {
	if err := f.fleet.Retry(ctx, run, task); err != nil {
		return err
	}
	return f.ensureProcess(ctx, run, "it is queued again")
}

// ensureProcess makes sure that a process works on a run that the user has changed. The parameter
// change describes what the user changed. If no process can be started, the error's text begins
// with this description, so that the user sees that the change itself was stored.
func (f *feed) ensureProcess(ctx context.Context, run, change string) error {
	if err := f.fleet.EnsureProcess(ctx, run); err != nil {
		return fmt.Errorf("%s, but %w", change, err)
	}
	return nil
}
