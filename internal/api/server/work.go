package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// Work implements the requests of gaffer's own workers. An error that it returns may have methods
// that decide the HTTP status; see [Protocol]. An error of Log may also have a method Offset, which
// returns the offset from which the worker must send the log again.
type Work interface {
	Beat(ctx context.Context, by credential.Identity, b coordinator.WorkBeat) (coordinator.WorkOrders, error)
	// Claim returns an error with the code no_tasks if no task can start. The method NotFound of
	// this error returns true.
	Claim(ctx context.Context, by credential.Identity, c coordinator.WorkClaim) (coordinator.Claimed, error)
	Turn(ctx context.Context, by credential.Identity, t coordinator.WorkTurn) (coordinator.Turned, error)
	Ask(ctx context.Context, by credential.Identity, q coordinator.WorkQuestion) (id string, err error)
	Release(ctx context.Context, by credential.Identity, r coordinator.WorkRelease) error
	Held(ctx context.Context, by credential.Identity, worker string) ([]coordinator.Work, error)
	// Wait waits until the store has a change with a sequence number above cursor that concerns the
	// worker, such as a task that it may claim. If ctx ends first, Wait returns no error, and sets
	// only the field Seq of the result. If it does not know all changes after cursor, it returns at
	// once with the fields Wake and Attend set.
	Wait(ctx context.Context, by credential.Identity, worker string, cursor int64) (coordinator.WorkNews, error)
	// Log appends bytes to the log of an attempt. next is the offset of the byte that the worker
	// must send next.
	Log(ctx context.Context, by credential.Identity, p coordinator.LogPiece) (next int64, err error)
}

// longPoll is how long the server keeps a worker's Wait request open if no change concerns the
// worker.
const longPoll = 25 * time.Second

// Bodies of the responses to workers.
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

// workHandlers answers the requests of gaffer's own workers.
type workHandlers struct {
	work     Work
	stopping <-chan struct{} // closed when the server stops
}

func (h *workHandlers) routes() []route {
	const found, missing, conflict = http.StatusOK, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: post, path: "/v1/work/beat", access: work, limited: true, about: "heartbeat of a worker, with the progress of its attempts", takes: coordinator.WorkBeat{}, gives: coordinator.WorkOrders{}, status: found, moreStatuses: []int{conflict}, do: h.beatWork},
		{method: post, path: "/v1/work/claim", access: work, limited: true, about: "claim a task of a run; no_tasks if there is none", takes: coordinator.WorkClaim{}, gives: coordinator.Claimed{}, status: found, moreStatuses: []int{missing, conflict}, do: h.claimWork},
		{method: post, path: "/v1/work/turn", access: work, limited: true, about: "report the end of an attempt and claim the next task", takes: coordinator.WorkTurn{}, gives: coordinator.Turned{}, status: found, moreStatuses: []int{missing, conflict}, do: h.turnWork},
		{method: post, path: "/v1/work/ask", access: work, limited: true, about: "ask the user a question", takes: coordinator.WorkQuestion{}, gives: askedWork{}, status: found, moreStatuses: []int{missing, conflict}, do: h.askWork},
		{method: post, path: "/v1/work/release", access: work, limited: true, about: "return held attempts to the queue", takes: coordinator.WorkRelease{}, gives: released{}, status: found, moreStatuses: []int{missing, conflict}, do: h.releaseWork},
		{method: get, path: "/v1/work/held", access: work, limited: true, about: "the attempts that a worker holds", query: []string{"worker"}, gives: heldWork{}, status: found, moreStatuses: []int{missing}, do: h.heldWork},
		{method: get, path: "/v1/work/wait", access: work, limited: true, about: "wait for tasks, orders or answers after a change", query: []string{"worker", "after"}, gives: coordinator.WorkNews{}, status: found, moreStatuses: []int{missing}, do: h.awaitWork},
		{method: post, path: "/v1/work/logs", access: work, limited: true, about: "add bytes to the log of an attempt; log_gap says where to continue", query: []string{"attempt", "token", "offset", "done"}, gives: logTaken{}, status: found, moreStatuses: []int{missing, conflict}, do: h.takeLog},
	}
}

// idsOf returns the ids of a worker's attempts and of their questions, as arguments for checkIDs:
// name, value, name, value, and so on.
func idsOf(held []coordinator.HeldWork) (list []string) {
	for _, h := range held {
		list = append(list, "attempt", h.Attempt)
		for _, id := range h.Asking {
			list = append(list, "asking", id)
		}
	}
	return list
}

