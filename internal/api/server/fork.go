package server

import (
	"context"

	"gaffer/fleet"
)

func (h *newRunHandlers) turns(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allTurns, error) {
		all, err := h.service.Turns(ctx, run, task)
		return allTurns{list(all)}, err
	})
}

func (h *newRunHandlers) fork(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	var f forking
	if err := c.decode(&f); err != nil {
		return err
	}
	trim(&f.Agent, &f.Model, &f.Key)
	if err := checkNames("agent", f.Agent, "model", f.Model, "key", f.Key); err != nil {
		return err
	}
	if err := checkTexts("prompt", f.Prompt); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneFork, error) {
		made, warning, err := h.service.Fork(ctx, c.by, fleet.ForkRequest{Run: run, Task: task, At: f.At, Prompt: f.Prompt, Agent: f.Agent, Model: f.Model, Key: f.Key})
		c.about = "run " + made.Run
		return oneFork{made, warning}, err
	})
}
