package server

import (
	"cmp"
	"context"
	"net/http"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// Landing implements the requests that merge and discard the changes of tasks, in repositories on
// this machine. An error that it returns may have methods that decide the HTTP status; see
// [Protocol].
type Landing interface {
	// Merge merges the changes of one task. If m.Task is empty, it merges the approved changes of
	// the run's tasks. If m.All is set too, it also merges the changes that are not approved.
	Merge(ctx context.Context, by credential.Identity, m fleet.MergeRequest) ([]fleet.MergeResult, error)
	UndoMerge(ctx context.Context, by credential.Identity, m fleet.MergeRequest) (fleet.MergeResult, error)
	// Discard saves a copy of the content of a task's worktree, and deletes the worktree. If undo
	// is set, it creates the worktree again from that copy.
	Discard(ctx context.Context, by credential.Identity, run, task string, undo bool) (fleet.Review, error)
}

// Bodies of requests and answers about merges.
type (
	mergeRequest struct {
		Into   string `json:"into,omitempty"`
		Method string `json:"method,omitempty"`
		All    bool   `json:"all,omitempty"`
		Fix    bool   `json:"fix,omitempty"`
		Yes    bool   `json:"yes,omitempty"`
		Revert bool   `json:"revert,omitempty"`
	}
	discardRequest struct {
		Undo bool `json:"undo,omitempty"`
	}
	allMerges struct {
		Merges []fleet.MergeResult `json:"merges"`
	}
	oneMerge struct {
		Merge fleet.MergeResult `json:"merge"`
	}
)

// landingHandlers answers the requests that merge and discard changes.
type landingHandlers struct{ landing Landing }

func (h *landingHandlers) routes() []route {
	const found, missing, conflict = http.StatusOK, http.StatusNotFound, http.StatusConflict
	post := http.MethodPost
	return []route{
		{method: post, path: "/v1/runs/{id}/merge", access: operate, about: "merge the approved changes of a run's tasks, one after the other", takes: mergeRequest{}, gives: allMerges{}, status: found, moreStatuses: []int{missing, conflict}, do: h.mergeRun},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/merge", access: operate, about: "merge the change of a task", takes: mergeRequest{}, gives: allMerges{}, status: found, moreStatuses: []int{missing, conflict}, do: h.mergeTask},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/undo", access: operate, about: "undo the last merge of a task's change", takes: mergeRequest{}, gives: oneMerge{}, status: found, moreStatuses: []int{missing, conflict}, do: h.undo},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/discard", access: operate, about: "delete the worktree of a task and keep its content; with undo, create the worktree again", takes: discardRequest{}, gives: oneReview{}, status: found, moreStatuses: []int{missing, conflict}, do: h.discard},
	}
}

func (h *landingHandlers) mergeRun(c *request) error {
	run, err := c.pathID()
	if err != nil {
		return err
	}
	return h.merge(c, run, "")
}

func (h *landingHandlers) mergeTask(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return h.merge(c, run, task)
}

func (h *landingHandlers) merge(c *request, run, task string) error {
	m, err := readMerge(c, run, task)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allMerges, error) {
		results, err := h.landing.Merge(ctx, c.by, m)
		return allMerges{list(results)}, err
	})
}

func (h *landingHandlers) undo(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	m, err := readMerge(c, run, task)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneMerge, error) {
		result, err := h.landing.UndoMerge(ctx, c.by, m)
		return oneMerge{result}, err
	})
}

func readMerge(c *request, run, task string) (fleet.MergeRequest, error) {
	var ask mergeRequest
	if err := c.decode(&ask); err != nil {
		return fleet.MergeRequest{}, err
	}
	trim(&ask.Into, &ask.Method)
	if err := cmp.Or(checkNames("into", ask.Into), checkIDs("method", ask.Method)); err != nil {
		return fleet.MergeRequest{}, err
	}
	c.about = taskName(run, task)
	return fleet.MergeRequest{
		Run: run, Task: task, Into: ask.Into, Method: ask.Method, All: ask.All, Fix: ask.Fix, Yes: ask.Yes, Revert: ask.Revert,
	}, nil
}

func (h *landingHandlers) discard(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	var ask discardRequest
	if err := c.decode(&ask); err != nil {
		return err
	}
	c.about = taskName(run, task)
	return respond(c, func(ctx context.Context) (oneReview, error) {
		r, err := h.landing.Discard(ctx, c.by, run, task, ask.Undo)
		return oneReview{r}, err
	})
}
