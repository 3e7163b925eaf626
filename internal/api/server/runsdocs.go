package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gaffer/coordinator"
)

func (h *runHandlers) statusDocument(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	text, err := h.runs.Document(ctx, id)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(c.route.status)
	var out bytes.Buffer
	json.HTMLEscape(&out, text)
	_, _ = out.WriteTo(c.w) // an error only means that the client has disconnected
	return nil
}

// records sends the ledger records of a run while it reads them, because there may be very many.
func (h *runHandlers) records(c *request) error {
	run := c.r.URL.Query().Get("run")
	if err := checkIDs("run", run); err != nil {
		return err
	}
	if run == "" {
		return refuse(http.StatusBadRequest, "invalid_request", "run: is missing")
	}
	ctx, cancel := c.context()
	defer cancel()
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	out := bufio.NewWriterSize(c.w, 64<<10)
	if err := h.runs.Records(ctx, run, out); err != nil {
		if c.w.status == 0 {
			return err
		}
		return fmt.Errorf("%w: %w", errIncomplete, err)
	}
	_ = out.Flush() // an error only means that the client has disconnected
	return nil
}

const (
	maxNames = 100
	maxRows  = 5000 // maximum number of attempts that a report lists
)

func (h *runHandlers) runReport(c *request) error {
	query := c.r.URL.Query()
	q := coordinator.ReportQuery{
		Project: query.Get("project"), Run: query.Get("run"), Since: query.Get("since"),
		Agent: query["agent"], Model: query["model"], Template: query["template"],
	}
	if err := cmp.Or(checkPath("project", q.Project), checkNames("since", q.Since), checkIDs("run", q.Run)); err != nil {
		return err
	}
	var err error
	if q.Rows, err = c.number("rows", maxRows, 0); err != nil {
		return err
	}
	for _, list := range [][]string{q.Agent, q.Model, q.Template} {
		if len(list) > maxNames {
			return refuse(http.StatusBadRequest, "invalid_request", "too many names")
		}
		for _, name := range list {
			if err := checkNames("name", name); err != nil {
				return err
			}
		}
	}
	return respond(c, func(ctx context.Context) (oneReport, error) {
		report, err := h.runs.Report(ctx, q)
		return oneReport{report}, err
	})
}
