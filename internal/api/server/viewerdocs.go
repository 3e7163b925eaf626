package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"gaffer/coordinator"
	"gaffer/internal/api/docview"
)

// sessionList is the body of a list of sessions.
type sessionList struct {
	Sessions []docview.SessionEntry `json:"sessions"`
}

// someTail is how many bytes of a log are sent if the request does not say.
const someTail = 64 << 10

func (c *call) projectTeam() error { return giveOf(c, c.opts.Viewer.Team) }

func (c *call) projectSessions() error {
	return giveOf(c, func(ctx context.Context, project string) (sessionList, error) {
		all, err := c.opts.Viewer.Sessions(ctx, project)
		return sessionList{list(all)}, err
	})
}

func (c *call) projectSession() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return giveOf(c, func(ctx context.Context, project string) (docview.SessionPicture, error) {
		return c.opts.Viewer.Session(ctx, project, id)
	})
}

// sessionLog sends the end of a log. The content type is always plain text, whatever the
// agent wrote.
func (c *call) sessionLog() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	agent := strings.TrimSpace(c.r.PathValue("name"))
	if err := ids("agent", agent); err != nil {
		return err
	}
	tail, err := c.number("tail", docview.MaxTail)
	if err != nil {
		return err
	}
	if tail == 0 {
		tail = someTail
	}
	project, err := c.project()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	log, err := c.opts.Viewer.SessionLog(ctx, project, id, agent, int64(tail))
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(log.Text)))
	h.Set(coordinator.LogFrom, strconv.FormatInt(log.From, 10))
	h.Set(coordinator.LogTo, strconv.FormatInt(log.To, 10))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(log.Text) // the client may have disconnected
	return nil
}
