package coordinator

import (
	"context"
	"crypto/rand"
	"net/http"

	"gaffer/fleet"
)

// ReviewClient reviews the changes of tasks and exchanges messages with their agents.
type ReviewClient struct{ conn *connection }

// Review returns the user's review of a task's change. If no user has reviewed the change yet, the
// state of the review is open.
func (c *ReviewClient) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	return ask[fleet.Review](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "review"), "review")
}

// Change applies a user's action to a review and returns the changed review. If the action is a new
// comment without a key, Change adds a key, so that the request can be repeated. Requests for other
// actions are never repeated.
func (c *ReviewClient) Change(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	comment := a.Action == fleet.ActComment
	if comment && a.Comment.Key == "" {
		a.Comment.Key = rand.Text()
	}
	return ask[fleet.Review](ctx, c.conn, post(a, comment, "v1", "runs", run, "tasks", task, "review"), "review")
}

// Messages returns the messages to the agent of a task, the oldest first.
func (c *ReviewClient) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	return ask[[]fleet.Message](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "messages"), "messages")
}

// Send sends a message to the agent of a task. Of m, only Run, Task, Text, Now and the id are sent.
// A message without an id gets an id, so that the request can be repeated.
func (c *ReviewClient) Send(ctx context.Context, m fleet.Message) (fleet.Message, error) {
	if m.ID == "" {
		m.ID = rand.Text()
	}
	body := map[string]any{"id": m.ID, "text": m.Text, "now": m.Now}
	return ask[fleet.Message](ctx, c.conn, post(body, true, "v1", "runs", m.Run, "tasks", m.Task, "messages"), "message")
}

// Withdraw withdraws a message that was not delivered yet. If it was delivered, Withdraw
// returns an [*Error] that is a conflict; see [Error.Conflict].
func (c *ReviewClient) Withdraw(ctx context.Context, run, task, message string) error {
	_, err := c.conn.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "runs", run, "tasks", task, "messages", message}, safe: true})
	return err
}

// Interrupt ends the current turn of a running agent and keeps its conversation. The request is
// never repeated, because the agent may have started another turn in the meantime.
func (c *ReviewClient) Interrupt(ctx context.Context, run, task string) error {
	_, err := c.conn.do(ctx, post(map[string]string{}, false, "v1", "runs", run, "tasks", task, "interrupt"))
	return err
}
