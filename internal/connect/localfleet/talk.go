package localfleet

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Review returns the review of a task's change.
func (f *Fleet) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.opts.Engine.Review(ctx, store.TaskKey{Run: run, Task: task})
}

// ChangeReview does what a user wants with a review, and returns the review. After a
// review was sent back, a process must work on the run. An agent reviews nothing: the
// user decides.
func (f *Fleet) ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if f.opts.Agent != "" {
		return fleet.Review{}, &caller.RefusedError{What: "gaffer review", Agent: f.opts.Agent}
	}
	return f.opts.Engine.ActOnReview(ctx, store.TaskKey{Run: run, Task: task}, "", a)
}

// Messages returns the messages to the agent of a task, oldest first.
func (f *Fleet) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	return f.opts.Engine.Messages(ctx, store.TaskKey{Run: run, Task: task})
}

// Send sends a message to the agent of a task. Afterwards a process must work on the run.
func (f *Fleet) Send(ctx context.Context, m fleet.Message) (fleet.Message, error) {
	if err := f.MayChange(ctx, m.Run, "gaffer send"); err != nil {
		return m, err
	}
	return f.opts.Engine.Send(ctx, m)
}

// WithdrawMessage takes a message back that was not delivered yet.
func (f *Fleet) WithdrawMessage(ctx context.Context, run, task, message string) error {
	if err := f.MayChange(ctx, run, "gaffer send"); err != nil {
		return err
	}
	all, err := f.Messages(ctx, run, task)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.ID == message {
			return f.opts.Engine.WithdrawMessage(ctx, message, "")
		}
	}
	return &engine.NotFoundError{What: "message", ID: message}
}

// Interrupt ends the current turn of a running agent, and keeps its conversation.
func (f *Fleet) Interrupt(ctx context.Context, run, task string) error {
	if err := f.MayChange(ctx, run, "gaffer interrupt"); err != nil {
		return err
	}
	return f.opts.Engine.Interrupt(ctx, store.TaskKey{Run: run, Task: task}, "")
}
