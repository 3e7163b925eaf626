package server

import (
	"context"
	"net/http"

	"gaffer/coordinator"
)

const (
	maxEvents     = 1000
	defaultEvents = 100
)

func (h *protocolHandlers) events(c *request) error {
	limit, err := c.number("limit", maxEvents, defaultEvents)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allEvents, error) {
		all, err := h.service.Events(ctx, limit)
		return allEvents{list(all)}, err
	})
}

func (h *protocolHandlers) addEvent(c *request) error {
	var ask coordinator.NewEvent
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.TaskID, &ask.Type, &ask.IdempotencyKey)
	if err := checkIDs("agent_id", ask.AgentID, "task_id", ask.TaskID); err != nil {
		return err
	}
	if err := checkNames("type", ask.Type, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	made, deduped, err := h.service.AddEvent(ctx, c.by, ask)
	switch {
	case err != nil:
		return err
	case deduped:
		c.quiet = true
		writeJSON(c.w, http.StatusOK, toldEvent{Deduped: true})
	default:
		c.about = "event " + made.ID
		writeJSON(c.w, c.route.status, toldEvent{Event: &made})
	}
	return nil
}

func (h *protocolHandlers) dashboard(c *request) error {
	return respond(c, func(ctx context.Context) (coordinator.Dashboard, error) {
		d, err := h.service.Dashboard(ctx)
		d.Agents, d.Channels, d.Chains = list(d.Agents), list(d.Channels), list(d.Chains)
		d.Tasks, d.Events = list(d.Tasks), list(d.Events)
		return d, err
	})
}
