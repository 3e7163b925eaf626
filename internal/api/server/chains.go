package server

import (
	"context"

	"gaffer/coordinator"
)

func (c *call) chain() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneChain, error) {
		chain, err := c.protocol.Chain(ctx, id)
		return oneChain{chain}, err
	})
}

func (c *call) changeChain() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	var ask coordinator.ChainChange
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.Name, &ask.Description)
	if err := names("name", ask.Name); err != nil {
		return err
	}
	c.about = "chain " + id
	return give(c, func(ctx context.Context) (oneChain, error) {
		chain, err := c.protocol.ChangeChain(ctx, c.by, id, ask)
		return oneChain{chain}, err
	})
}

func (c *call) dropChain() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	c.about = "chain " + id
	if err := c.protocol.DropChain(ctx, c.by, id); err != nil {
		return err
	}
	c.w.WriteHeader(c.route.status)
	return nil
}

// agentOfChain reads the chain and the agent of a request.
func (c *call) agentOfChain() (id, agent string, err error) {
	if id, err = c.pathID(); err != nil {
		return "", "", err
	}
	var ask agentName
	if err := decode(c.w, c.r, &ask); err != nil {
		return "", "", err
	}
	trim(&ask.AgentID)
	c.about = "chain " + id + " and agent " + ask.AgentID
	return id, ask.AgentID, ids("agent_id", ask.AgentID)
}

func (c *call) assignChain() error {
	id, agent, err := c.agentOfChain()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneChain, error) {
		chain, err := c.protocol.AssignChain(ctx, c.by, id, agent)
		return oneChain{chain}, err
	})
}

func (c *call) detachChain() error {
	id, agent, err := c.agentOfChain()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (done, error) {
		return done{true}, c.protocol.DetachChain(ctx, c.by, id, agent)
	})
}

func (c *call) assign() error {
	var ask coordinator.Assignment
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.IdempotencyKey)
	if err := ids("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	if err := names("idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	c.about = "task " + ask.TaskID + " to agent " + ask.AgentID
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.Assign(ctx, c.by, ask)
		return oneTask{t}, err
	})
}

func (c *call) setStatus() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	var ask statusChange
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	c.about = "task " + id
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.SetStatus(ctx, c.by, id, ask.Status)
		return oneTask{t}, err
	})
}

func (c *call) requestSession() error {
	var ask coordinator.NewSession
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.ChannelID, &ask.ChannelName)
	if err := ids("channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := names("channel_name", ask.ChannelName); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.RequestSession(ctx, c.by, ask)
		c.about = "task " + t.ID
		return oneTask{t}, err
	})
}

func (c *call) notifications() error {
	return give(c, func(ctx context.Context) (allNotifications, error) {
		all, err := c.protocol.Notifications(ctx)
		return allNotifications{list(all)}, err
	})
}

func (c *call) dismiss() error {
	var ask dismissing
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.Type)
	if err := ids("agent_id", ask.AgentID, "type", ask.Type); err != nil {
		return err
	}
	c.about = "notification " + ask.Type + " of agent " + ask.AgentID
	return give(c, func(ctx context.Context) (done, error) {
		return done{true}, c.protocol.Dismiss(ctx, c.by, ask.AgentID, ask.Type)
	})
}
