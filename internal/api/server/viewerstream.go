package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"gaffer/internal/api/viewers"
)

// documentClient is a client that follows all documents of a project (see [Viewer.FollowAll]) over
// server-sent events. A WebSocket client, in contrast, follows only the workflow documents, and can
// send messages itself.
type documentClient struct {
	viewer   Viewer
	live     *liveConnections
	events   *eventStream
	c        *request
	follower *viewers.Follower
	at       int64 // the client has received all messages up to this sequence number
}

// documentStream sends each change of a project's documents as a server-sent event. A client that
// reconnects gets all documents except the spec again.
func (h *viewerHandlers) documentStream(c *request) error {
	project, err := c.project()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	follower, err := h.viewer.FollowAll(ctx, project)
	cancel()
	if err != nil {
		return err
	}
	defer follower.Leave()
	c.quiet = true
	events, err := h.live.openEventStream(c, []byte("retry: 1000\n\n"))
	if err != nil || c.r.Method == http.MethodHead {
		return nil // the client has disconnected, or sent a HEAD request
	}
	d := &documentClient{viewer: h.viewer, live: h.live, events: events, c: c, follower: follower}
	events.countIfSlow(d.follow(c.r.Context()))
	return nil
}

// follow sends messages to the client. It returns when the client disconnects, is too slow or loses
// its permission, or when the server stops.
func (d *documentClient) follow(ctx context.Context) error {
	listed := d.viewer.Listed()
	if err := d.sendFirst(ctx); err != nil {
		return err
	}
	ping := time.NewTicker(d.live.ping)
	defer ping.Stop()
	for {
		next := d.follower.After(d.at)
		if next.Behind {
			d.events.sendTooSlow()
			return nil
		}
		if err := d.send(next.Messages...); err != nil {
			return err
		}
		d.at = next.Next
		var err error
		select {
		case <-next.More:
		case <-listed:
			listed = d.viewer.Listed()
			err = d.sendProjects(ctx)
		case <-ping.C:
			if d.live.revoked(ctx, d.c.by) {
				return nil
			}
			err = d.events.send([]byte(": ping\n\n"))
		case <-d.live.stopping:
			d.events.sendStopping()
			return nil
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sendFirst sends the first messages of a new connection: the list of projects, one message that
// contains the stored messages of the project, and the last message about each document except the
// spec.
func (d *documentClient) sendFirst(ctx context.Context) error {
	if err := d.sendProjects(ctx); err != nil {
		return err
	}
	history, at, err := d.follower.History(0)
	if err != nil {
		return err
	}
	latest, upTo := d.follower.Latest()
	d.at = min(at, upTo)
	return d.send(append([][]byte{history}, latest...)...)
}

func (d *documentClient) sendProjects(ctx context.Context) error {
	data, err := projectsMessage(ctx, d.viewer)
	if err != nil {
		data, err = json.Marshal(problemMessage(err))
	}
	if err != nil {
		return err
	}
	return d.send(data)
}

// send sends each message as one server-sent event. A message must be JSON without line breaks.
func (d *documentClient) send(messages ...[]byte) error {
	for _, m := range messages {
		if err := d.events.send(append(append([]byte("data: "), m...), "\n\n"...)); err != nil {
			return err
		}
	}
	return nil
}
