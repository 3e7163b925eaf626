package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// Work implements the requests of gaffer's own workers. Errors are classified as those of
// [Protocol] are. An error about a log may have a method Offset, which returns the offset
// to continue from.
type Work interface {
	Beat(ctx context.Context, by credential.Identity, b coordinator.WorkBeat) (coordinator.WorkOrders, error)
	// Claim returns a NotFound error with the code no_tasks if no task can start.
	Claim(ctx context.Context, by credential.Identity, c coordinator.WorkClaim) (coordinator.Claimed, error)
	Turn(ctx context.Context, by credential.Identity, t coordinator.WorkTurn) (coordinator.Turned, error)
	Ask(ctx context.Context, by credential.Identity, q coordinator.WorkQuestion) (id string, err error)
	Release(ctx context.Context, by credential.Identity, r coordinator.WorkRelease) error
	Held(ctx context.Context, by credential.Identity, worker string) ([]coordinator.Work, error)
	// Wait returns when there is news for a worker after a change. If ctx ends first, it
	// returns no news and no error.
	Wait(ctx context.Context, by credential.Identity, worker string, after int64) (coordinator.WorkNews, error)
	// Log returns the offset of the next byte that it expects.
	Log(ctx context.Context, by credential.Identity, p coordinator.LogPiece) (next int64, err error)
}

// waiting is how long a worker's request waits for news.
const waiting = 25 * time.Second

// Bodies of answers. Most have one member, named after its contents.
type (
	askedWork struct {
		Question string `json:"question"`
	}
	heldWork struct {
		Held []coordinator.Work `json:"held"`
	}
	released struct{}
	logTaken struct {
		Next int64 `json:"next"`
	}
)

func workRoutes() []route {
	const found, missing, conflict = http.StatusOK, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: post, path: "/v1/work/beat", access: work, limited: true, about: "say that a worker lives and what it holds does", takes: coordinator.WorkBeat{}, gives: coordinator.WorkOrders{}, status: found, others: []int{conflict}, do: (*call).beatWork},
		{method: post, path: "/v1/work/claim", access: work, limited: true, about: "take a task of a run; no_tasks if there is none", takes: coordinator.WorkClaim{}, gives: coordinator.Claimed{}, status: found, others: []int{missing, conflict}, do: (*call).claimWork},
		{method: post, path: "/v1/work/turn", access: work, limited: true, about: "report the end of an attempt and take the next task", takes: coordinator.WorkTurn{}, gives: coordinator.Turned{}, status: found, others: []int{missing, conflict}, do: (*call).turnWork},
		{method: post, path: "/v1/work/ask", access: work, limited: true, about: "ask a person a question", takes: coordinator.WorkQuestion{}, gives: askedWork{}, status: found, others: []int{missing, conflict}, do: (*call).askWork},
		{method: post, path: "/v1/work/release", access: work, limited: true, about: "hand attempts back", takes: coordinator.WorkRelease{}, gives: released{}, status: found, others: []int{missing, conflict}, do: (*call).releaseWork},
		{method: get, path: "/v1/work/held", access: work, limited: true, about: "what a worker runs as far as is known", query: []string{"worker"}, gives: heldWork{}, status: found, others: []int{missing}, do: (*call).heldWork},
		{method: get, path: "/v1/work/wait", access: work, limited: true, about: "wait for news after a change", query: []string{"worker", "after"}, gives: coordinator.WorkNews{}, status: found, others: []int{missing}, do: (*call).awaitWork},
		{method: post, path: "/v1/work/logs", access: work, limited: true, about: "add bytes to the log of an attempt; log_gap says where to go on", query: []string{"attempt", "token", "offset", "done"}, gives: logTaken{}, status: found, others: []int{missing, conflict}, do: (*call).takeLog},
	}
}

// worked answers with the value that the workers' service returns, if there is one.
func worked[T any](c *call, ask func(ctx context.Context, w Work) (T, error)) error {
	if c.opts.Work == nil {
		return c.nowhere()
	}
	return give(c, func(ctx context.Context) (T, error) { return ask(ctx, c.opts.Work) })
}

// idsOf returns the ids of a worker's attempts as pairs for ids.
func idsOf(held []coordinator.HeldWork) (list []string) {
	for _, h := range held {
		list = append(list, "attempt", h.Attempt)
		for _, id := range h.Asking {
			list = append(list, "asking", id)
		}
	}
	return list
}

