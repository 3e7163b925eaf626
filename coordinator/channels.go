package coordinator

import (
	"context"
	"net/http"
)

// ChannelClient lists and creates channels. A channel is a named queue of tasks.
type ChannelClient struct{ conn *connection }

// List returns all channels.
func (c *ChannelClient) List(ctx context.Context) ([]Channel, error) {
	return ask[[]Channel](ctx, c.conn, get(nil, "v1", "channels"), "channels")
}

// ByName returns the channel with this name.
func (c *ChannelClient) ByName(ctx context.Context, name string) (Channel, error) {
	return ask[Channel](ctx, c.conn, get(nil, "v1", "channels", "by-name", name), "channel")
}

// Add creates a channel. If a channel with this name exists, gaffer's coordinator returns the
// existing channel. Other implementations of the protocol may return an error.
func (c *ChannelClient) Add(ctx context.Context, name, description string) (Channel, error) {
	body := map[string]string{"name": name, "description": description}
	return ask[Channel](ctx, c.conn, post(body, false, "v1", "channels"), "channel")
}

// ChainClient lists and changes chains. A chain is a sequence of tasks that run one after the
// other.
type ChainClient struct{ conn *connection }

// List returns all chains.
func (c *ChainClient) List(ctx context.Context) ([]Chain, error) {
	return ask[[]Chain](ctx, c.conn, get(nil, "v1", "chains"), "chains")
}

// Add creates a chain.
func (c *ChainClient) Add(ctx context.Context, n NewChain) (Chain, error) {
	return ask[Chain](ctx, c.conn, post(n, false, "v1", "chains"), "chain")
}

// Get returns one chain.
func (c *ChainClient) Get(ctx context.Context, id string) (Chain, error) {
	return ask[Chain](ctx, c.conn, get(nil, "v1", "chains", id), "chain")
}

// Change changes the name and the description of a chain. It does not change the chain's status.
func (c *ChainClient) Change(ctx context.Context, id string, change ChainChange) (Chain, error) {
	q := call{method: http.MethodPut, route: []string{"v1", "chains", id}, body: change, safe: true}
	return ask[Chain](ctx, c.conn, q, "chain")
}

// Delete deletes a chain and cancels its queued tasks. If a task of the chain is in progress,
// Delete returns an error that wraps an [*Error] for which [Error.Conflict] is true.
func (c *ChainClient) Delete(ctx context.Context, id string) error {
	_, err := c.conn.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "chains", id}})
	return err
}

// Assign reserves the tasks of a chain for one agent: no other agent can claim them.
func (c *ChainClient) Assign(ctx context.Context, id, agent string) (Chain, error) {
	return ask[Chain](ctx, c.conn, post(map[string]string{"agent_id": agent}, true, "v1", "chains", id, "assign-agent"), "chain")
}

// Detach takes a chain from the given agent, so that any agent can claim the chain's tasks. Tasks
// of the chain that the agent works on are queued again. If the chain is not assigned to the agent
// and the agent works on none of the chain's tasks, Detach returns an error that wraps an [*Error]
// for which [Error.Conflict] is true.
func (c *ChainClient) Detach(ctx context.Context, id, agent string) error {
	_, err := c.conn.do(ctx, post(map[string]string{"agent_id": agent}, false, "v1", "chains", id, "detach"))
	return err
}

// NewChain describes a chain to create.
type NewChain struct {
	ChannelID   string `json:"channel_id,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}
