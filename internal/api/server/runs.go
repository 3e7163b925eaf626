package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// Runs implements the requests about runs. An error that it returns may have methods that decide
// the HTTP status; see [Protocol].
type Runs interface {
	Runs(ctx context.Context, q coordinator.RunQuery) ([]fleet.Run, error)
	Run(ctx context.Context, id string) (fleet.Run, error)
	FindRun(ctx context.Context, project, name string, unfinished bool) (string, error)
	FindTask(ctx context.Context, project, name string) (fleet.Task, error)
	// Search returns at most limit runs and tasks that contain all words of the parameter text, for
	// example in their names, ids, prompts or results.
	Search(ctx context.Context, text string, limit int) (fleet.Found, error)
	Task(ctx context.Context, run, task string) (fleet.Task, error)
	Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error)
	// Candidates compares the candidates of a task: tasks that solve the same problem, of which
	// another task picks one. The parameter task may be the task that picks, or one of the
	// candidates.
	Candidates(ctx context.Context, run, task string) (fleet.Comparison, error)
	// Plan returns the plan of a run. It includes the values of environment variables only if env
	// is true.
	Plan(ctx context.Context, run string, env bool) (json.RawMessage, error)
	// RunningAttempts returns the running attempts of all runs.
	RunningAttempts(ctx context.Context) ([]coordinator.LiveAttempt, error)

	Submit(ctx context.Context, by credential.Identity, n coordinator.NewRun) (fleet.Run, error)
	// Cancel cancels a run or, if task is not empty, one task and the tasks that depend on it.
	Cancel(ctx context.Context, by credential.Identity, run, task, why string) error
	// Retry queues a failed or cancelled task again. Each field of budget that is not zero replaces
	// the field in the task's budget.
	Retry(ctx context.Context, by credential.Identity, run, task string, budget fleet.Cost) error
	// Resume starts a process for a run that is limited to the server's machine, unless a process
	// already works on the run. Each field of budget that is not zero replaces the field in the
	// run's budget. If there is such a field, Resume also queues the tasks again that have failed
	// because of the run's old budget.
	Resume(ctx context.Context, by credential.Identity, run string, budget fleet.Cost) error

	ReviewsAndMessages

	Questions(ctx context.Context, run string) ([]fleet.Question, error)
	Answer(ctx context.Context, by credential.Identity, question string, a fleet.Reply) error
	// Grants returns the permission rules that users have made by answering questions. It leaves
	// out the rules for runs that have ended.
	Grants(ctx context.Context) ([]fleet.Grant, error)
	RemoveGrant(ctx context.Context, by credential.Identity, id string) error
	// Permissions counts the agents' requests for permission. It groups them by the last permission
	// rule that gaffer has suggested for each request.
	Permissions(ctx context.Context, q fleet.PermissionQuery) ([]fleet.PermissionRequest, error)
	// Ask stores a question that belongs to no task.
	Ask(ctx context.Context, by credential.Identity, q coordinator.NewQuestion) (coordinator.QuestionChange, error)
	Question(ctx context.Context, id string) (coordinator.QuestionChange, error)
	// Withdraw closes a question that belongs to no task, without an answer.
	Withdraw(ctx context.Context, by credential.Identity, question, why string) error

	// Lanes returns the agent accounts that are paused, and the cost limits that are reached.
	Lanes(ctx context.Context) ([]fleet.Lane, error)
	RunAttempts(ctx context.Context, run string) ([]coordinator.AttemptChange, error)
	RunQuestions(ctx context.Context, run string) ([]coordinator.QuestionChange, error)
	// RunChanges returns the messages of the event stream about the changes of a run whose sequence
	// number is above cursor. It reads at most limit changes. next is the cursor for the next page,
	// or 0 if this page is the last.
	RunChanges(ctx context.Context, run string, cursor int64, limit int) (list []Update, next int64, err error)

	// Log opens the log of a task. It returns a [*RangeError] if the offset in q is beyond the end
	// of the log.
	Log(ctx context.Context, run, task string, q coordinator.LogQuery) (Log, coordinator.LogSpan, error)

	Sessions(ctx context.Context, q coordinator.RunQuery) ([]coordinator.Session, error)
	// Document returns the session document of a run, which is the file status.json of gaffer's
	// session protocol. This protocol calls a run a session.
	Document(ctx context.Context, session string) ([]byte, error)
	// Records writes the ledger records of a run as JSON, in the form of [coordinator.Records].
	// They say of each attempt what was started and how it ended.
	Records(ctx context.Context, run string, to io.Writer) error
	Report(ctx context.Context, q coordinator.ReportQuery) (any, error)
	// Cost returns what attempts have cost.
	Cost(ctx context.Context, q fleet.CostQuery) (fleet.CostReport, error)
	// Morning returns the morning report: what has happened to tasks since the time in q.
	Morning(ctx context.Context, q fleet.MorningQuery) (fleet.MorningReport, error)
}

