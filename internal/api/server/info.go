package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"gaffer/coordinator"
)

// Page serves the dashboard: the path "/" and the paths below "/assets/".
type Page interface {
	http.Handler
	// Has reports whether the file "/assets/" + name exists.
	Has(name string) bool
}

// infoHandlers answers the requests about the server itself.
type infoHandlers struct {
	version string
	now     func() time.Time
	service Protocol
	page    Page   // nil if the coordinator has no dashboard
	openapi []byte // the OpenAPI document, as JSON
	live    *liveConnections
	log     *slog.Logger
}

// dashboard serves the files of the dashboard. They need no token, because they contain no data of
// users: the page requests all data with the user's token.
func (h *infoHandlers) dashboard(c *request) error {
	if h.page == nil || c.r.URL.Path != "/" && !h.page.Has(c.r.PathValue("path")) {
		return noSuchPath(c)
	}
	h.page.ServeHTTP(c.w, c.r)
	return nil
}

// health is the answer of the health check.
type health struct {
	OK    bool      `json:"ok"`
	Time  time.Time `json:"time"`
	State string    `json:"state"` // ready, stopping or no_database
}

// readyTimeout is how long a health check waits for the database.
const readyTimeout = 5 * time.Second

func (h *infoHandlers) health(c *request) error {
	state, status := health{OK: true, Time: h.now().UTC(), State: "ready"}, http.StatusOK
	ctx, cancel := context.WithTimeout(c.r.Context(), readyTimeout)
	defer cancel()
	if h.live.stopped() {
		state.OK, state.State, status = false, "stopping", http.StatusServiceUnavailable
	} else if err := h.service.Ready(ctx); err != nil {
		h.log.Warn("not ready", "error", err)
		state.OK, state.State, status = false, "no_database", http.StatusServiceUnavailable
	}
	writeJSON(c.w, status, state)
	return nil
}

// document answers with the OpenAPI document.
func (h *infoHandlers) document(c *request) error {
	c.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(h.openapi) // an error only means that the client has disconnected
	return nil
}

type oneSelf struct {
	Self coordinator.Self `json:"self"`
}

// self answers with the version and the current time of the server, and with the name and the role
// of the client's token.
func (h *infoHandlers) self(c *request) error {
	writeJSON(c.w, http.StatusOK, oneSelf{coordinator.Self{
		Version: h.version, Time: h.now().UTC(), Name: c.by.Name, Role: string(c.by.Role),
	}})
	return nil
}
