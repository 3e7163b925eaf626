package server

import (
	"context"

	"gaffer/coordinator"
)

func (c *call) askAside() error {
	var q coordinator.NewQuestion
	if err := decode(c.w, c.r, &q); err != nil {
		return err
	}
	if err := names("from", q.From); err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (oneQuestion, error) {
		made, err := runs.Ask(ctx, c.by, q)
		c.about = "question " + made.ID
		return oneQuestion{made}, err
	})
}

func (c *call) question() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (oneQuestion, error) {
		q, err := runs.Question(ctx, id)
		return oneQuestion{q}, err
	})
}

func (c *call) withdraw() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	var ask withdrawal
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	c.about = "question " + id
	return giveRuns(c, func(ctx context.Context, runs Runs) (done, error) {
		return done{true}, runs.Withdraw(ctx, c.by, id, ask.Why)
	})
}
