package coordinator

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"gaffer/fleet"
)

// QuestionClient lists, asks, answers and withdraws questions of agents to the user. It also lists
// and removes the rules that users make with their answers.
type QuestionClient struct{ conn *connection }

// NewQuestion is a question of an agent to the user. The coordinator does not connect the question
// with a task, for example because the user has started the agent by hand. If an agent sends two
// questions with the same non-empty Ref, the coordinator stores only one.
type NewQuestion struct {
	From    string   `json:"from"` // name of the agent that asks, as shown to users
	Ref     string   `json:"ref,omitempty"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
	Seconds float64  `json:"seconds"`           // how long the agent waits for the answer, at most a day
	Attempt string   `json:"attempt,omitempty"` // id of the agent's attempt; empty if gaffer did not start the agent
}

// QuestionChange is the state of a question. The event stream sends it when the agent asks the
// question, when the user answers it, and when the agent no longer waits for the answer.
type QuestionChange struct {
	fleet.Question
	Closed   bool      `json:"closed,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	Denied   bool      `json:"denied,omitempty"`
	By       string    `json:"by,omitempty"`
	Answered time.Time `json:"answered,omitzero"`
}

// List returns the open questions of one run, the oldest first. If run is empty, it returns the
// open questions of all runs.
func (c *QuestionClient) List(ctx context.Context, run string) ([]fleet.Question, error) {
	return ask[[]fleet.Question](ctx, c.conn, get(addNonEmpty(url.Values{}, "run", run), "v1", "questions"), "questions")
}

// Answer answers a question. If deny is true, Answer denies what the agent asks for, and the
// parameter text is the reason. If the question is already answered or closed, Answer returns an
// error that wraps an [*Error] for which [Error.Conflict] is true. If a user has answered the
// question, the message of the error names that user.
func (c *QuestionClient) Answer(ctx context.Context, question, text string, deny bool) error {
	body := map[string]any{"text": text, "deny": deny}
	_, err := c.conn.do(ctx, post(body, false, "v1", "questions", question, "answer"))
	return err
}

// AnswerFor is like [QuestionClient.Answer], but the answer can also decide later requests: a.Scope
// says which ones. Older coordinators do not support scopes and ignore a.Scope. To find out whether
// a coordinator supports scopes, call [QuestionClient.Grants] first: without support, Grants
// returns an error.
func (c *QuestionClient) AnswerFor(ctx context.Context, question string, a fleet.Reply) error {
	_, err := c.conn.do(ctx, post(a, false, "v1", "questions", question, "answer"))
	return err
}

// Grants returns the rules that users have made by answering questions, the oldest first. It leaves
// out the rules for runs that have ended, and for tasks of such runs.
func (c *QuestionClient) Grants(ctx context.Context) ([]fleet.Grant, error) {
	return ask[[]fleet.Grant](ctx, c.conn, get(nil, "v1", "grants"), "grants")
}

// RemoveGrant removes a rule that a user has made by answering a question.
func (c *QuestionClient) RemoveGrant(ctx context.Context, id string) error {
	_, err := c.conn.do(ctx, call{method: http.MethodDelete, route: []string{"v1", "grants", id}})
	return err
}

// Permissions counts the agents' requests for permission. Requests that one rule could answer are
// counted together.
func (c *QuestionClient) Permissions(ctx context.Context, q fleet.PermissionQuery) ([]fleet.PermissionRequest, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project)
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	return ask[[]fleet.PermissionRequest](ctx, c.conn, get(query, "v1", "permissions"), "permissions")
}

// Ask asks the user a question that belongs to no task, and returns the id of the question. The
// request is retried only if it has an idempotency key, q.Ref.
func (c *QuestionClient) Ask(ctx context.Context, q NewQuestion) (string, error) {
	made, err := ask[QuestionChange](ctx, c.conn, post(q, q.Ref != "", "v1", "questions"), "question")
	return made.ID, err
}

// Get returns a question, open or closed.
func (c *QuestionClient) Get(ctx context.Context, id string) (QuestionChange, error) {
	return ask[QuestionChange](ctx, c.conn, get(nil, "v1", "questions", id), "question")
}

// Withdraw closes a question that belongs to no task, without an answer. The parameter why is the
// reason.
func (c *QuestionClient) Withdraw(ctx context.Context, question, why string) error {
	_, err := c.conn.do(ctx, post(map[string]string{"why": why}, true, "v1", "questions", question, "withdraw"))
	return err
}
