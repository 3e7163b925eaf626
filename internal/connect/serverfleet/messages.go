package serverfleet

import (
	"context"

	"gaffer/fleet"
)

// Messages returns the messages to the agent of a task, oldest first.
func (f *Fleet) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	list, err := f.client.Reviews.Messages(ctx, run, task)
	return list, f.problem(err)
}

// Send sends a message to the agent of a task.
func (f *Fleet) Send(ctx context.Context, m fleet.Message) (fleet.Message, error) {
	if err := f.refuse("gaffer send"); err != nil {
		return m, err
	}
	sent, err := f.client.Reviews.Send(ctx, m)
	return sent, f.problem(err)
}

// WithdrawMessage withdraws a message that the agent has not received yet.
func (f *Fleet) WithdrawMessage(ctx context.Context, run, task, message string) error {
	if err := f.refuse("gaffer send"); err != nil {
		return err
	}
	return f.problem(f.client.Reviews.Withdraw(ctx, run, task, message))
}

// Interrupt asks the worker of a running task to stop what the agent is doing now. If messages
// already wait for the agent, the agent continues with them. If not, the task is cancelled, and a
// later message can continue the conversation.
func (f *Fleet) Interrupt(ctx context.Context, run, task string) error {
	if err := f.refuse("gaffer interrupt"); err != nil {
		return err
	}
	return f.problem(f.client.Reviews.Interrupt(ctx, run, task))
}
