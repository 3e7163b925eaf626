package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// NewRuns implements the requests with which a user prepares a run and starts it. The parameter
// project is the path of a project on the server's machine. An error that it returns may have
// methods that decide the HTTP status; see [Protocol].
type NewRuns interface {
	// Places returns where a new run can be executed: in which projects on the server's machine,
	// and on which workers.
	Places(ctx context.Context) (fleet.RunPlaces, error)
	// Programs lists agents, and says for each whether the server's machine can run it in a
	// project.
	Programs(ctx context.Context, project string) ([]fleet.AgentProgram, error)
	PlanFiles(ctx context.Context, project string) (fleet.PlanFiles, error)
	PlanFile(ctx context.Context, project, path string) (fleet.PlanText, error)
	// PlanOfRun returns the plan of a run as text, without the values of environment variables.
	PlanOfRun(ctx context.Context, run string) (fleet.PlanText, error)
	Check(ctx context.Context, d fleet.RunDraft) (fleet.PlanCheck, error)
	// Start starts a run. If the run was stored but no process could be started for it, the warning
	// says why. Otherwise, the warning is empty.
	Start(ctx context.Context, by credential.Identity, d fleet.RunDraft) (run fleet.Run, warning string, err error)
	// Fork starts a run with one task. This task continues a copy of another task's conversation,
	// with a copy of that task's files. The warning has the same meaning as the warning that Start
	// returns.
	Fork(ctx context.Context, by credential.Identity, r fleet.ForkRequest) (result fleet.ForkResult, warning string, err error)
	// Turns returns the turns of a task's conversation. A turn is a message of the user with the
	// agent's reply. [NewRuns.Fork] can continue the conversation after any turn.
	Turns(ctx context.Context, run, task string) ([]fleet.Turn, error)
}

// Bodies of requests and answers about new runs.
type (
	allPlaces struct {
		Places fleet.RunPlaces `json:"places"`
	}
	allPrograms struct {
		Programs []fleet.AgentProgram `json:"programs"`
	}
	allPlanFiles struct {
		Plans fleet.PlanFiles `json:"plans"`
	}
	onePlanText struct {
		Plan fleet.PlanText `json:"plan"`
	}
	oneCheck struct {
		Check fleet.PlanCheck `json:"check"`
	}
	forking struct {
		At     int    `json:"at,omitempty"`
		Prompt string `json:"prompt,omitempty"`
		Agent  string `json:"agent,omitempty"`
		Model  string `json:"model,omitempty"`
		Key    string `json:"key,omitempty"`
	}
	oneFork struct {
		Fork    fleet.ForkResult `json:"fork"`
		Warning string           `json:"warning,omitempty"`
	}
	allTurns struct {
		Turns []fleet.Turn `json:"turns"`
	}
	startedRun struct {
		Run     fleet.Run `json:"run"`
		Warning string    `json:"warning,omitempty"`
	}
)

const (
	maxDraft = 10 << 20 // maximum length of a request with the text of a plan, in bytes
	// maxDrafts is how many drafts of runs the server checks or starts at the same time. It limits
	// the memory and the time that large plans take.
	maxDrafts = 4
)

// newRunHandlers answers the requests about new runs.
type newRunHandlers struct {
	service  NewRuns
	checking chan struct{} // semaphore: at most maxDrafts drafts are checked or started at once
}

func (h *newRunHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/v1/places", access: operate, about: "where a new run can be executed: folders of the server's machine, and workers", gives: allPlaces{}, status: found, do: h.places},
		{method: get, path: "/v1/programs", access: operate, about: "which agents are installed and logged in on the server's machine", query: []string{"project"}, gives: allPrograms{}, status: found, moreStatuses: []int{missing}, do: h.programs},
		{method: get, path: "/v1/plans", access: operate, about: "the plan files of a project on the server's machine", query: []string{"project"}, gives: allPlanFiles{}, status: found, moreStatuses: []int{missing}, do: h.planFiles},
		{method: get, path: "/v1/plans/file", access: operate, about: "the text of a plan file", query: []string{"project", "path"}, gives: onePlanText{}, status: found, moreStatuses: []int{missing}, do: h.planFile},
		{method: post, path: "/v1/plans/check", access: operate, about: "check a form or the text of a plan, as 'gaffer plan check' does", takes: fleet.RunDraft{}, gives: oneCheck{}, status: found, moreStatuses: []int{missing, conflict}, do: h.check},
		{method: post, path: "/v1/plans/start", access: operate, about: "start a run from a form or the text of a plan, as 'gaffer run --detach' does; the same key returns the same run", takes: fleet.RunDraft{}, gives: startedRun{}, status: made, moreStatuses: []int{missing, conflict}, do: h.start},
		{method: get, path: "/v1/runs/{id}/plan/text", access: operate, about: "the plan of a run as a text from which another run can be started; the values of its variables are left out", gives: onePlanText{}, status: found, moreStatuses: []int{missing, conflict}, do: h.planOfRun},
		{method: get, path: "/v1/runs/{id}/tasks/{name}/turns", access: look, about: "the turns of a task's conversation, from which it can be forked", gives: allTurns{}, status: found, moreStatuses: []int{missing, conflict}, do: h.turns},
		{method: post, path: "/v1/runs/{id}/tasks/{name}/fork", access: operate, about: "start a run with one task, which continues a copy of this task's conversation and files; the same key returns the same run", takes: forking{}, gives: oneFork{}, status: made, moreStatuses: []int{missing, conflict}, do: h.fork},
	}
}

