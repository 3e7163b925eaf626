package server

import (
	"context"
	"net/http"
	"time"
)

// health is the answer of the health check.
type health struct {
	OK    bool      `json:"ok"`
	Time  time.Time `json:"time"`
	State string    `json:"state"` // ready, stopping or no_database
}

// readyTime is how long the database may take to answer a health check.
const readyTime = 5 * time.Second

func (c *call) health() error {
	h, status := health{OK: true, Time: c.opts.Now().UTC(), State: "ready"}, http.StatusOK
	ctx, cancel := context.WithTimeout(c.r.Context(), readyTime)
	defer cancel()
	if c.stopped() {
		h.OK, h.State, status = false, "stopping", http.StatusServiceUnavailable
	} else if err := c.protocol.Ready(ctx); err != nil {
		c.log.Warn("not ready", "error", err)
		h.OK, h.State, status = false, "no_database", http.StatusServiceUnavailable
	}
	answer(c.w, status, h)
	return nil
}

func (c *call) document() error {
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(c.openapi) // the client may have disconnected
	return nil
}
