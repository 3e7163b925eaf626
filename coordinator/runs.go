package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"time"

	"gaffer/fleet"
)

// RunClient submits, finds, reads and changes runs.
type RunClient struct{ conn *connection }

// MaxRuns is the largest Limit of a [RunQuery].
const MaxRuns = 1000

// RunQuery selects runs. Its zero value selects the latest unfinished runs of all projects.
type RunQuery struct {
	Project string
	Ended   bool // also select runs that have ended
	Limit   int  // maximum number of runs; 0 means the coordinator's default
}

// NewRun describes a run to submit.
type NewRun struct {
	Project string          `json:"project"`
	On      string          `json:"on,omitempty"`  // name of the only worker that may take the tasks; empty means any
	Key     string          `json:"key,omitempty"` // idempotency key: submitting the same key again returns the same run
	Plan    json.RawMessage `json:"plan"`          // the plan as JSON with all prompts, as described in docs/protocols/coordinator.md
}

// Records holds the records of a run's attempts. Each attempt has a run record and, when it has
// ended, a result record. Package ledger defines the format of both.
type Records struct {
	Runs    []json.RawMessage `json:"runs"`
	Results []json.RawMessage `json:"results"`
}

// ReportQuery selects the attempts of a report. Its zero value selects all attempts.
type ReportQuery struct {
	Project                string
	Run                    string // id of the only run to include; empty means all runs
	Since                  string // date, time, or age such as 7d; omits attempts that ended earlier
	Agent, Model, Template []string
	Rows                   int // number of latest attempts in the report's raw_data; 0 means none
}

// AttemptChange is an attempt with the ids of its run and its task. In an [Update] of the type
// "attempts", the field Change contains it.
type AttemptChange struct {
	Run  string `json:"run"`
	Task string `json:"task"`
	fleet.Attempt
}

// LiveAttempt is a running attempt, with details of its task and its run.
type LiveAttempt struct {
	AttemptChange
	RunName  string `json:"run_name"`
	Project  string `json:"project,omitempty"`
	TaskName string `json:"task_name,omitempty"`
	Agent    string `json:"agent"`
	Model    string `json:"model,omitempty"`  // empty means the agent's default
	Branch   string `json:"branch,omitempty"` // branch of the task's worktree; empty if it has no worktree
}

// PastChange is an earlier update of the coordinator's stream.
type PastChange struct {
	ID string `json:"id"` // the same as Change.ID of the update in the stream
	Update
}

// PastChanges is one page of the updates about a run, the oldest first.
type PastChanges struct {
	Changes []PastChange `json:"changes"`
	// Next is the afterID with which [RunClient.Changes] returns the next page. It is empty if this
	// is the last page.
	Next string `json:"next,omitempty"`
}

// List returns runs without their tasks, the latest first.
func (c *RunClient) List(ctx context.Context, q RunQuery) ([]fleet.Run, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project, "ended", flag(q.Ended), "limit", limitText(q.Limit))
	return ask[[]fleet.Run](ctx, c.conn, get(query, "v1", "runs"), "runs")
}

// Live returns the running attempts of all runs. Agents that users have started by hand are listed
// by [AgentClient.List].
func (c *RunClient) Live(ctx context.Context) ([]LiveAttempt, error) {
	return ask[[]LiveAttempt](ctx, c.conn, get(nil, "v1", "live"), "attempts")
}

// Get returns one run with its tasks. The tasks lack their prompts.
func (c *RunClient) Get(ctx context.Context, id string) (fleet.Run, error) {
	return ask[fleet.Run](ctx, c.conn, get(nil, "v1", "runs", id), "run")
}

// Find returns the id of the run that a user has named. The parameter name is one of:
//   - the whole id of a run in any project
//   - a unique prefix of the id of a run in the given project, or of the last part of the id
//   - the name of a plan in the given project; Find returns the latest run of the plan
//   - "-" or "" for the latest run in the given project
//
// An empty project means all projects. If unfinished is true and name is not a whole id, Find
// ignores runs that have ended.
func (c *RunClient) Find(ctx context.Context, project, name string, unfinished bool) (string, error) {
	query := addNonEmpty(url.Values{}, "project", project, "name", name, "unfinished", flag(unfinished))
	return ask[string](ctx, c.conn, get(query, "v1", "runs", "find"), "id")
}

// FindTask returns the task that a user has named, with its prompt. The parameter name is RUN/TASK
// or only TASK. RUN is a name as in [RunClient.Find]. TASK is the id of the task or a unique prefix
// of the id. Without RUN, FindTask uses the latest run that has a task with the whole id TASK or,
// if there is none, the latest run that has a task whose id begins with TASK.
func (c *RunClient) FindTask(ctx context.Context, project, name string) (fleet.Task, error) {
	query := addNonEmpty(url.Values{}, "project", project, "task", name)
	return ask[fleet.Task](ctx, c.conn, get(query, "v1", "runs", "find"), "task")
}