func (c *call) beatWork() error {
	var b coordinator.WorkBeat
	if err := decode(c.w, c.r, &b); err != nil {
		return err
	}
	trim(&b.Worker.ID, &b.Worker.Name)
	if err := ids(append(idsOf(b.Held), "worker.id", b.Worker.ID, "worker.name", b.Worker.Name)...); err != nil {
		return err
	}
	if err := names("worker.version", b.Worker.Version, "worker.host", b.Worker.Host); err != nil {
		return err
	}
	c.quiet = true // it is sent every few seconds; an actual change is an event
	return worked(c, func(ctx context.Context, w Work) (coordinator.WorkOrders, error) {
		o, err := w.Beat(ctx, c.by, b)
		o.Orders = list(o.Orders)
		return o, err
	})
}

func (c *call) claimWork() error {
	var ask coordinator.WorkClaim
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	if err := checkWorkClaim(ask); err != nil {
		return err
	}
	return worked(c, func(ctx context.Context, w Work) (coordinator.Claimed, error) {
		given, err := w.Claim(ctx, c.by, ask)
		c.about = aboutWork(given.Work, ask.Worker)
		return given, err
	})
}

func checkWorkClaim(ask coordinator.WorkClaim) error {
	if err := ids("worker", ask.Worker); err != nil {
		return err
	}
	return names("key", ask.Key)
}

func aboutWork(w coordinator.Work, worker string) string {
	return fmt.Sprintf("task %s of run %s by worker %s", w.Task.Task, w.Run.ID, worker)
}

func (c *call) turnWork() error {
	var ask coordinator.WorkTurn
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	if err := ids("attempt", ask.Finish.Attempt); err != nil {
		return err
	}
	if ask.Claim != nil {
		if err := checkWorkClaim(*ask.Claim); err != nil {
			return err
		}
	}
	c.about = "end of attempt " + ask.Finish.Attempt
	return worked(c, func(ctx context.Context, w Work) (coordinator.Turned, error) {
		done, err := w.Turn(ctx, c.by, ask)
		if done.Work != nil && ask.Claim != nil {
			c.about += ", then " + aboutWork(*done.Work, ask.Claim.Worker)
		}
		return done, err
	})
}

func (c *call) askWork() error {
	var ask coordinator.WorkQuestion
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	if err := ids("attempt", ask.Attempt); err != nil {
		return err
	}
	return worked(c, func(ctx context.Context, w Work) (askedWork, error) {
		id, err := w.Ask(ctx, c.by, ask)
		c.about = "question " + id
		return askedWork{id}, err
	})
}

func (c *call) releaseWork() error {
	var ask coordinator.WorkRelease
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	if err := ids(append(idsOf(ask.Attempts), "worker", ask.Worker)...); err != nil {
		return err
	}
	c.about = fmt.Sprintf("%d attempts of worker %s", len(ask.Attempts), ask.Worker)
	return worked(c, func(ctx context.Context, w Work) (released, error) {
		return released{}, w.Release(ctx, c.by, ask)
	})
}

func (c *call) heldWork() error {
	worker := c.r.URL.Query().Get("worker")
	if err := ids("worker", worker); err != nil {
		return err
	}
	return worked(c, func(ctx context.Context, w Work) (heldWork, error) {
		all, err := w.Held(ctx, c.by, worker)
		return heldWork{list(all)}, err
	})
}

func (c *call) awaitWork() error {
	worker := c.r.URL.Query().Get("worker")
	if err := ids("worker", worker); err != nil {
		return err
	}
	after, err := c.offset("after", -1)
	if err != nil {
		return err
	}
	return worked(c, func(ctx context.Context, w Work) (coordinator.WorkNews, error) {
		ctx, end := c.untilStop(ctx, waiting)
		defer end()
		return w.Wait(ctx, c.by, worker, after)
	})
}

// untilStop returns a context that ends after d, or when the server stops.
func (s *Server) untilStop(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, d)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// offset returns a number of the query, or least if it is missing.
func (c *call) offset(name string, least int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return least, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return 0, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.20q: want a number from %d", name, text, least))
	}
	return n, nil
}

func (c *call) takeLog() error {
	q := c.r.URL.Query()
	p := coordinator.LogPiece{WorkKey: coordinator.WorkKey{Attempt: q.Get("attempt")}, Done: q.Get("done") == "1"}
	if err := ids("attempt", p.Attempt); err != nil {
		return err
	}
	var err error
	if p.Token, err = c.offset("token", 0); err != nil {
		return err
	}
	if p.Offset, err = c.offset("offset", 0); err != nil {
		return err
	}
	if p.Data, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, coordinator.MaxLogPiece)); err != nil {
		return unread(err)
	}
	c.quiet = true // output of an agent, not a change by a client
	return worked(c, func(ctx context.Context, w Work) (logTaken, error) {
		next, err := w.Log(ctx, c.by, p)
		return logTaken{next}, err
	})
}