func (h *newRunHandlers) places(c *request) error {
	return respond(c, func(ctx context.Context) (allPlaces, error) {
		all, err := h.service.Places(ctx)
		return allPlaces{all}, err
	})
}

func (h *newRunHandlers) programs(c *request) error {
	return respondForProject(c, func(ctx context.Context, project string) (allPrograms, error) {
		all, err := h.service.Programs(ctx, project)
		return allPrograms{list(all)}, err
	})
}

func (h *newRunHandlers) planFiles(c *request) error {
	return respondForProject(c, func(ctx context.Context, project string) (allPlanFiles, error) {
		all, err := h.service.PlanFiles(ctx, project)
		all.Paths = list(all.Paths)
		return allPlanFiles{all}, err
	})
}

func (h *newRunHandlers) planFile(c *request) error {
	path := c.r.URL.Query().Get("path")
	if err := checkPath("path", path); err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (onePlanText, error) {
		text, err := h.service.PlanFile(ctx, project, path)
		return onePlanText{text}, err
	})
}

func (h *newRunHandlers) planOfRun(c *request) error {
	return respondByID(c, func(ctx context.Context, id string) (onePlanText, error) {
		text, err := h.service.PlanOfRun(ctx, id)
		return onePlanText{text}, err
	})
}

// draft reads the draft of a run from the request, validates it and passes it to the function do.
// It refuses the request if maxDrafts other drafts are being handled.
func (h *newRunHandlers) draft(c *request, do func(d fleet.RunDraft) error) error {
	select {
	case h.checking <- struct{}{}:
		defer func() { <-h.checking }()
	default:
		return temporary("busy", fmt.Sprintf("%d plans are being checked: try again", maxDrafts))
	}
	var d fleet.RunDraft
	if err := c.decodeUpTo(maxDraft, &d); err != nil {
		return err
	}
	trim(&d.Project, &d.On, &d.Key)
	if err := cmp.Or(checkPath("project", d.Project), checkPath("file", d.File)); err != nil {
		return err
	}
	names, texts := []string{"on", d.On, "key", d.Key}, []string{"text", d.Text}
	if f := d.Form; f != nil {
		names = append(names, "agent", f.Agent, "model", f.Model, "pick", f.Pick, "land", f.Land, "into", f.Into, "timeout", f.Timeout, "on_failure", f.OnFailure)
		for _, one := range f.Candidates {
			names = append(names, "candidates", one)
		}
		texts = append(texts, "prompts", strings.Join(f.Prompts, "\n"), "verify", strings.Join(f.Verify, "\n"))
	}
	if err := checkNames(names...); err != nil {
		return err
	}
	if err := checkTexts(texts...); err != nil {
		return err
	}
	return do(d)
}

func (h *newRunHandlers) check(c *request) error {
	c.quiet = true // it changes nothing
	return h.draft(c, func(d fleet.RunDraft) error {
		return respond(c, func(ctx context.Context) (oneCheck, error) {
			check, err := h.service.Check(ctx, d)
			check.Findings, check.Tasks = list(check.Findings), list(check.Tasks)
			return oneCheck{check}, err
		})
	})
}

func (h *newRunHandlers) start(c *request) error {
	return h.draft(c, func(d fleet.RunDraft) error {
		return respond(c, func(ctx context.Context) (startedRun, error) {
			run, warning, err := h.service.Start(ctx, c.by, d)
			c.about = "run " + run.ID
			return startedRun{run, warning}, err
		})
	})
}