// Search returns at most limit runs and tasks whose names, prompts or results contain all words of
// the parameter text. If limit is 0, the coordinator's default applies.
func (c *RunClient) Search(ctx context.Context, text string, limit int) (fleet.Found, error) {
	query := addNonEmpty(url.Values{}, "q", text, "limit", limitText(limit))
	return askAll[fleet.Found](ctx, c.conn, get(query, "v1", "search"), "hits")
}

// Task returns one task of a run, with its prompt.
func (c *RunClient) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	return ask[fleet.Task](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task), "task")
}

// Submit stores a plan as a run. The workers of the project then take its tasks. Submit returns the
// run without its tasks. The request is retried only if it has an idempotency key, n.Key.
func (c *RunClient) Submit(ctx context.Context, n NewRun) (fleet.Run, error) {
	return ask[fleet.Run](ctx, c.conn, post(n, n.Key != "", "v1", "runs"), "run")
}

// Cancel cancels a run. If task is not empty, it cancels only that task and the tasks that wait for
// it. It does not wait for running tasks: their workers end them afterwards.
func (c *RunClient) Cancel(ctx context.Context, run, task, why string) error {
	body := map[string]string{"task": task, "why": why}
	_, err := c.conn.do(ctx, post(body, true, "v1", "runs", run, "cancel"))
	return err
}

// Retry queues a failed or cancelled task again. If the answer to the request is lost, the client
// does not repeat the request, because the task may already have failed again.
func (c *RunClient) Retry(ctx context.Context, run, task string) error {
	return c.RetryWithBudget(ctx, run, task, fleet.Cost{})
}

// RetryWithBudget is like [RunClient.Retry], and also sets the budget of the task: a limit for the
// cost of all its attempts together. If budget.USD is zero, the task keeps its limit for money. If
// budget.Tokens is zero, it keeps its limit for tokens.
func (c *RunClient) RetryWithBudget(ctx context.Context, run, task string, budget fleet.Cost) error {
	body := map[string]any{"task": task}
	if budget != (fleet.Cost{}) {
		body["budget"] = budget
	}
	_, err := c.conn.do(ctx, post(body, false, "v1", "runs", run, "retry"))
	return err
}

// RaiseBudget sets the budget of a run, which limits its cost. If budget.USD is zero, the run keeps
// its limit for money. If budget.Tokens is zero, it keeps its limit for tokens. Tasks that have
// failed because the previous budget was spent are queued again.
func (c *RunClient) RaiseBudget(ctx context.Context, run string, budget fleet.Cost) error {
	_, err := c.conn.do(ctx, post(map[string]any{"budget": budget}, false, "v1", "runs", run, "resume"))
	return err
}

// Merge merges the change of a task, or all approved changes of a run, in a repository on the
// coordinator's machine. If the merge takes long, for example because of the verify commands, the
// coordinator answers before the merge is done; see [fleet.MergeRunning].
func (c *RunClient) Merge(ctx context.Context, m fleet.MergeRequest) ([]fleet.MergeResult, error) {
	return ask[[]fleet.MergeResult](ctx, c.conn, post(m, false, mergeRoute(m.Run, m.Task, "merge")...), "merges")
}

// UndoMerge undoes the last merge of a task's change.
func (c *RunClient) UndoMerge(ctx context.Context, m fleet.MergeRequest) (fleet.MergeResult, error) {
	return ask[fleet.MergeResult](ctx, c.conn, post(m, false, mergeRoute(m.Run, m.Task, "undo")...), "merge")
}

// Discard stores a copy of a task's worktree, and then deletes the worktree. If undo is true,
// Discard restores a deleted worktree instead. It returns the changed review of the task.
func (c *RunClient) Discard(ctx context.Context, run, task string, undo bool) (fleet.Review, error) {
	body := map[string]bool{"undo": undo}
	return ask[fleet.Review](ctx, c.conn, post(body, false, mergeRoute(run, task, "discard")...), "review")
}

// mergeRoute returns the segments of the URL path of a request to merge a task's change, to undo
// the merge, or to discard the change. If task is empty, the request is about the whole run.
func mergeRoute(run, task, action string) []string {
	if task == "" {
		return []string{"v1", "runs", run, action}
	}
	return []string{"v1", "runs", run, "tasks", task, action}
}

// TaskAttempts returns all attempts of a task, in the order in which they started.
func (c *RunClient) TaskAttempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	return ask[[]fleet.Attempt](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "attempts"), "attempts")
}

// Plan returns the plan of a run, including the labels and tasks that the coordinator has added. It
// leaves out the values of the tasks' environment variables, but not references to such values, for
// example the name of a file that contains the value.
func (c *RunClient) Plan(ctx context.Context, run string) (json.RawMessage, error) {
	return ask[json.RawMessage](ctx, c.conn, get(nil, "v1", "runs", run, "plan"), "plan")
}

