package server

import (
	"context"
	"fmt"
	"net/http"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

const maxTasks = 100_000

func (h *protocolHandlers) tasks(c *request) error {
	q := c.r.URL.Query()
	f := TaskFilter{
		Channel: q.Get("channel_id"), Chain: q.Get("chain_id"), Agent: q.Get("agent_id"),
		Status: coordinator.TaskStatus(q.Get("status")),
	}
	switch f.Status {
	case "", coordinator.Queued, coordinator.InProgress, coordinator.Done, coordinator.Failed:
	default:
		return refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("status %.40q: want queued, in_progress, done or failed", f.Status))
	}
	if err := checkIDs("channel_id", f.Channel, "chain_id", f.Chain, "agent_id", f.Agent); err != nil {
		return err
	}
	var err error
	if f.Limit, err = c.number("limit", maxTasks, 0); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allTasks, error) {
		all, err := h.service.Tasks(ctx, f)
		return allTasks{list(all)}, err
	})
}

func (h *protocolHandlers) task(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneTask, error) {
		t, err := h.service.Task(ctx, id)
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) addTask(c *request) error {
	var ask coordinator.NewTask
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.ChannelID, &ask.ChainID, &ask.Title, &ask.Type, &ask.ExecutionMode)
	if err := checkIDs("channel_id", ask.ChannelID, "chain_id", ask.ChainID); err != nil {
		return err
	}
	if err := checkNames("type", ask.Type, "execution_mode", ask.ExecutionMode); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := h.service.AddTask(ctx, c.by, ask)
		c.about = "task " + t.ID
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) claim(c *request) error {
	var ask coordinator.Claim
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.Channel, &ask.ChannelID, &ask.IdempotencyKey)
	if err := checkIDs("agent_id", ask.AgentID, "channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := checkNames("channel", ask.Channel, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := h.service.Claim(ctx, c.by, ask)
		c.about = "task " + t.ID + " by agent " + ask.AgentID
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) complete(c *request) error { return h.report(c, h.service.Complete) }
func (h *protocolHandlers) fail(c *request) error     { return h.report(c, h.service.Fail) }

func (h *protocolHandlers) report(c *request, do func(context.Context, credential.Identity, coordinator.Report) (coordinator.Task, error)) error {
	var ask coordinator.Report
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.Reason)
	if err := checkIDs("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	c.about = "task " + ask.TaskID + " by agent " + ask.AgentID
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := do(ctx, c.by, ask)
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) addInput(c *request) error {
	var ask coordinator.NewInput
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.Kind, &ask.IdempotencyKey)
	if err := checkIDs("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	if err := checkNames("kind", ask.Kind, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneInput, error) {
		in, err := h.service.AddInput(ctx, c.by, ask)
		c.about = "input " + in.ID + " of task " + ask.TaskID
		return oneInput{in}, err
	})
}

func (h *protocolHandlers) claimInput(c *request) error {
	var ask inputClaim
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID)
	if err := checkIDs("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneInput, error) {
		in, err := h.service.ClaimInput(ctx, c.by, ask.TaskID, ask.AgentID)
		c.about = "input " + in.ID + " by agent " + ask.AgentID
		return oneInput{in}, err
	})
}

func (h *protocolHandlers) assign(c *request) error {
	var ask coordinator.Assignment
	if err := c.decode(&ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.IdempotencyKey)
	if err := checkIDs("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	if err := checkNames("idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	c.about = "task " + ask.TaskID + " to agent " + ask.AgentID
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := h.service.Assign(ctx, c.by, ask)
		return oneTask{t}, err
	})
}

func (h *protocolHandlers) setStatus(c *request) error {
	var ask statusChange
	id, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	c.about = "task " + id
	return respond(c, func(ctx context.Context) (oneTask, error) {
		t, err := h.service.SetStatus(ctx, c.by, id, ask.Status)
		return oneTask{t}, err
	})
}