// Bodies of requests and answers about runs.
type (
	oneRun struct {
		Run fleet.Run `json:"run"`
	}
	allRuns struct {
		Runs []fleet.Run `json:"runs"`
	}
	foundRun struct {
		ID   string      `json:"id,omitempty"`
		Task *fleet.Task `json:"task,omitempty"`
	}
	oneRunTask struct {
		Task fleet.Task `json:"task"`
	}
	allAttempts struct {
		Attempts []fleet.Attempt `json:"attempts"`
	}
	oneComparison struct {
		Comparison fleet.Comparison `json:"comparison"`
	}
	onePlan struct {
		Plan json.RawMessage `json:"plan"`
	}
	allSessions struct {
		Sessions []coordinator.Session `json:"sessions"`
	}
	allRecords struct {
		Records coordinator.Records `json:"records"`
	}
	oneReport struct {
		Report any `json:"report"`
	}
	cancellation struct {
		Task string `json:"task,omitempty"`
		Why  string `json:"why,omitempty"`
	}
	again struct {
		Task   string     `json:"task"`
		Budget fleet.Cost `json:"budget,omitzero"` // the task's new budget; each field that is zero keeps its old value
	}
	resumption struct {
		Budget fleet.Cost `json:"budget,omitzero"` // the run's new budget; each field that is zero keeps its old value
	}
	allLanes struct {
		Lanes []fleet.Lane `json:"lanes"`
	}
	runAttempts struct {
		Attempts []coordinator.AttemptChange `json:"attempts"`
	}
	liveAttempts struct {
		Attempts []coordinator.LiveAttempt `json:"attempts"`
	}
	runQuestions struct {
		Questions []coordinator.QuestionChange `json:"questions"`
	}
)

// runHandlers answers the requests about runs.
type runHandlers struct {
	runs      Runs
	live      *liveConnections
	receiving chan struct{} // semaphore: at most maxSubmits plans are received at once
}