func (h *workHandlers) beatWork(c *request) error {
	var b coordinator.WorkBeat
	if err := c.decode(&b); err != nil {
		return err
	}
	trim(&b.Worker.ID, &b.Worker.Name)
	if err := checkIDs(append(idsOf(b.Held), "worker.id", b.Worker.ID, "worker.name", b.Worker.Name)...); err != nil {
		return err
	}
	if err := checkNames("worker.version", b.Worker.Version, "worker.host", b.Worker.Host); err != nil {
		return err
	}
	// Do not log this request: each worker sends heartbeats several times a minute.
	c.quiet = true
	return respond(c, func(ctx context.Context) (coordinator.WorkOrders, error) {
		o, err := h.work.Beat(ctx, c.by, b)
		o.Orders = list(o.Orders)
		return o, err
	})
}

func (h *workHandlers) claimWork(c *request) error {
	var ask coordinator.WorkClaim
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkWorkClaim(ask); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (coordinator.Claimed, error) {
		given, err := h.work.Claim(ctx, c.by, ask)
		c.about = aboutWork(given.Work, ask.Worker)
		return given, err
	})
}

func checkWorkClaim(ask coordinator.WorkClaim) error {
	if err := checkIDs("worker", ask.Worker); err != nil {
		return err
	}
	return checkNames("key", ask.Key)
}

func aboutWork(w coordinator.Work, worker string) string {
	return fmt.Sprintf("task %s of run %s by worker %s", w.Task.Task, w.Run.ID, worker)
}

func (h *workHandlers) turnWork(c *request) error {
	var ask coordinator.WorkTurn
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkIDs("attempt", ask.Finish.Attempt); err != nil {
		return err
	}
	if ask.Claim != nil {
		if err := checkWorkClaim(*ask.Claim); err != nil {
			return err
		}
	}
	c.about = "end of attempt " + ask.Finish.Attempt
	return respond(c, func(ctx context.Context) (coordinator.Turned, error) {
		done, err := h.work.Turn(ctx, c.by, ask)
		if done.Work != nil && ask.Claim != nil {
			c.about += ", then " + aboutWork(*done.Work, ask.Claim.Worker)
		}
		return done, err
	})
}

func (h *workHandlers) askWork(c *request) error {
	var ask coordinator.WorkQuestion
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkIDs("attempt", ask.Attempt); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (askedWork, error) {
		id, err := h.work.Ask(ctx, c.by, ask)
		c.about = "question " + id
		return askedWork{id}, err
	})
}

func (h *workHandlers) releaseWork(c *request) error {
	var ask coordinator.WorkRelease
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkIDs(append(idsOf(ask.Attempts), "worker", ask.Worker)...); err != nil {
		return err
	}
	c.about = fmt.Sprintf("%d attempts of worker %s", len(ask.Attempts), ask.Worker)
	return respond(c, func(ctx context.Context) (released, error) {
		return released{}, h.work.Release(ctx, c.by, ask)
	})
}

func (h *workHandlers) heldWork(c *request) error {
	worker := c.r.URL.Query().Get("worker")
	if err := checkIDs("worker", worker); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (heldWork, error) {
		all, err := h.work.Held(ctx, c.by, worker)
		return heldWork{list(all)}, err
	})
}

func (h *workHandlers) awaitWork(c *request) error {
	worker := c.r.URL.Query().Get("worker")
	if err := checkIDs("worker", worker); err != nil {
		return err
	}
	after, err := c.offset("after", -1)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (coordinator.WorkNews, error) {
		var watching sync.WaitGroup
		defer watching.Wait()
		ctx, cancel := context.WithTimeout(ctx, longPoll)
		defer cancel()
		watching.Go(func() {
			select {
			case <-h.stopping:
				cancel()
			case <-ctx.Done():
			}
		})
		return h.work.Wait(ctx, c.by, worker, after)
	})
}

func (h *workHandlers) takeLog(c *request) error {
	q := c.r.URL.Query()
	p := coordinator.LogPiece{WorkKey: coordinator.WorkKey{Attempt: q.Get("attempt")}, Done: q.Get("done") == "1"}
	if err := checkIDs("attempt", p.Attempt); err != nil {
		return err
	}
	var err error
	if p.Token, err = c.offset("token", 0); err != nil {
		return err
	}
	if p.Offset, err = c.offset("offset", 0); err != nil {
		return err
	}
	if p.Data, err = c.body(coordinator.MaxLogPiece); err != nil {
		return err
	}
	// Do not log this request: it only adds output of an agent.
	c.quiet = true
	return respond(c, func(ctx context.Context) (logTaken, error) {
		next, err := h.work.Log(ctx, c.by, p)
		return logTaken{next}, err
	})
}
