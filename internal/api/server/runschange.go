package server

import (
	"cmp"
	"context"
	"fmt"

	"gaffer/coordinator"
)

const (
	maxPlan = 32 << 20 // maximum length of a request with a plan, in bytes
	// maxSubmits is how many plans the server receives at the same time. It limits the memory that
	// they need.
	maxSubmits = 4
)

// submitRun receives a plan and starts a run. Because plans may be long, submitRun refuses the
// request if maxSubmits other plans are being received.
func (h *runHandlers) submitRun(c *request) error {
	select {
	case h.receiving <- struct{}{}:
		defer func() { <-h.receiving }()
	default:
		return temporary("busy", fmt.Sprintf("%d plans are being taken in: try again", maxSubmits))
	}
	var ask coordinator.NewRun
	if err := c.decodeUpTo(maxPlan, &ask); err != nil {
		return err
	}
	trim(&ask.Project, &ask.On, &ask.Key)
	if err := cmp.Or(checkPath("project", ask.Project), checkNames("on", ask.On, "key", ask.Key)); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneRun, error) {
		run, err := h.runs.Submit(ctx, c.by, ask)
		c.about = "run " + run.ID
		return oneRun{run}, err
	})
}

func (h *runHandlers) cancelRun(c *request) error {
	var ask cancellation
	run, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	trim(&ask.Task, &ask.Why)
	if err := checkIDs("task", ask.Task); err != nil {
		return err
	}
	c.about = taskName(run, ask.Task)
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Cancel(ctx, c.by, run, ask.Task, ask.Why)
	})
}

func (h *runHandlers) retryTask(c *request) error {
	var ask again
	run, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	trim(&ask.Task)
	if err := checkIDs("task", ask.Task); err != nil {
		return err
	}
	c.about = taskName(run, ask.Task)
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Retry(ctx, c.by, run, ask.Task, ask.Budget)
	})
}

func (h *runHandlers) resumeRun(c *request) error {
	var ask resumption
	run, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	c.about = taskName(run, "")
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Resume(ctx, c.by, run, ask.Budget)
	})
}

func taskName(run, task string) string {
	if task == "" {
		return "run " + run
	}
	return "task " + task + " of run " + run
}
