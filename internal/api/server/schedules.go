package server

import (
	"context"
	"net/http"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// Schedules implements the requests about schedules. An error that it returns may have methods that
// decide the HTTP status; see [Protocol].
type Schedules interface {
	// List returns the schedules, sorted by name. If removed is set, it returns instead the removed
	// schedules that can be restored.
	List(ctx context.Context, removed bool) ([]fleet.Schedule, error)
	Get(ctx context.Context, name string) (fleet.Schedule, error)
	Pause(ctx context.Context, name string) (fleet.Schedule, error)
	Resume(ctx context.Context, name string) (fleet.Schedule, error)
	// Run starts a run of a schedule now. If the run was stored but no process could be started for
	// it, the warning says why. Otherwise, the warning is empty.
	Run(ctx context.Context, by credential.Identity, name string) (f fleet.Fire, warning string, err error)
}

// Bodies of requests and answers about schedules.
type (
	allSchedules struct {
		Schedules []fleet.Schedule `json:"schedules"`
	}
	oneSchedule struct {
		Schedule fleet.Schedule `json:"schedule"`
	}
	// scheduleChange is the body of a request that pauses or resumes a schedule, or starts a run of
	// it. It is an empty object, because such a request has no options.
	scheduleChange struct{}
	startedFire    struct {
		Fire    fleet.Fire `json:"fire"`
		Warning string     `json:"warning,omitempty"`
	}
)

// scheduleHandlers answers the requests about schedules.
type scheduleHandlers struct{ service Schedules }

func (h *scheduleHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/v1/schedules", access: look, about: "the schedules: their times, rules and last runs", gives: allSchedules{}, status: found, do: h.list},
		{method: get, path: "/v1/schedules/{id}", access: look, about: "one schedule by its name", gives: oneSchedule{}, status: found, moreStatuses: []int{missing}, do: h.one},
		{method: post, path: "/v1/schedules/{id}/pause", access: operate, about: "start no more runs of a schedule until it is resumed", takes: scheduleChange{}, gives: oneSchedule{}, status: found, moreStatuses: []int{missing}, do: h.pause},
		{method: post, path: "/v1/schedules/{id}/resume", access: operate, about: "let a paused schedule continue", takes: scheduleChange{}, gives: oneSchedule{}, status: found, moreStatuses: []int{missing}, do: h.resume},
		{method: post, path: "/v1/schedules/{id}/run", access: operate, about: "start a run of a schedule now", takes: scheduleChange{}, gives: startedFire{}, status: made, moreStatuses: []int{missing, conflict}, do: h.run},
	}
}

func (h *scheduleHandlers) list(c *request) error {
	return respond(c, func(ctx context.Context) (allSchedules, error) {
		all, err := h.service.List(ctx, false)
		return allSchedules{list(all)}, err
	})
}

func (h *scheduleHandlers) one(c *request) error { return h.schedule(c, h.service.Get) }

func (h *scheduleHandlers) pause(c *request) error {
	if err := c.decode(&scheduleChange{}); err != nil {
		return err
	}
	return h.schedule(c, h.service.Pause)
}

func (h *scheduleHandlers) resume(c *request) error {
	if err := c.decode(&scheduleChange{}); err != nil {
		return err
	}
	return h.schedule(c, h.service.Resume)
}

func (h *scheduleHandlers) schedule(c *request, do func(ctx context.Context, name string) (fleet.Schedule, error)) error {
	return respondByID(c, func(ctx context.Context, name string) (oneSchedule, error) {
		s, err := do(ctx, name)
		return oneSchedule{s}, err
	})
}

func (h *scheduleHandlers) run(c *request) error {
	if err := c.decode(&scheduleChange{}); err != nil {
		return err
	}
	return respondByID(c, func(ctx context.Context, name string) (startedFire, error) {
		f, warning, err := h.service.Run(ctx, c.by, name)
		c.about = "run " + f.Run
		return startedFire{f, warning}, err
	})
}
