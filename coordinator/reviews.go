package coordinator

import (
	"context"
	"crypto/rand"
	"net/http"

	"gaffer/fleet"
)

// ReviewClient reads and changes the user's reviews of the changes that tasks have made. It also
// sends messages to the tasks' agents, and interrupts the agents.
type ReviewClient struct{ conn *connection }

// Review returns the user's review of a task's change. If no user has reviewed the change yet, the
// state of the review is open.
func (c *ReviewClient) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	return ask[fleet.Review](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "review"), "review")
}

// Change applies a user's action to the review of a task, and returns the updated review. If the
// action is a new comment without an idempotency key, Change adds a key, so that a retry of the
// request does not add the comment twice. Requests with other actions are not retried.
func (c *ReviewClient) Change(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	comment := a.Action == fleet.ActComment
	if comment && a.Comment.Key == "" {
		a.Comment.Key = rand.Text()
	}
	return ask[fleet.Review](ctx, c.conn, post(a, comment, "v1", "runs", run, "tasks", task, "review"), "review")
}

// Messages returns the user's messages to the agent of a task, the oldest first.
func (c *ReviewClient) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	return ask[[]fleet.Message](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "messages"), "messages")
}

// Send sends a message to the agent of a task. It uses only the fields ID, Run, Task, Text and Now
// of m. If the ID is empty, Send creates one, so that a retry of the request does not send the
// message twice.
func (c *ReviewClient) Send(ctx context.Context, m fleet.Message) (fleet.Message, error) {
	if m.ID == "" {
		m.ID = rand.Text()
	}
	body := map[string]any{"id": m.ID, "text": m.Text, "now": m.Now}
	return ask[fleet.Message](ctx, c.conn, post(body, true, "v1", "runs", m.Run, "tasks", m.Task, "messages"), "message")
}

// Withdraw withdraws a message that was not delivered to the agent yet. If the message was
// delivered, Withdraw returns an error that wraps an [*Error] for which [Error.Conflict] is true.
func (c *ReviewClient) Withdraw(ctx context.Context, run, task, message string) error {
	_, err := c.conn.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "runs", run, "tasks", task, "messages", message}, safe: true})
	return err
}

// Interrupt ends the current turn of a running agent (its work on the last message) and keeps its
// conversation. The request is not retried if its answer is lost, because a retry could end the
// agent's next turn.
func (c *ReviewClient) Interrupt(ctx context.Context, run, task string) error {
	_, err := c.conn.do(ctx, post(map[string]string{}, false, "v1", "runs", run, "tasks", task, "interrupt"))
	return err
}
