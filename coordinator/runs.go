package coordinator

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"gaffer/fleet"
)

// RunQuery selects runs. Its zero value selects the unfinished runs of all projects.
type RunQuery struct {
	Project string
	Ended   bool // also ended runs
	Limit   int  // only the latest; 0 means the coordinator's default
}

// Runs returns runs without their tasks, the latest first.
func (c *Client) Runs(ctx context.Context, q RunQuery) ([]fleet.Run, error) {
	query := set(url.Values{}, "project", q.Project, "ended", flag(q.Ended), "limit", number(q.Limit))
	return ask[[]fleet.Run](ctx, c, get(query, "v1", "runs"), "runs")
}

// Run returns one run with its tasks, without their prompts.
func (c *Client) Run(ctx context.Context, id string) (fleet.Run, error) {
	return ask[fleet.Run](ctx, c, get(nil, "v1", "runs", id), "run")
}

// FindRun returns the id of the run that the user has named. The name is the whole id, a
// prefix of the id or of its last part that is unique in the project, or "-" or "" for
// the latest run. With unfinished, only runs that have not ended count.
func (c *Client) FindRun(ctx context.Context, project, name string, unfinished bool) (string, error) {
	query := set(url.Values{}, "project", project, "name", name, "unfinished", flag(unfinished))
	return ask[string](ctx, c, get(query, "v1", "runs", "find"), "id")
}

// FindTask returns the task that the user has named, with its prompt. The name is
// RUN/TASK, TASK in the latest run that has it, or a unique prefix of a task.
func (c *Client) FindTask(ctx context.Context, project, name string) (fleet.Task, error) {
	query := set(url.Values{}, "project", project, "task", name)
	return ask[fleet.Task](ctx, c, get(query, "v1", "runs", "find"), "task")
}

// RunTask returns one task of a run, with its prompt.
func (c *Client) RunTask(ctx context.Context, run, task string) (fleet.Task, error) {
	return ask[fleet.Task](ctx, c, get(nil, "v1", "runs", run, "tasks", task), "task")
}

// NewRun describes a run to submit.
type NewRun struct {
	Project string          `json:"project"`
	On      string          `json:"on,omitempty"`  // the name of the only worker that may take its tasks
	Key     string          `json:"key,omitempty"` // submitting the same key again returns the same run
	Plan    json.RawMessage `json:"plan"`          // as 'gaffer run' encodes it, with all prompts included
}

// Submit stores a plan as a run, which workers of the project then start to work on. It
// returns the run without its tasks. The request is retried only with a key.
func (c *Client) Submit(ctx context.Context, n NewRun) (fleet.Run, error) {
	return ask[fleet.Run](ctx, c, post(n, n.Key != "", "v1", "runs"), "run")
}

// Cancel cancels a run, or one task of it together with the tasks that wait for it.
func (c *Client) Cancel(ctx context.Context, run, task, why string) error {
	body := map[string]string{"task": task, "why": why}
	_, err := c.do(ctx, post(body, true, "v1", "runs", run, "cancel"))
	return err
}

// Retry requeues a failed or cancelled task. The request is never repeated, because the
// task may have failed again meanwhile.
func (c *Client) Retry(ctx context.Context, run, task string) error {
	_, err := c.do(ctx, post(map[string]string{"task": task}, false, "v1", "runs", run, "retry"))
	return err
}

// Questions returns the open questions of one run, or of all runs if run is empty, the
// oldest first.
func (c *Client) Questions(ctx context.Context, run string) ([]fleet.Question, error) {
	return ask[[]fleet.Question](ctx, c, get(set(url.Values{}, "run", run), "v1", "questions"), "questions")
}

// Answer answers a question. deny refuses the agent's request, with text as the reason.
// If the question has already been answered, the [Error] is a Conflict that names the
// user.
func (c *Client) Answer(ctx context.Context, question, text string, deny bool) error {
	body := map[string]any{"text": text, "deny": deny}
	_, err := c.do(ctx, post(body, false, "v1", "questions", question, "answer"))
	return err
}

