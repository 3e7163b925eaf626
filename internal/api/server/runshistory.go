package server

import (
	"context"
	"strconv"

	"gaffer/coordinator"
)

func (h *runHandlers) lanes(c *request) error {
	return respond(c, func(ctx context.Context) (allLanes, error) {
		all, err := h.runs.Lanes(ctx)
		return allLanes{list(all)}, err
	})
}

func (h *runHandlers) runAttempts(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (runAttempts, error) {
		all, err := h.runs.RunAttempts(ctx, id)
		return runAttempts{list(all)}, err
	})
}

func (h *runHandlers) runQuestions(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (runQuestions, error) {
		all, err := h.runs.RunQuestions(ctx, id)
		return runQuestions{list(all)}, err
	})
}

const (
	maxChanges     = 2000
	defaultChanges = 500
)

// runChanges answers with a page of a run's changes. The limit counts the changes that are read
// from the store, and some of them are never sent to clients. So a page may have fewer changes than
// the limit, even none, and still not be the last.
func (h *runHandlers) runChanges(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	after, err := c.offset("after", -1) // -1 is the position before the first change
	if err != nil {
		return err
	}
	limit, err := c.number("limit", maxChanges, defaultChanges)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (coordinator.PastChanges, error) {
		all, next, err := h.runs.RunChanges(ctx, id, after, limit)
		p := coordinator.PastChanges{Changes: make([]coordinator.PastChange, len(all))}
		for i, u := range all {
			p.Changes[i] = coordinator.PastChange{ID: strconv.FormatInt(u.Seq, 10), Update: u.Update}
		}
		if next > 0 {
			p.Next = strconv.FormatInt(next, 10)
		}
		return p, err
	})
}
