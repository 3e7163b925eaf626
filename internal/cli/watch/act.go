package watch

import (
	"context"
	"fmt"

	"gaffer/internal/cli/env"
	screen "gaffer/internal/tui/watch"
)

// Look implements [screen.World]: the newest is what counts.
func (f *feed) Look(at screen.Look) {
	select {
	case <-f.looks:
	default:
	}
	f.looks <- at
}

// Answer implements [screen.World].
func (f *feed) Answer(ctx context.Context, question, text string, deny bool) error {
	return f.fleet.Answer(ctx, question, text, deny)
}

// Cancel implements [screen.World].
func (f *feed) Cancel(ctx context.Context, run, task string) error {
	return f.fleet.Cancel(ctx, run, task, "")
}

// Retry implements [screen.World]. A run of this machine that nobody looks after
// does not begin by itself.
func (f *feed) Retry(ctx context.Context, run, task string) (string, error) {
	if err := f.fleet.Retry(ctx, run, task); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s is queued again", env.Printable(task))
	if r, err := f.fleet.Run(ctx, run); err == nil && f.fleet.Where() == "" && !r.Owner.Alive {
		text += fmt.Sprintf("; nobody looks after its run, 'gaffer resume %s' does", env.Printable(run))
	}
	return text, nil
}
