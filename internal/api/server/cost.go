package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
	_ "time/tzdata" // data of the time zones, because the server's container may have none

	"gaffer/fleet"
)

// oneCost is the answer to a request for costs.
type oneCost struct {
	Cost fleet.CostReport `json:"cost"`
}

func (h *runHandlers) cost(c *request) error {
	q, err := costQuery(c)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneCost, error) {
		report, err := h.runs.Cost(ctx, q)
		return oneCost{report}, err
	})
}

// costTable answers with the same data as [runHandlers.cost], but as CSV, which a browser saves as
// a file.
func (h *runHandlers) costTable(c *request) error {
	q, err := costQuery(c)
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	report, err := h.runs.Cost(ctx, q)
	if err != nil {
		return err
	}
	var table bytes.Buffer
	if err := report.WriteCSV(&table); err != nil {
		return err
	}
	c.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="gaffer-cost-by-%s.csv"`, q.By))
	c.respondBytes("text/csv; charset=utf-8", table.Bytes())
	return nil
}

func costQuery(c *request) (q fleet.CostQuery, err error) {
	query := c.r.URL.Query()
	if q.Project, err = c.project(); err != nil {
		return q, err
	}
	if q.By = fleet.CostGrouping(query.Get("by")); q.By == "" {
		q.By = fleet.CostByDay
	}
	if !slices.Contains(fleet.CostGroupings(), q.By) {
		return q, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("by %.20q: want one of %v", q.By, fleet.CostGroupings()))
	}
	if q.Zone, err = c.zone(); err != nil {
		return q, err
	}
	if q.Since, _, err = moment("since", query.Get("since"), q.Zone); err != nil {
		return q, err
	}
	var day bool
	if q.Until, day, err = moment("until", query.Get("until"), q.Zone); day {
		q.Until = q.Until.AddDate(0, 0, 1) // include the whole day
	}
	return q, err
}

// zone returns the time zone that the query names, or UTC if it names none.
func (c *request) zone() (*time.Location, error) {
	name := c.r.URL.Query().Get("tz")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("tz %.60q: want the name of a time zone, such as Europe/Berlin", name))
	}
	return zone, nil
}

// moment parses text, the value of the query parameter name. If text is a day, at is the start of
// that day in the time zone, and day is true. If text is empty, at is zero.
func moment(name, text string, zone *time.Location) (at time.Time, day bool, err error) {
	if text == "" {
		return at, false, nil
	}
	if at, err = time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		err = refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.60q: want a day such as 2026-11-18, or a time such as 2026-11-18T09:00:00Z", name, text))
	}
	return at, false, err
}
