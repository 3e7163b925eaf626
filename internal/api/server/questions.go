package server

import (
	"context"
	"net/http"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Bodies of requests and answers about questions.
type (
	allQuestions struct {
		Questions []fleet.Question `json:"questions"`
	}
	oneQuestion struct {
		Question coordinator.QuestionChange `json:"question"`
	}
	withdrawal struct {
		Why string `json:"why,omitempty"`
	}
	allGrants struct {
		Grants []fleet.Grant `json:"grants"`
	}
	allPermissions struct {
		Permissions []fleet.PermissionRequest `json:"permissions"`
	}
)

// questionHandlers answers the requests about the questions that agents ask users.
type questionHandlers struct{ runs Runs }

func (h *questionHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/v1/questions", access: look, about: "questions of agents that wait for the user", query: []string{"run"}, gives: allQuestions{}, status: found, do: h.list},
		{method: post, path: "/v1/questions/{id}/answer", access: operate, about: "answer a question; a scope makes the answer hold for longer than this request", takes: fleet.Reply{}, gives: done{}, status: found, moreStatuses: []int{http.StatusBadRequest, missing, conflict}, do: h.answer},
		{method: post, path: "/v1/questions", access: work, about: "ask the user a question that belongs to no task; the same ref returns the same question", takes: coordinator.NewQuestion{}, gives: oneQuestion{}, status: made, do: h.ask},
		{method: get, path: "/v1/questions/{id}", access: look, about: "one question, open or closed", gives: oneQuestion{}, status: found, moreStatuses: []int{missing}, do: h.get},
		{method: post, path: "/v1/questions/{id}/withdraw", access: work, about: "close a question that belongs to no task", takes: withdrawal{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.withdraw},
		{method: get, path: "/v1/grants", access: look, about: "the rules that users have made by answering questions, and that still hold, the oldest first", gives: allGrants{}, status: found, do: h.grants},
		{method: http.MethodDelete, path: "/v1/grants/{id}", access: operate, about: "remove such a rule", gives: done{}, status: found, moreStatuses: []int{missing}, do: h.removeGrant},
		{method: get, path: "/v1/permissions", access: look, about: "the permissions that agents asked for in recent runs, and how they were answered", query: []string{"project", "since"}, gives: allPermissions{}, status: found, moreStatuses: []int{http.StatusBadRequest}, do: h.permissions},
	}
}

func (h *questionHandlers) list(c *request) error {
	run := c.r.URL.Query().Get("run")
	if err := checkIDs("run", run); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allQuestions, error) {
		all, err := h.runs.Questions(ctx, run)
		return allQuestions{list(all)}, err
	})
}

func (h *questionHandlers) answer(c *request) error {
	var ask fleet.Reply
	id, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	c.about = "question " + id
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Answer(ctx, c.by, id, ask)
	})
}

func (h *questionHandlers) ask(c *request) error {
	var q coordinator.NewQuestion
	if err := c.decode(&q); err != nil {
		return err
	}
	if err := checkNames("from", q.From); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneQuestion, error) {
		made, err := h.runs.Ask(ctx, c.by, q)
		c.about = "question " + made.ID
		return oneQuestion{made}, err
	})
}

func (h *questionHandlers) get(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneQuestion, error) {
		q, err := h.runs.Question(ctx, id)
		return oneQuestion{q}, err
	})
}

func (h *questionHandlers) withdraw(c *request) error {
	var ask withdrawal
	id, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	c.about = "question " + id
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Withdraw(ctx, c.by, id, ask.Why)
	})
}

func (h *questionHandlers) grants(c *request) error {
	return respond(c, func(ctx context.Context) (allGrants, error) {
		all, err := h.runs.Grants(ctx)
		return allGrants{list(all)}, err
	})
}

func (h *questionHandlers) removeGrant(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (done, error) {
		c.about = "grant " + id
		return done{true}, h.runs.RemoveGrant(ctx, c.by, id)
	})
}

func (h *questionHandlers) permissions(c *request) (err error) {
	var q fleet.PermissionQuery
	if q.Project, err = c.project(); err != nil {
		return err
	}
	if q.Since, _, err = moment("since", c.r.URL.Query().Get("since"), time.UTC); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allPermissions, error) {
		all, err := h.runs.Permissions(ctx, q)
		return allPermissions{list(all)}, err
	})
}
