package server

import (
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

// Runs implements the requests about runs. Errors are classified as those of [Protocol]
// are.
type Runs interface {
	Runs(ctx context.Context, q coordinator.RunQuery) ([]fleet.Run, error)
	Run(ctx context.Context, id string) (fleet.Run, error)
	FindRun(ctx context.Context, project, name string, unfinished bool) (string, error)
	FindTask(ctx context.Context, project, name string) (fleet.Task, error)
	Task(ctx context.Context, run, task string) (fleet.Task, error)
	Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error)
	// Plan returns the plan of a run. It includes the values of variables only if env is
	// set.
	Plan(ctx context.Context, run string, env bool) (json.RawMessage, error)
	// Doing returns the running attempts of all runs.
	Doing(ctx context.Context) ([]coordinator.AttemptChange, error)

	Submit(ctx context.Context, by credential.Identity, n coordinator.NewRun) (fleet.Run, error)
	// Cancel ends a run, or one task of it if task is not empty.
	Cancel(ctx context.Context, by credential.Identity, run, task, why string) error
	Retry(ctx context.Context, by credential.Identity, run, task string) error
	// Resume starts a process for a run of the server's machine if none works on it.
	Resume(ctx context.Context, by credential.Identity, run string) error

	Questions(ctx context.Context, run string) ([]fleet.Question, error)
	Answer(ctx context.Context, by credential.Identity, question, text string, deny bool) error
	// Ask asks a question that belongs to no task. Withdraw closes one.
	Ask(ctx context.Context, by credential.Identity, q coordinator.NewQuestion) (coordinator.QuestionChange, error)
	Question(ctx context.Context, id string) (coordinator.QuestionChange, error)
	Withdraw(ctx context.Context, by credential.Identity, question, why string) error

	// Lanes returns the paused agent accounts.
	Lanes(ctx context.Context) ([]fleet.Lane, error)
	RunAttempts(ctx context.Context, run string) ([]coordinator.AttemptChange, error)
	RunQuestions(ctx context.Context, run string) ([]coordinator.QuestionChange, error)
	// RunChanges returns the stream's updates about a run after a change number. It reads
	// at most limit changes. next is the number to continue after, or 0 if there are no
	// more.
	RunChanges(ctx context.Context, run string, after int64, limit int) (list []Update, next int64, err error)

	// Log opens the log of a task. It returns a [*RangeError] for an offset outside the
	// log.
	Log(ctx context.Context, run, task string, q coordinator.LogQuery) (Log, coordinator.LogSpan, error)

	Sessions(ctx context.Context, q coordinator.RunQuery) ([]coordinator.Session, error)
	// Document returns the status.json of a session.
	Document(ctx context.Context, session string) ([]byte, error)
	// Records writes the records of a run as JSON, in the form of [coordinator.Records].
	Records(ctx context.Context, run string, to io.Writer) error
	Report(ctx context.Context, q coordinator.ReportQuery) (any, error)
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
	onePlan struct {
		Plan json.RawMessage `json:"plan"`
	}
	allQuestions struct {
		Questions []fleet.Question `json:"questions"`
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
		Task string `json:"task"`
	}
	resumption  struct{}
	oneQuestion struct {
		Question coordinator.QuestionChange `json:"question"`
	}
	withdrawal struct {
		Why string `json:"why,omitempty"`
	}
	questionAnswer struct {
		Text string `json:"text"`
		Deny bool   `json:"deny,omitempty"`
	}
)

func runRoutes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return append(pastRoutes(), []route{
		{method: get, path: "/v1/runs", access: look, about: "runs without their tasks, the latest first; those that have ended with ended=1", query: []string{"project", "ended", "limit"}, gives: allRuns{}, status: found, do: (*call).listRuns},
		{method: post, path: "/v1/runs", access: operate, about: "submit a plan; the same key gives the same run", takes: coordinator.NewRun{}, gives: oneRun{}, status: made, others: []int{conflict}, do: (*call).submitRun},
		{method: get, path: "/v1/runs/find", access: look, about: "the run that a person means by name, or the task by task", query: []string{"project", "name", "unfinished", "task"}, gives: foundRun{}, status: found, others: []int{missing, conflict}, do: (*call).findRun},
		{method: get, path: "/v1/runs/{id}", access: look, about: "one run with its tasks, without their prompts", gives: oneRun{}, status: found, others: []int{missing}, do: (*call).oneRun},
		{method: get, path: "/v1/runs/{id}/plan", access: look, about: "the plan of a run; values of its variables are hidden, unless an operator asks for them with env=1", query: []string{"env"}, gives: onePlan{}, status: found, others: []int{missing}, do: (*call).runPlan},
		{method: post, path: "/v1/runs/{id}/cancel", access: operate, about: "end a run, or one task of it with what waits for it", takes: cancellation{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).cancelRun},
		{method: post, path: "/v1/runs/{id}/retry", access: operate, about: "queue a task again that failed or was cancelled", takes: again{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).retryTask},
		{method: post, path: "/v1/runs/{id}/resume", access: operate, about: "let a process work on a run of the server's machine if none does", takes: resumption{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).resumeRun},
		{method: get, path: "/v1/runs/{id}/tasks/{name}", access: look, about: "one task of a run, with its prompt", gives: oneRunTask{}, status: found, others: []int{missing}, do: (*call).runTask},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/attempts", access: look, about: "all tries at a task", gives: allAttempts{}, status: found, others: []int{missing}, do: (*call).attempts},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/log", access: look, about: "the log of a task as text, from an offset, its end, or as it grows", query: []string{"offset", "tail", "follow"}, status: found, others: []int{http.StatusPartialContent, missing, conflict, http.StatusRequestedRangeNotSatisfiable}, do: (*call).taskLog},

		{method: get, path: "/v1/questions", access: look, about: "what agents wait for people to decide", query: []string{"run"}, gives: allQuestions{}, status: found, do: (*call).questions},
		{method: post, path: "/v1/questions/{id}/answer", access: operate, about: "answer a question, once", takes: questionAnswer{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).answerQuestion},
		{method: post, path: "/v1/questions", access: work, about: "ask a person a question that belongs to no task; the same ref gives the same one", takes: coordinator.NewQuestion{}, gives: oneQuestion{}, status: made, do: (*call).askAside},
		{method: get, path: "/v1/questions/{id}", access: look, about: "a question, also one that is closed", gives: oneQuestion{}, status: found, others: []int{missing}, do: (*call).question},
		{method: post, path: "/v1/questions/{id}/withdraw", access: work, about: "close a question that belongs to no task", takes: withdrawal{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).withdraw},

		{method: get, path: "/v1/sessions", access: look, about: "the runs that have a session's document", query: []string{"project", "limit"}, gives: allSessions{}, status: found, do: (*call).sessions},
		{method: get, path: "/v1/sessions/{id}/status.json", access: look, about: "the document of a session, as its protocol has it", gives: map[string]any{}, status: found, others: []int{missing}, do: (*call).statusDocument},
		{method: get, path: "/v1/records", access: look, about: "the ledger's records of a run's attempts", query: []string{"run"}, gives: allRecords{}, status: found, others: []int{missing}, do: (*call).records},
		{method: get, path: "/v1/report", access: look, about: "the report over the records of all runs", query: []string{"project", "since", "agent", "model", "template", "rows"}, gives: oneReport{}, status: found, others: []int{http.StatusBadRequest}, do: (*call).runReport},
	}...)
}

