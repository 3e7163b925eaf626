package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"gaffer/coordinator"
)

const (
	maxPlan = 32 << 20 // bytes of a request with a plan
	// submits is how many plans may be received at the same time: each may be large.
	submits = 4
)

// submitRun receives a plan. Its body may be much longer than that of other requests.
func (c *call) submitRun() error {
	runs, err := c.theRuns()
	if err != nil {
		return err
	}
	select {
	case c.submitting <- struct{}{}:
		defer func() { <-c.submitting }()
	default:
		p := refuse(http.StatusServiceUnavailable, "busy", fmt.Sprintf("%d plans are being taken in: try again", submits))
		p.header = map[string]string{"Retry-After": "1"}
		return p
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxPlan))
	if err != nil {
		return unread(err)
	}
	var ask coordinator.NewRun
	if err := json.Unmarshal(data, &ask); err != nil {
		return badJSON(data, err)
	}
	trim(&ask.Project, &ask.On, &ask.Key)
	if err := names("project", ask.Project, "on", ask.On, "key", ask.Key); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneRun, error) {
		run, err := runs.Submit(ctx, c.by, ask)
		c.about = "run " + run.ID
		return oneRun{run}, err
	})
}

func (c *call) cancelRun() error {
	run, err := c.pathID()
	if err != nil {
		return err
	}
	var ask cancellation
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.Task, &ask.Why)
	if err := ids("task", ask.Task); err != nil {
		return err
	}
	c.about = about(run, ask.Task)
	return giveRuns(c, func(ctx context.Context, runs Runs) (done, error) {
		return done{true}, runs.Cancel(ctx, c.by, run, ask.Task, ask.Why)
	})
}

func (c *call) retryTask() error {
	run, err := c.pathID()
	if err != nil {
		return err
	}
	var ask again
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.Task)
	if err := ids("task", ask.Task); err != nil {
		return err
	}
	c.about = about(run, ask.Task)
	return giveRuns(c, func(ctx context.Context, runs Runs) (done, error) {
		return done{true}, runs.Retry(ctx, c.by, run, ask.Task)
	})
}

func (c *call) resumeRun() error {
	run, err := c.pathID()
	if err != nil {
		return err
	}
	if err := decode(c.w, c.r, &resumption{}); err != nil {
		return err
	}
	c.about = about(run, "")
	return giveRuns(c, func(ctx context.Context, runs Runs) (done, error) {
		return done{true}, runs.Resume(ctx, c.by, run)
	})
}

func about(run, task string) string {
	if task == "" {
		return "run " + run
	}
	return "task " + task + " of run " + run
}

func (c *call) answerQuestion() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	var ask questionAnswer
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	c.about = "question " + id
	return giveRuns(c, func(ctx context.Context, runs Runs) (done, error) {
		return done{true}, runs.Answer(ctx, c.by, id, ask.Text, ask.Deny)
	})
}