// Records returns the records of all attempts of a run.
func (c *RunClient) Records(ctx context.Context, run string) (Records, error) {
	return ask[Records](ctx, c.conn, get(addNonEmpty(url.Values{}, "run", run), "v1", "records"), "records")
}

// Report returns a report about the coordinator's runs. It is JSON, as 'gaffer report --json'
// prints it.
func (c *RunClient) Report(ctx context.Context, q ReportQuery) (json.RawMessage, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project, "run", q.Run, "since", q.Since)
	query["agent"], query["model"], query["template"] = q.Agent, q.Model, q.Template
	addNonEmpty(query, "rows", limitText(q.Rows))
	return ask[json.RawMessage](ctx, c.conn, get(query, "v1", "report"), "report")
}

// Cost returns a report on the cost of the attempts that q selects.
func (c *RunClient) Cost(ctx context.Context, q fleet.CostQuery) (fleet.CostReport, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project, "by", string(q.By))
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	if q.Zone != nil {
		query.Set("tz", q.Zone.String())
	}
	return ask[fleet.CostReport](ctx, c.conn, get(query, "v1", "cost"), "cost")
}

// Fork starts a run with one task, which continues the conversation and the files of another task.
// If the run was stored but no process works on it, the result warning says why. If r has no
// idempotency key, Fork adds one, so that a retry of the request does not start a second run.
func (c *RunClient) Fork(ctx context.Context, r fleet.ForkRequest) (made fleet.ForkResult, warning string, err error) {
	if r.Key == "" {
		r.Key = rand.Text()
	}
	body := map[string]any{"at": r.At, "prompt": r.Prompt, "agent": r.Agent, "model": r.Model, "key": r.Key}
	answer, err := askAll[struct {
		Fork    fleet.ForkResult `json:"fork"`
		Warning string           `json:"warning"`
	}](ctx, c.conn, post(body, true, "v1", "runs", r.Run, "tasks", r.Task, "fork"), "fork")
	return answer.Fork, answer.Warning, err
}

// Turns returns the turns of a task's conversation. A turn is a message of the user together with
// the agent's answer. A fork can continue the conversation after any turn.
func (c *RunClient) Turns(ctx context.Context, run, task string) ([]fleet.Turn, error) {
	return ask[[]fleet.Turn](ctx, c.conn, get(nil, "v1", "runs", run, "tasks", task, "turns"), "turns")
}

// Morning returns the morning report: what has happened to tasks since q.Since. If q.Since is zero,
// the report starts at 18:00 UTC on the previous day.
func (c *RunClient) Morning(ctx context.Context, q fleet.MorningQuery) (fleet.MorningReport, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project)
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	return ask[fleet.MorningReport](ctx, c.conn, get(query, "v1", "report", "morning"), "report")
}

// Attempts returns the attempts of all tasks of a run, in the order in which they started.
func (c *RunClient) Attempts(ctx context.Context, run string) ([]AttemptChange, error) {
	return ask[[]AttemptChange](ctx, c.conn, get(nil, "v1", "runs", run, "attempts"), "attempts")
}

// Questions returns all questions of a run, including closed ones, the oldest first.
func (c *RunClient) Questions(ctx context.Context, run string) ([]QuestionChange, error) {
	return ask[[]QuestionChange](ctx, c.conn, get(nil, "v1", "runs", run, "questions"), "questions")
}

// Changes returns the updates about a run that the coordinator's stream has sent after the update
// with the id afterID. If afterID is empty, Changes starts with the first update about the run. It
// returns at most limit updates. If limit is 0, the coordinator's default applies.
func (c *RunClient) Changes(ctx context.Context, run, afterID string, limit int) (PastChanges, error) {
	query := addNonEmpty(url.Values{}, "after", afterID, "limit", limitText(limit))
	return askAll[PastChanges](ctx, c.conn, get(query, "v1", "runs", run, "changes"), "changes")
}

// SessionClient lists runs, and reads documents about them, such as status.json. These have the
// format of gaffer's session protocol, which calls a run a session.
type SessionClient struct{ conn *connection }

// Session describes a run in the list of [SessionClient.List].
type Session struct {
	ID      string       `json:"id"`
	Name    string       `json:"name,omitempty"`
	Project string       `json:"project,omitempty"`
	Status  fleet.Status `json:"status"`
}

// List returns the runs of a project, the latest first. It uses only Project and Limit of q, and so
// returns ended runs too.
func (c *SessionClient) List(ctx context.Context, q RunQuery) ([]Session, error) {
	query := addNonEmpty(url.Values{}, "project", q.Project, "limit", limitText(q.Limit))
	return ask[[]Session](ctx, c.conn, get(query, "v1", "sessions"), "sessions")
}

// Document returns the content of a document about a run. The parameter session is the id of the
// run, and name is the name of the document, such as status.json.
func (c *SessionClient) Document(ctx context.Context, session, name string) ([]byte, error) {
	return c.conn.do(ctx, get(nil, "v1", "sessions", session, name))
}
