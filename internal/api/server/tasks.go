package server

import (
	"context"
	"fmt"
	"net/http"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

func (c *call) tasks() error {
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
	if err := ids("channel_id", f.Channel, "chain_id", f.Chain, "agent_id", f.Agent); err != nil {
		return err
	}
	var err error
	if f.Limit, err = c.number("limit", maxTaskList); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (allTasks, error) {
		all, err := c.protocol.Tasks(ctx, f)
		return allTasks{list(all)}, err
	})
}

func (c *call) task() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.Task(ctx, id)
		return oneTask{t}, err
	})
}

func (c *call) addTask() error {
	var ask coordinator.NewTask
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.ChannelID, &ask.ChainID, &ask.Title, &ask.Type, &ask.ExecutionMode)
	if err := ids("channel_id", ask.ChannelID, "chain_id", ask.ChainID); err != nil {
		return err
	}
	if err := names("type", ask.Type, "execution_mode", ask.ExecutionMode); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.AddTask(ctx, c.by, ask)
		c.about = "task " + t.ID
		return oneTask{t}, err
	})
}

func (c *call) claim() error {
	var ask coordinator.Claim
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.Channel, &ask.ChannelID, &ask.IdempotencyKey)
	if err := ids("agent_id", ask.AgentID, "channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := names("channel", ask.Channel, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.Claim(ctx, c.by, ask)
		c.about = "task " + t.ID + " by agent " + ask.AgentID
		return oneTask{t}, err
	})
}

func (c *call) complete() error { return c.report(c.protocol.Complete) }
func (c *call) fail() error     { return c.report(c.protocol.Fail) }

func (c *call) report(do func(context.Context, credential.Identity, coordinator.Report) (coordinator.Task, error)) error {
	var ask coordinator.Report
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.Reason)
	if err := ids("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	c.about = "task " + ask.TaskID + " by agent " + ask.AgentID
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := do(ctx, c.by, ask)
		return oneTask{t}, err
	})
}

func (c *call) addInput() error {
	var ask coordinator.NewInput
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID, &ask.Kind, &ask.IdempotencyKey)
	if err := ids("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	if err := names("kind", ask.Kind, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneInput, error) {
		in, err := c.protocol.AddInput(ctx, c.by, ask)
		c.about = "input " + in.ID + " of task " + ask.TaskID
		return oneInput{in}, err
	})
}

func (c *call) claimInput() error {
	var ask inputClaim
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.TaskID, &ask.AgentID)
	if err := ids("task_id", ask.TaskID, "agent_id", ask.AgentID); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneInput, error) {
		in, err := c.protocol.ClaimInput(ctx, c.by, ask.TaskID, ask.AgentID)
		c.about = "input " + in.ID + " by agent " + ask.AgentID
		return oneInput{in}, err
	})
}