func (h *runHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/v1/runs", access: look, about: "runs without their tasks, the latest first; those that have ended with ended=1", query: []string{"project", "ended", "limit"}, gives: allRuns{}, status: found, do: h.listRuns},
		{method: post, path: "/v1/runs", access: operate, about: "submit a plan; the same key returns the same run", takes: coordinator.NewRun{}, gives: oneRun{}, status: made, moreStatuses: []int{conflict}, do: h.submitRun},
		{method: get, path: "/v1/runs/find", access: look, about: "find a run by the user's name for it, or a task by task", query: []string{"project", "name", "unfinished", "task"}, gives: foundRun{}, status: found, moreStatuses: []int{missing, conflict}, do: h.findRun},
		{method: get, path: "/v1/runs/{id}", access: look, about: "one run with its tasks, without their prompts", gives: oneRun{}, status: found, moreStatuses: []int{missing}, do: h.oneRun},
		{method: get, path: "/v1/runs/{id}/plan", access: look, about: "the plan of a run; values of its variables are hidden, unless an operator asks for them with env=1", query: []string{"env"}, gives: onePlan{}, status: found, moreStatuses: []int{missing}, do: h.runPlan},
		{method: post, path: "/v1/runs/{id}/cancel", access: operate, about: "cancel a run, or one of its tasks together with its dependents", takes: cancellation{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.cancelRun},
		{method: post, path: "/v1/runs/{id}/retry", access: operate, about: "queue a failed or cancelled task again", takes: again{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.retryTask},
		{method: post, path: "/v1/runs/{id}/resume", access: operate, about: "start a process for a run of the server's machine if none works on it", takes: resumption{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.resumeRun},
		{method: get, path: "/v1/runs/{id}/tasks/{name}", access: look, about: "one task of a run, with its prompt", gives: oneRunTask{}, status: found, moreStatuses: []int{missing}, do: h.runTask},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/attempts", access: look, about: "all attempts of a task", gives: allAttempts{}, status: found, moreStatuses: []int{missing}, do: h.attempts},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/candidates", access: look, about: "the candidates of a task side by side, and which is picked", gives: oneComparison{}, status: found, moreStatuses: []int{missing}, do: h.candidates},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/log", access: look, about: "the log of a task as text: from an offset, its end, or followed while it grows", query: []string{"offset", "tail", "follow"}, status: found, moreStatuses: []int{http.StatusPartialContent, missing, conflict, http.StatusRequestedRangeNotSatisfiable}, do: h.taskLog},

		{method: get, path: "/v1/sessions", access: look, about: "the runs that have a session's document", query: []string{"project", "limit"}, gives: allSessions{}, status: found, do: h.sessions},
		{method: get, path: "/v1/sessions/{id}/status.json", access: look, about: "the document of a session, in the format of its protocol", gives: map[string]any{}, status: found, moreStatuses: []int{missing}, do: h.statusDocument},
		{method: get, path: "/v1/records", access: look, about: "the ledger's records of a run's attempts", query: []string{"run"}, gives: allRecords{}, status: found, moreStatuses: []int{missing}, do: h.records},
		{method: get, path: "/v1/report", access: look, about: "the report on the records of all runs", query: []string{"project", "run", "since", "agent", "model", "template", "rows"}, gives: oneReport{}, status: found, moreStatuses: []int{http.StatusBadRequest, missing}, do: h.runReport},
		{method: get, path: "/v1/report/morning", access: look, about: "what has become of the tasks since a time; without since, since 18:00 on the day before", query: []string{"project", "since", "tz"}, gives: oneMorning{}, status: found, moreStatuses: []int{http.StatusBadRequest}, do: h.morning},
		{method: get, path: "/v1/cost", access: look, about: "what attempts have cost, by day, agent, model, project or run", query: []string{"project", "since", "until", "by", "tz"}, gives: oneCost{}, status: found, moreStatuses: []int{http.StatusBadRequest}, do: h.cost},
		{method: get, path: "/v1/cost.csv", access: look, about: "the same as CSV", query: []string{"project", "since", "until", "by", "tz"}, status: found, moreStatuses: []int{http.StatusBadRequest}, do: h.costTable},

		{method: get, path: "/v1/live", access: look, about: "the running attempts of all runs: what each agent does, its task, branch, worker and cost", gives: liveAttempts{}, status: found, do: h.liveAttempts},
		{method: get, path: "/v1/lanes", access: look, about: "the agent accounts that are paused", gives: allLanes{}, status: found, do: h.lanes},
		{method: get, path: "/v1/runs/{id}/attempts", access: look, about: "all attempts of a run, in the order of their start", gives: runAttempts{}, status: found, moreStatuses: []int{missing}, do: h.runAttempts},
		{method: get, path: "/v1/runs/{id}/questions", access: look, about: "all questions of a run, open and closed", gives: runQuestions{}, status: found, moreStatuses: []int{missing}, do: h.runQuestions},
		{method: get, path: "/v1/runs/{id}/changes", access: look, about: "the changes of a run, the oldest first; next is where to continue, and is missing at the end", query: []string{"after", "limit"}, gives: coordinator.PastChanges{}, status: found, moreStatuses: []int{missing, http.StatusBadRequest}, do: h.runChanges},
	}
}

// runAndTask returns the ids of the run and the task in the path.
func (c *request) runAndTask() (run, task string, err error) {
	if run, err = c.pathID(); err != nil {
		return "", "", err
	}
	task = c.r.PathValue("name")
	return run, task, checkIDs("task", task)
}

const defaultRuns = 100

// runQuery parses the query parameters that select runs.
func (c *request) runQuery() (coordinator.RunQuery, error) {
	query := c.r.URL.Query()
	q := coordinator.RunQuery{Project: query.Get("project"), Ended: c.flag("ended")}
	if err := checkPath("project", q.Project); err != nil {
		return q, err
	}
	var err error
	q.Limit, err = c.number("limit", coordinator.MaxRuns, defaultRuns)
	return q, err
}

func (h *runHandlers) listRuns(c *request) error {
	q, err := c.runQuery()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allRuns, error) {
		all, err := h.runs.Runs(ctx, q)
		return allRuns{list(all)}, err
	})
}

