package server

import (
	"context"
	"strconv"
	"strings"

	"gaffer/coordinator"
	"gaffer/internal/api/docview"
)

// sessionList is the response to a request for the sessions of a project.
type sessionList struct {
	Sessions []docview.SessionEntry `json:"sessions"`
}

// defaultTail is the number of bytes from the end of a log that are sent if the request has no
// parameter tail.
const defaultTail = 64 << 10

func (h *viewerHandlers) projectTeam(c *request) error { return respondForProject(c, h.viewer.Team) }

func (h *viewerHandlers) projectSessions(c *request) error {
	return respondForProject(c, func(ctx context.Context, project string) (sessionList, error) {
		all, err := h.viewer.Sessions(ctx, project)
		return sessionList{list(all)}, err
	})
}

func (h *viewerHandlers) projectSession(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (docview.SessionPicture, error) {
		return h.viewer.Session(ctx, project, id)
	})
}

// sessionLog sends the last part of an agent's log. The content type is always plain text, so that
// a browser does not run what the agent wrote.
func (h *viewerHandlers) sessionLog(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	agent := strings.TrimSpace(c.r.PathValue("name"))
	if err := checkIDs("agent", agent); err != nil {
		return err
	}
	tail, err := c.number("tail", docview.MaxTail, defaultTail)
	if err != nil {
		return err
	}
	project, err := c.project()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	log, err := h.viewer.SessionLog(ctx, project, id, agent, int64(tail))
	if err != nil {
		return err
	}
	c.w.Header().Set(coordinator.LogFrom, strconv.FormatInt(log.From, 10))
	c.w.Header().Set(coordinator.LogTo, strconv.FormatInt(log.To, 10))
	c.respondBytes("text/plain; charset=utf-8", log.Text)
	return nil
}
