package server

import (
	"context"
	"net/http"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// ReviewsAndMessages implements the requests with which users review the changes of tasks
// and send messages to agents. It is a part of [Runs].
type ReviewsAndMessages interface {
	Review(ctx context.Context, run, task string) (fleet.Review, error)
	// ChangeReview performs a user's action on the review of a task, and returns the changed
	// review.
	ChangeReview(ctx context.Context, by credential.Identity, run, task string, a fleet.ReviewAction) (fleet.Review, error)
	Messages(ctx context.Context, run, task string) ([]fleet.Message, error)
	// Send stores a message to the agent of a task. If there already is a message with the same id,
	// Send returns that message.
	Send(ctx context.Context, by credential.Identity, m fleet.Message) (fleet.Message, error)
	WithdrawMessage(ctx context.Context, by credential.Identity, run, task, id string) error
	Interrupt(ctx context.Context, by credential.Identity, run, task string) error
}

// Bodies of requests and answers about reviews and messages.
type (
	oneReview struct {
		Review fleet.Review `json:"review"`
	}
	// reviewAction is the body of a request. It is a [fleet.ReviewAction] without the fields that
	// clients may not set.
	reviewAction struct {
		Action   string        `json:"action"`
		Comment  reviewComment `json:"comment,omitzero"`
		ID       string        `json:"id,omitempty"`
		Resolved *bool         `json:"resolved,omitempty"`
		Path     string        `json:"path,omitempty"`
		Digest   string        `json:"digest,omitempty"`
		Tree     string        `json:"tree,omitempty"`
	}
	reviewComment struct {
		ID       string     `json:"id,omitempty"`
		Key      string     `json:"key,omitempty"` // idempotency key: a repeated request with the same key adds no second comment
		Path     string     `json:"path,omitempty"`
		Side     fleet.Side `json:"side,omitempty"`
		First    int        `json:"first,omitempty"`
		Last     int        `json:"last,omitempty"`
		Tree     string     `json:"tree,omitempty"`
		Lines    string     `json:"lines,omitempty"`
		Text     string     `json:"text,omitempty"`
		Resolved bool       `json:"resolved,omitempty"`
	}
	newMessage struct {
		ID   string `json:"id,omitempty"`
		Text string `json:"text"`
		Now  bool   `json:"now,omitempty"`
	}
	oneMessage struct {
		Message fleet.Message `json:"message"`
	}
	allMessages struct {
		Messages []fleet.Message `json:"messages"`
	}
)

func (h *runHandlers) reviewRoutes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/v1/runs/{id}/tasks/{name}/review", access: look, about: "the review of a task's change", gives: oneReview{}, status: found, moreStatuses: []int{missing}, do: h.review},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/review", access: operate, about: "comment on a change, approve it, or send it back to the agent; the same key returns the same comment", takes: reviewAction{}, gives: oneReview{}, status: found, moreStatuses: []int{missing, conflict}, do: h.changeReview},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/messages", access: look, about: "the messages of users to the agent of a task, the oldest first", gives: allMessages{}, status: found, moreStatuses: []int{missing}, do: h.messages},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/messages", access: operate, about: "send a message to the agent of a task; the same id is not sent again", takes: newMessage{}, gives: oneMessage{}, status: made, moreStatuses: []int{missing, conflict}, do: h.sendMessage},
		{method: http.MethodDelete, path: "/v1/runs/{id}/tasks/{name}/messages/{message}", access: operate, about: "withdraw a message that was not delivered yet", gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.withdrawMessage},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/interrupt", access: operate, about: "end the current turn of a running agent, and keep its conversation", takes: resumption{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.interrupt},
	}
}

func (h *runHandlers) review(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneReview, error) {
		v, err := h.runs.Review(ctx, run, task)
		return oneReview{v}, err
	})
}

func (h *runHandlers) changeReview(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	var ask reviewAction
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkIDs("id", ask.ID, "comment.id", ask.Comment.ID, "comment.key", ask.Comment.Key, "digest", ask.Digest, "tree", ask.Tree); err != nil {
		return err
	}
	if err := checkTexts("path", ask.Path); err != nil {
		return err
	}
	action := fleet.ReviewAction{Action: ask.Action, ID: ask.ID, Resolved: ask.Resolved, Path: ask.Path, Digest: ask.Digest, Tree: ask.Tree}
	of := ask.Comment
	action.Comment = fleet.Comment{
		ID: of.ID, Key: of.Key, Path: of.Path, Side: of.Side, First: of.First, Last: of.Last, Tree: of.Tree, Lines: of.Lines, Text: of.Text, Resolved: of.Resolved,
	}
	c.about = taskName(run, task)
	// The action ActView only marks a file as viewed by the user. Do not log it as a change.
	c.quiet = action.Action == fleet.ActView
	return respond(c, func(ctx context.Context) (oneReview, error) {
		v, err := h.runs.ChangeReview(ctx, c.by, run, task, action)
		return oneReview{v}, err
	})
}

func (h *runHandlers) messages(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allMessages, error) {
		all, err := h.runs.Messages(ctx, run, task)
		return allMessages{list(all)}, err
	})
}

func (h *runHandlers) sendMessage(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	var ask newMessage
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkIDs("id", ask.ID); err != nil {
		return err
	}
	c.about = taskName(run, task)
	return respond(c, func(ctx context.Context) (oneMessage, error) {
		m, err := h.runs.Send(ctx, c.by, fleet.Message{ID: ask.ID, Run: run, Task: task, Text: ask.Text, Now: ask.Now})
		return oneMessage{m}, err
	})
}

func (h *runHandlers) withdrawMessage(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	id := strings.TrimSpace(c.r.PathValue("message"))
	if err := checkIDs("message", id); err != nil {
		return err
	}
	c.about = taskName(run, task)
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.WithdrawMessage(ctx, c.by, run, task, id)
	})
}

func (h *runHandlers) interrupt(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	if err := c.decode(&resumption{}); err != nil {
		return err
	}
	c.about = taskName(run, task)
	return respond(c, func(ctx context.Context) (done, error) {
		return done{true}, h.runs.Interrupt(ctx, c.by, run, task)
	})
}
