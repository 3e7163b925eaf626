package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"gaffer/internal/api/viewers"
)

// spectator is a page that follows all documents of a project. It gets what a socket
// gets, and more, but sends nothing itself.
type spectator struct {
	*follower
	of *viewers.Follower
}

// documentStream sends changes in a project's documents as server-sent events. A client
// that reconnects gets everything again.
func (c *call) documentStream() error {
	project, err := c.project()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	of, err := c.opts.Viewer.FollowAll(ctx, project)
	cancel()
	if err != nil {
		return err
	}
	defer of.Leave()
	s := &spectator{&follower{call: c, out: http.NewResponseController(c.w)}, of}
	c.quiet = true
	if s.open() != nil || c.r.Method == http.MethodHead {
		return nil // the client has disconnected, or wants only the header
	}
	s.watch(c.r.Context())
	return nil
}

func (s *spectator) open() error {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // otherwise a proxy may delay it
	if err := s.out.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	s.w.WriteHeader(http.StatusOK)
	return s.send([]byte("retry: 1000\n\n"))
}

// watch sends messages until the client disconnects, is too slow or loses its permission,
// or the server stops.
func (s *spectator) watch(ctx context.Context) {
	listed := s.opts.Viewer.Listed()
	err := s.greet(ctx)
	ping := time.NewTicker(s.opts.Ping)
	defer ping.Stop()
	for err == nil {
		next := s.of.After(s.at)
		if next.Behind {
			s.metrics.cut.Add(1)
			_ = s.send([]byte("event: behind\ndata: {}\n\n")) // the client gets this if it is still reading
			return
		}
		if err = s.say(next.Messages...); err != nil {
			break
		}
		s.at = next.Next
		select {
		case <-next.More:
		case <-listed:
			listed = s.opts.Viewer.Listed()
			err = s.sayProjects(ctx)
		case <-ping.C:
			err = s.alive(ctx)
		case <-s.stopping:
			_ = s.send([]byte("event: bye\ndata: {}\n\n")) // the server stops either way
			return
		case <-ctx.Done():
			return
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.metrics.cut.Add(1)
	}
}

// greet sends what every client gets first: the projects, the history, and the current
// state of each document. The client need not search the history for it.
func (s *spectator) greet(ctx context.Context) error {
	if err := s.sayProjects(ctx); err != nil {
		return err
	}
	history, at, err := s.of.History(0)
	if err != nil {
		return err
	}
	latest, upTo := s.of.Latest()
	s.at = min(at, upTo)
	return s.say(append([][]byte{history}, latest...)...)
}

func (s *spectator) sayProjects(ctx context.Context) error {
	data, err := projectsMessage(ctx, s.opts.Viewer)
	if err != nil {
		data, err = json.Marshal(problemMessage(err))
	}
	if err != nil {
		return err
	}
	return s.say(data)
}

// say sends messages, each as one event. A message is JSON in one line.
func (s *spectator) say(messages ...[]byte) error {
	for _, m := range messages {
		event := append(append([]byte("data: "), m...), "\n\n"...)
		if err := s.send(event); err != nil {
			return err
		}
	}
	return nil
}