// theRuns returns the service for runs, or an error if the coordinator has none.
func (c *call) theRuns() (Runs, error) {
	if c.opts.Runs == nil {
		return nil, refuse(http.StatusNotFound, "not_found", "this coordinator has no runs")
	}
	return c.opts.Runs, nil
}

// giveRuns answers with the value that the service for runs returns.
func giveRuns[T any](c *call, ask func(ctx context.Context, runs Runs) (T, error)) error {
	runs, err := c.theRuns()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (T, error) { return ask(ctx, runs) })
}

// runAndTask returns the ids of the run and the task in the path.
func (c *call) runAndTask() (run, task string, err error) {
	if run, err = c.pathID(); err != nil {
		return "", "", err
	}
	task = c.r.PathValue("name")
	return run, task, ids("task", task)
}

const (
	maxRuns  = 1000
	someRuns = 100
)

// runQuery parses the query parameters that select runs.
func (c *call) runQuery() (coordinator.RunQuery, error) {
	query := c.r.URL.Query()
	q := coordinator.RunQuery{Project: query.Get("project"), Ended: yes(query.Get("ended"))}
	if err := names("project", q.Project); err != nil {
		return q, err
	}
	limit, err := c.number("limit", maxRuns)
	if limit == 0 {
		limit = someRuns
	}
	q.Limit = limit
	return q, err
}

// yes parses a boolean query parameter.
func yes(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "yes":
		return true
	}
	return false
}

func (c *call) listRuns() error {
	q, err := c.runQuery()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (allRuns, error) {
		all, err := runs.Runs(ctx, q)
		return allRuns{list(all)}, err
	})
}

func (c *call) oneRun() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (oneRun, error) {
		run, err := runs.Run(ctx, id)
		return oneRun{run}, err
	})
}

func (c *call) findRun() error {
	q := c.r.URL.Query()
	project, name, task := q.Get("project"), strings.TrimSpace(q.Get("name")), strings.TrimSpace(q.Get("task"))
	if err := names("project", project, "name", name); err != nil {
		return err
	}
	run, id, _ := strings.Cut(task, "/") // each part may be as long as a name
	if err := names("task", run, "task", id); err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (foundRun, error) {
		if task != "" {
			t, err := runs.FindTask(ctx, project, task)
			return foundRun{Task: &t}, err
		}
		id, err := runs.FindRun(ctx, project, name, yes(q.Get("unfinished")))
		return foundRun{ID: id}, err
	})
}

func (c *call) runTask() error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (oneRunTask, error) {
		t, err := runs.Task(ctx, run, task)
		return oneRunTask{t}, err
	})
}

func (c *call) attempts() error {
	run, task, err := c.runAndTask()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (allAttempts, error) {
		all, err := runs.Attempts(ctx, run, task)
		return allAttempts{list(all)}, err
	})
}

func (c *call) runPlan() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	env := yes(c.r.URL.Query().Get("env"))
	if env && !operate.permits(c.by.Role) {
		return refuse(http.StatusForbidden, "forbidden", fmt.Sprintf("the role %s may not see the values of a plan's variables", c.by.Role))
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (onePlan, error) {
		plan, err := runs.Plan(ctx, id, env)
		return onePlan{plan}, err
	})
}

func (c *call) questions() error {
	run := c.r.URL.Query().Get("run")
	if err := ids("run", run); err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (allQuestions, error) {
		all, err := runs.Questions(ctx, run)
		return allQuestions{list(all)}, err
	})
}

func (c *call) sessions() error {
	q, err := c.runQuery()
	if err != nil {
		return err
	}
	return giveRuns(c, func(ctx context.Context, runs Runs) (allSessions, error) {
		all, err := runs.Sessions(ctx, q)
		return allSessions{list(all)}, err
	})
}
