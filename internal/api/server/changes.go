package server

import (
	"context"
	"net/http"
	"strings"

	"gaffer/fleet"
)

// Changes implements the requests about the changes that tasks made to files. An error that it
// returns may have methods that decide the HTTP status; see [Protocol].
type Changes interface {
	// Change returns the changes that a task made to files. The lists Anchors, Messages and Checks
	// of the result are never nil.
	Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error)
	File(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error)
	// Blob returns the content of a file that a task has changed. The parameter blob is the id of
	// the file's git blob.
	Blob(ctx context.Context, run, task, blob string) ([]byte, error)
	Reviews(ctx context.Context, run string) (fleet.RunReviews, error)
}

type oneFileChange struct {
	File fleet.FileChange `json:"file"`
}

// changeHandlers answers the requests about the changes of tasks.
type changeHandlers struct{ changes Changes }

func (h *changeHandlers) routes() []route {
	const found, missing, conflict = http.StatusOK, http.StatusNotFound, http.StatusConflict
	get := http.MethodGet
	return []route{
		{method: get, path: "/v1/runs/{id}/reviews", access: look, about: "the reviews of a run's tasks that have a change", gives: fleet.RunReviews{}, status: found, moreStatuses: []int{missing}, do: h.reviews},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/change", access: look, about: "the files that a task has changed, also since an earlier tree or at the end of an attempt, and their review", query: []string{"since", "attempt"}, gives: fleet.TaskChange{}, status: found, moreStatuses: []int{missing, conflict}, do: h.change},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/change/file", access: look, about: "the diff of one file of the change that has this tree", query: []string{"path", "tree", "from", "context"}, gives: oneFileChange{}, status: found, moreStatuses: []int{missing, conflict}, do: h.file},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/change/blob", access: look, about: "the content of a file of the change as text, up to 4 MB", query: []string{"blob"}, status: found, moreStatuses: []int{missing, conflict}, do: h.blob},
	}
}

func (h *changeHandlers) reviews(c *request) error {
	return respondByID(c, h.changes.Reviews)
}

// maxAttempt is the highest attempt number that a request can name. A higher number counts as
// maxAttempt.
const maxAttempt = 1_000_000

func (h *changeHandlers) change(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	q := fleet.ChangeQuery{Since: c.r.URL.Query().Get("since")}
	if q.Attempt, err = c.number("attempt", maxAttempt, 0); err != nil {
		return err
	}
	if err := checkIDs("since", q.Since); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (fleet.TaskChange, error) { return h.changes.Change(ctx, run, task, q) })
}

const (
	maxPath = 16 << 10 // maximum length of a file's path, in bytes
	// maxContext is the maximum number of unchanged lines around a hunk of a diff. A higher number
	// in a request counts as maxContext.
	maxContext = 1_000_000
)

func (h *changeHandlers) file(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	query := c.r.URL.Query()
	// Do not trim the path, because the name of a file may begin or end with spaces.
	q := fleet.FileQuery{Path: query.Get("path"), Tree: query.Get("tree"), From: query.Get("from")}
	if q.Path == "" || len(q.Path) > maxPath || strings.IndexByte(q.Path, 0) >= 0 {
		return refuse(http.StatusBadRequest, "invalid_request", "path: want the path of a file of the change")
	}
	if err := checkIDs("tree", q.Tree, "from", q.From); err != nil {
		return err
	}
	if q.Context, err = c.number("context", maxContext, 0); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneFileChange, error) {
		f, err := h.changes.File(ctx, run, task, q)
		return oneFileChange{f}, err
	})
}

func (h *changeHandlers) blob(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	blob := c.r.URL.Query().Get("blob")
	if err := checkIDs("blob", blob); err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	data, err := h.changes.Blob(ctx, run, task, blob)
	if err != nil {
		return err
	}
	c.respondBytes("text/plain; charset=utf-8", data)
	return nil
}
