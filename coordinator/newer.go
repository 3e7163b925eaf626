package coordinator

import (
	"context"
	"net/http"
)

// Chain returns one chain.
func (c *Client) Chain(ctx context.Context, id string) (Chain, error) {
	return ask[Chain](ctx, c, get(nil, "v1", "chains", id), "chain")
}

// ChangeChain changes what a chain is called and how it is described.
func (c *Client) ChangeChain(ctx context.Context, id string, change ChainChange) (Chain, error) {
	q := call{method: http.MethodPut, route: []string{"v1", "chains", id}, body: change, safe: true}
	return ask[Chain](ctx, c, q, "chain")
}

// DeleteChain deletes a chain. What waits in it is cancelled.
func (c *Client) DeleteChain(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "chains", id}})
	return err
}

// AssignChain lets only one agent claim the tasks of a chain.
func (c *Client) AssignChain(ctx context.Context, id, agent string) (Chain, error) {
	return ask[Chain](ctx, c, post(map[string]string{"agent_id": agent}, true, "v1", "chains", id, "assign-agent"), "chain")
}

// DetachChain lets any agent claim the tasks of a chain, and queues what the agent
// has of it.
func (c *Client) DetachChain(ctx context.Context, id, agent string) error {
	_, err := c.do(ctx, post(map[string]string{"agent_id": agent}, false, "v1", "chains", id, "detach"))
	return err
}

// Assign gives one queued task to an agent. Saying it again is no error.
func (c *Client) Assign(ctx context.Context, a Assignment) (Task, error) {
	return ask[Task](ctx, c, post(a, true, "v1", "tasks", "assign"), "task")
}

// SetStatus queues a task in progress again, or ends it in the place of its agent.
func (c *Client) SetStatus(ctx context.Context, task string, to TaskStatus) (Task, error) {
	return ask[Task](ctx, c, post(map[string]TaskStatus{"status": to}, false, "v1", "tasks", task, "status"), "task")
}

// RequestSession queues a task that asks an agent of a channel to start a session.
func (c *Client) RequestSession(ctx context.Context, n NewSession) (Task, error) {
	return ask[Task](ctx, c, post(n, false, "v1", "agents", "request-session"), "task")
}

// Notifications returns the agents that wait for a person.
func (c *Client) Notifications(ctx context.Context) ([]Notification, error) {
	return ask[[]Notification](ctx, c, get(nil, "v1", "notifications"), "notifications")
}

// Dismiss hides a notification until its agent has said something else of itself.
func (c *Client) Dismiss(ctx context.Context, agent, kind string) error {
	_, err := c.do(ctx, post(map[string]string{"agent_id": agent, "type": kind}, true, "v1", "notifications", "dismiss"))
	return err
}
