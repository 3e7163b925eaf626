package server

import (
	"context"
	"strings"

	"gaffer/coordinator"
)

func (h *protocolHandlers) channels(c *request) error {
	return respond(c, func(ctx context.Context) (allChannels, error) {
		all, err := h.service.Channels(ctx)
		return allChannels{list(all)}, err
	})
}

func (h *protocolHandlers) channel(c *request) error {
	name := strings.TrimSpace(c.r.PathValue("name"))
	if err := checkNames("name", name); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneChannel, error) {
		ch, err := h.service.Channel(ctx, name)
		return oneChannel{ch}, err
	})
}

func (h *protocolHandlers) addChannel(c *request) error {
	var ask coordinator.Channel
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.ID, &ask.Name, &ask.Description)
	if err := checkNames("name", ask.Name); err != nil {
		return err
	}
	if err := checkIDs("id", ask.ID); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneChannel, error) {
		ch, err := h.service.AddChannel(ctx, c.by, ask)
		c.about = "channel " + ch.ID
		return oneChannel{ch}, err
	})
}

func (h *protocolHandlers) chains(c *request) error {
	channel := c.r.URL.Query().Get("channel_id")
	if err := checkIDs("channel_id", channel); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allChains, error) {
		all, err := h.service.Chains(ctx)
		kept := []coordinator.Chain{}
		for _, chain := range all {
			if channel == "" || chain.ChannelID == channel {
				kept = append(kept, chain)
			}
		}
		return allChains{kept}, err
	})
}

func (h *protocolHandlers) addChain(c *request) error {
	var ask coordinator.Chain
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.ID, &ask.ChannelID, &ask.Name, &ask.Description)
	if err := checkIDs("id", ask.ID, "channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := checkNames("name", ask.Name); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneChain, error) {
		chain, err := h.service.AddChain(ctx, c.by, ask)
		c.about = "chain " + chain.ID
		return oneChain{chain}, err
	})
}

func (h *protocolHandlers) chain(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneChain, error) {
		chain, err := h.service.Chain(ctx, id)
		return oneChain{chain}, err
	})
}

func (h *protocolHandlers) changeChain(c *request) error {
	var ask coordinator.ChainChange
	id, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	trim(&ask.Name, &ask.Description)
	if err := checkNames("name", ask.Name); err != nil {
		return err
	}
	c.about = "chain " + id
	return respond(c, func(ctx context.Context) (oneChain, error) {
		chain, err := h.service.ChangeChain(ctx, c.by, id, ask)
		return oneChain{chain}, err
	})
}

func (h *protocolHandlers) dropChain(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	c.about = "chain " + id
	if err := h.service.DropChain(ctx, c.by, id); err != nil {
		return err
	}
	c.w.WriteHeader(c.route.status)
	return nil
}

// agentOfChain returns the id of the chain in the request's path and the id of the agent in its
// body.
func (h *protocolHandlers) agentOfChain(c *request) (id, agent string, err error) {
	var ask agentName
	if id, err = c.idAndBody(&ask); err != nil {
		return "", "", err
	}
	trim(&ask.AgentID)
	c.about = "chain " + id + " and agent " + ask.AgentID
	return id, ask.AgentID, checkIDs("agent_id", ask.AgentID)
}

func (h *protocolHandlers) assignChain(c *request) error {
	id, agent, err := h.agentOfChain(c)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneChain, error) {
		chain, err := h.service.AssignChain(ctx, c.by, id, agent)
		return oneChain{chain}, err
	})
}

func (h *protocolHandlers) detachChain(c *request) error {
	id, agent, err := h.agentOfChain(c)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.service.DetachChain(ctx, c.by, id, agent)
	})
}
