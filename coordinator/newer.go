package coordinator

import (
	"context"
	"net/http"
)

// Chain returns one chain.
func (c *Client) Chain(ctx context.Context, id string) (Chain, error) {
	return ask[Chain](ctx, c, get(nil, "v1", "chains", id), "chain")
}

// ChangeChain changes the name and the description of a chain.
func (c *Client) ChangeChain(ctx context.Context, id string, change ChainChange) (Chain, error) {
	q := call{method: http.MethodPut, route: []string{"v1", "chains", id}, body: change, safe: true}
	return ask[Chain](ctx, c, q, "chain")
}

// DeleteChain deletes a chain and cancels its queued tasks.
func (c *Client) DeleteChain(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "chains", id}})
	return err
}

// AssignChain lets only one agent claim the tasks of a chain.
func (c *Client) AssignChain(ctx context.Context, id, agent string) (Chain, error) {
	return ask[Chain](ctx, c, post(map[string]string{"agent_id": agent}, true, "v1", "chains", id, "assign-agent"), "chain")
}

// DetachChain lets any agent claim the tasks of a chain again, and requeues the tasks
// that the agent has claimed.
func (c *Client) DetachChain(ctx context.Context, id, agent string) error {
	_, err := c.do(ctx, post(map[string]string{"agent_id": agent}, false, "v1", "chains", id, "detach"))
	return err
}

// Assign gives one queued task to an agent. Repeating it is not an error.
func (c *Client) Assign(ctx context.Context, a Assignment) (Task, error) {
	return ask[Task](ctx, c, post(a, true, "v1", "tasks", "assign"), "task")
}

// SetStatus requeues a task in progress, or ends it on behalf of its agent.
func (c *Client) SetStatus(ctx context.Context, task string, to TaskStatus) (Task, error) {
	return ask[Task](ctx, c, post(map[string]TaskStatus{"status": to}, false, "v1", "tasks", task, "status"), "task")
}

// RequestSession queues a task that asks an agent of a channel to start a session.
func (c *Client) RequestSession(ctx context.Context, n NewSession) (Task, error) {
	return ask[Task](ctx, c, post(n, false, "v1", "agents", "request-session"), "task")
}

// Notifications returns the notifications about agents that wait for a user.
func (c *Client) Notifications(ctx context.Context) ([]Notification, error) {
	return ask[[]Notification](ctx, c, get(nil, "v1", "notifications"), "notifications")
}

// Dismiss hides a notification until its agent reports a different state.
func (c *Client) Dismiss(ctx context.Context, agent, kind string) error {
	_, err := c.do(ctx, post(map[string]string{"agent_id": agent, "type": kind}, true, "v1", "notifications", "dismiss"))
	return err
}
