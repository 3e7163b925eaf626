package localfleet

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Messages returns the messages to the agent of a task, oldest first.
func (f *Fleet) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	return f.opts.Engine.Messages(ctx, store.TaskKey{Run: run, Task: task})
}

// Send stores a message to the agent of a task. Afterwards, the caller must make sure that a
// process works on the run, so that the agent receives the message.
func (f *Fleet) Send(ctx context.Context, m fleet.Message) (fleet.Message, error) {
	if err := f.MayChange(ctx, m.Run, "gaffer send"); err != nil {
		return m, err
	}
	return f.opts.Engine.Send(ctx, m)
}

// WithdrawMessage withdraws a message that the agent has not received yet.
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

// Interrupt asks the worker of a running task to stop what the agent is doing now. If messages
// already wait for the agent, the agent continues with them. If not, the task is cancelled, and a
// later message can continue the conversation.
func (f *Fleet) Interrupt(ctx context.Context, run, task string) error {
	if err := f.MayChange(ctx, run, "gaffer interrupt"); err != nil {
		return err
	}
	return f.opts.Engine.Interrupt(ctx, store.TaskKey{Run: run, Task: task}, "")
}