func (h *runHandlers) liveAttempts(c *request) error {
	return respond(c, func(ctx context.Context) (liveAttempts, error) {
		all, err := h.runs.RunningAttempts(ctx)
		return liveAttempts{list(all)}, err
	})
}

func (h *runHandlers) oneRun(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (oneRun, error) {
		run, err := h.runs.Run(ctx, id)
		return oneRun{run}, err
	})
}

func (h *runHandlers) findRun(c *request) error {
	q := c.r.URL.Query()
	project, name, task := q.Get("project"), strings.TrimSpace(q.Get("name")), strings.TrimSpace(q.Get("task"))
	if err := cmp.Or(checkPath("project", project), checkNames("name", name)); err != nil {
		return err
	}
	// The text may have the form RUN/TASK. Check both parts separately, because each of them may
	// have the maximum length of a name.
	run, id, _ := strings.Cut(task, "/")
	if err := checkNames("task", run, "task", id); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (foundRun, error) {
		if task != "" {
			t, err := h.runs.FindTask(ctx, project, task)
			return foundRun{Task: &t}, err
		}
		id, err := h.runs.FindRun(ctx, project, name, c.flag("unfinished"))
		return foundRun{ID: id}, err
	})
}

func (h *runHandlers) runTask(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneRunTask, error) {
		t, err := h.runs.Task(ctx, run, task)
		return oneRunTask{t}, err
	})
}

func (h *runHandlers) attempts(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allAttempts, error) {
		all, err := h.runs.Attempts(ctx, run, task)
		return allAttempts{list(all)}, err
	})
}

func (h *runHandlers) candidates(c *request) error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (oneComparison, error) {
		all, err := h.runs.Candidates(ctx, run, task)
		return oneComparison{all}, err
	})
}

func (h *runHandlers) runPlan(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	env := c.flag("env")
	if env && !operate.permits(c.by.Role) {
		return refuse(http.StatusForbidden, "forbidden", fmt.Sprintf("the role %s may not see the values of a plan's variables", c.by.Role))
	}
	return respond(c, func(ctx context.Context) (onePlan, error) {
		plan, err := h.runs.Plan(ctx, id, env)
		return onePlan{plan}, err
	})
}

func (h *runHandlers) sessions(c *request) error {
	q, err := c.runQuery()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (allSessions, error) {
		all, err := h.runs.Sessions(ctx, q)
		return allSessions{list(all)}, err
	})
}
