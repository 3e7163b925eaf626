package server

import (
	"context"
	"time"

	"gaffer/fleet"
)

// oneMorning is the answer to a request for a morning report.
type oneMorning struct {
	Report fleet.MorningReport `json:"report"`
}

func (h *runHandlers) morning(c *request) error {
	project, err := c.project()
	if err != nil {
		return err
	}
	zone, err := c.zone()
	if err != nil {
		return err
	}
	since, _, err := moment("since", c.r.URL.Query().Get("since"), zone)
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = fleet.MorningStart(time.Now().In(zone))
	}
	return respond(c, func(ctx context.Context) (oneMorning, error) {
		report, err := h.runs.Morning(ctx, fleet.MorningQuery{Project: project, Since: since})
		return oneMorning{report}, err
	})
}