// NewQuestion is a question of an agent that has no task of a run. Questions of one asker
// with the same ref are the same question.
type NewQuestion struct {
	From    string   `json:"from"` // the asker's name; users answer the question by this name
	Ref     string   `json:"ref,omitempty"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
	Seconds float64  `json:"seconds"`           // how long the user has to answer, at most a day
	Attempt string   `json:"attempt,omitempty"` // the attempt whose agent asks and waits, if any
}

// AskAside asks the user a question that belongs to no task, and returns its id. The
// request is retried only with a ref.
func (c *Client) AskAside(ctx context.Context, q NewQuestion) (string, error) {
	made, err := ask[QuestionChange](ctx, c, post(q, q.Ref != "", "v1", "questions"), "question")
	return made.ID, err
}

// Question returns a question, open or closed.
func (c *Client) Question(ctx context.Context, id string) (QuestionChange, error) {
	return ask[QuestionChange](ctx, c, get(nil, "v1", "questions", id), "question")
}

// Withdraw closes a question that belongs to no task.
func (c *Client) Withdraw(ctx context.Context, question, why string) error {
	_, err := c.do(ctx, post(map[string]string{"why": why}, true, "v1", "questions", question, "withdraw"))
	return err
}

// Attempts returns all attempts at a task, the first one first.
func (c *Client) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return ask[[]fleet.Attempt](ctx, c, get(nil, "v1", "runs", run, "tasks", task, "attempts"), "attempts")
}

// Plan returns the plan of a run as it was submitted. Literal values of its variables are
// hidden; references are not.
func (c *Client) Plan(ctx context.Context, run string) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c, get(nil, "v1", "runs", run, "plan"), "plan")
}

// Sessions returns the runs that have a session document, the latest first.
func (c *Client) Sessions(ctx context.Context, q RunQuery) ([]Session, error) {
	query := set(url.Values{}, "project", q.Project, "limit", number(q.Limit))
	return ask[[]Session](ctx, c, get(query, "v1", "sessions"), "sessions")
}

// Session is a run that has a session document.
type Session struct {
	ID      string       `json:"id"`
	Name    string       `json:"name,omitempty"`
	Project string       `json:"project,omitempty"`
	Status  fleet.Status `json:"status"`
}

// Document returns a document of a session, such as status.json.
func (c *Client) Document(ctx context.Context, session, name string) ([]byte, error) {
	return c.do(ctx, get(nil, "v1", "sessions", session, name))
}

// Records are the ledger's records of a run's attempts: run records and result records,
// in the order in which they were written.
type Records struct {
	Runs    []json.RawMessage `json:"runs"`
	Results []json.RawMessage `json:"results"`
}

// Records returns the ledger's records of a run.
func (c *Client) Records(ctx context.Context, run string) (Records, error) {
	return ask[Records](ctx, c, get(set(url.Values{}, "run", run), "v1", "records"), "records")
}

// ReportQuery selects the data of a report. Its zero value selects everything.
type ReportQuery struct {
	Project                string
	Since                  string // a day or a time; runs that started earlier do not count
	Agent, Model, Template []string
	Rows                   int // include this many of the latest attempts as raw_data, each with its run and task
}

// Report returns a report about the coordinator's runs, in the format of 'gaffer report
// --json'.
func (c *Client) Report(ctx context.Context, q ReportQuery) (json.RawMessage, error) {
	query := set(url.Values{}, "project", q.Project, "since", q.Since)
	query["agent"], query["model"], query["template"] = q.Agent, q.Model, q.Template
	set(query, "rows", number(q.Rows))
	return ask[json.RawMessage](ctx, c, get(query, "v1", "report"), "report")
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// AttemptChange is the stream's update about an attempt.
type AttemptChange struct {
	Run  string `json:"run"`
	Task string `json:"task"`
	fleet.Attempt
}

// QuestionChange is the stream's update about a question: it was asked, it was answered,
// or its asker no longer waits for an answer.
type QuestionChange struct {
	fleet.Question
	Closed   bool      `json:"closed,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	Denied   bool      `json:"denied,omitempty"`
	By       string    `json:"by,omitempty"`
	Answered time.Time `json:"answered,omitzero"`
}
