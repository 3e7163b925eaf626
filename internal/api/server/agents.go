package server

import (
	"context"
	"fmt"
	"net/http"

	"gaffer/coordinator"
)

func (h *protocolHandlers) heartbeat(c *request) error {
	var ask coordinator.Heartbeat
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.Name, &ask.ClaudeStatus, &ask.Status, &ask.CurrentTaskID)
	if err := checkIDs("agent_id", ask.AgentID, "current_task_id", ask.CurrentTaskID); err != nil {
		return err
	}
	if err := checkNames("name", ask.Name, "claude_status", ask.ClaudeStatus, "status", ask.Status); err != nil {
		return err
	}
	// Do not log heartbeats as changes, because agents send one every 15 seconds. If a heartbeat
	// changes the agent, the store has an event about it.
	c.quiet = true
	return respond(c, func(ctx context.Context) (oneAgent, error) {
		a, err := h.service.Heartbeat(ctx, c.by, ask)
		return oneAgent{a}, err
	})
}

func (h *protocolHandlers) agents(c *request) error {
	return respond(c, func(ctx context.Context) (allAgents, error) {
		all, err := h.service.Agents(ctx)
		return allAgents{list(all)}, err
	})
}

func (h *protocolHandlers) agent(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneAgent, error) {
		a, err := h.service.Agent(ctx, id)
		return oneAgent{a}, err
	})
}

func (h *protocolHandlers) currentTask(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneTask, error) {
		t, err := h.service.CurrentTask(ctx, id)
		return oneTask{t}, err
	})
}

const maxSubscriptions = 1000

func (h *protocolHandlers) subscribe(c *request) error {
	var s subscription
	id, err := c.idAndBody(&s)
	if err != nil {
		return err
	}
	if len(s.Subscriptions) > maxSubscriptions {
		return refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%d subscriptions: want at most %d", len(s.Subscriptions), maxSubscriptions))
	}
	for i := range s.Subscriptions {
		trim(&s.Subscriptions[i])
		if err := checkNames("subscription", s.Subscriptions[i]); err != nil {
			return err
		}
	}
	c.about = "agent " + id
	return respond(c, func(ctx context.Context) (oneAgent, error) {
		a, err := h.service.Subscribe(ctx, c.by, id, s.Subscriptions)
		return oneAgent{a}, err
	})
}

func (h *protocolHandlers) requestSession(c *request) error {
	var ask coordinator.NewSession
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.ChannelID, &ask.ChannelName)
	if err := checkIDs("channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := checkNames("channel_name", ask.ChannelName); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := h.service.RequestSession(ctx, c.by, ask)
		c.about = "task " + t.ID
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) notifications(c *request) error {
	return respond(c, func(ctx context.Context) (allNotifications, error) {
		all, err := h.service.Notifications(ctx)
		return allNotifications{list(all)}, err
	})
}

func (h *protocolHandlers) dismiss(c *request) error {
	var ask dismissing
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.Type)
	if err := checkIDs("agent_id", ask.AgentID, "type", ask.Type); err != nil {
		return err
	}
	c.about = "notification " + ask.Type + " of agent " + ask.AgentID
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.service.Dismiss(ctx, c.by, ask.AgentID, ask.Type)
	})
}
