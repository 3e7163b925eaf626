// Package dispatch turns a bead, a work item of the ledger protocol, into a task for an agent. It
// determines the task's prompt (from a template), agent and limits. It is pure: the caller loads
// the templates.
package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
)

// Settings holds the user's settings for all beads. If a bead has its own agent, repository,
// template, branch or variables, these have precedence. Model applies only to beads with neither an
// agent nor a model. But if Timeout, Retries or Questions is set here, it replaces the bead's own
// value.
type Settings struct {
	Agent, Model string
	Repo         string // absolute path of the repository
	Template     string
	Vars         map[string]string
	Branch       string
	Timeout      *time.Duration
	Retries      *int
	Verify       []string // shell commands that check the work, after the checks of the bead itself
	Questions    plan.QuestionPolicy
}

// SplitAgent splits a text of the form NAME[:MODEL].
func SplitAgent(text string) (name, model string) {
	name, model, _ = strings.Cut(text, ":")
	return name, model
}

// CheckAgent returns an [*AgentError] if name is neither a built-in agent nor in the list custom.
// The agent "command" is not allowed either, because a bead has no command line.
func CheckAgent(name string, custom []string) error {
	known := slices.DeleteFunc(append(plan.Agents(), custom...), func(n string) bool { return n == plan.CommandAgent })
	if slices.Contains(known, name) {
		return nil
	}
	return &AgentError{name, suggest.Nearest(name, known), known}
}

// AgentError reports an unknown agent.
type AgentError struct {
	Name, Meant string
	Known       []string
}

func (e *AgentError) Error() string {
	return fmt.Sprintf("no agent is called %q, want one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *AgentError) Usage() bool { return true }

// Hint suggests a similar agent name. If there is none, it says how to define an agent.
func (e *AgentError) Hint() string {
	if e.Meant == "" {
		return "define your own agents under agents: in gaffer.yaml"
	}
	return fmt.Sprintf("did you mean %q?", e.Meant)
}

// BeadTask returns a task for the bead with this id. text is the prompt.
func BeadTask(bead, text string) plan.Task {
	return plan.Task{
		ID: bead, Name: bead, Prompt: text, Limits: plan.Limits{Retries: plan.BeadRetries, Timeout: plan.BeadTimeout},
		QuestionRules: plan.QuestionRules{Questions: plan.Ask}, Dispatch: &plan.Dispatch{Bead: bead},
	}
}

// Plan returns the plan p with the settings s applied to its tasks, and with prompts made from
// templates. Every task of p must be for a bead, that is, have a Dispatch. The function templates
// returns the template with the given name.
func Plan(p plan.Plan, s Settings, templates func(name string) (prompt.Template, error)) (plan.Plan, error) {
	p.Source = plan.SourceRunPrompt
	p.Tasks = slices.Clone(p.Tasks)
	used := map[string]bool{} // names of the variables in the templates of all tasks
	for _, t := range p.Tasks {
		name := cmp.Or(t.Dispatch.Template, s.Template)
		if name == "" {
			continue
		}
		// Ignore an error here: it is reported below, for the task that uses the template.
		if template, err := templates(name); err == nil {
			for _, v := range template.Variables() {
				used[v] = true
			}
		}
	}
	for i, t := range p.Tasks {
		t = s.apply(t)
		var err error
		if t.Dispatch.Template == "" {
			err = s.checkPrompt(t, used)
		} else {
			var template prompt.Template
			if template, err = templates(t.Dispatch.Template); err == nil {
				t.Prompt, err = s.fillPrompt(template, t, used)
			}
		}
		if err != nil {
			return p, fmt.Errorf("bead %s: %w", t.ID, err)
		}
		p.Tasks[i] = t
	}
	return p, nil
}

// apply returns the task t with the settings applied.
func (s Settings) apply(t plan.Task) plan.Task {
	d := *t.Dispatch
	t.Dispatch = &d
	if t.Agent == "" {
		t.Agent, t.Model = s.Agent, cmp.Or(t.Model, s.Model)
	}
	d.Repo, d.Template = cmp.Or(d.Repo, s.Repo), cmp.Or(d.Template, s.Template)
	t.Branch = cmp.Or(t.Branch, s.Branch)
	t.Worktree = t.Worktree || t.Branch != ""
	if s.Timeout != nil {
		t.Timeout = *s.Timeout
	}
	if s.Retries != nil {
		t.Retries = *s.Retries
	}
	if s.Questions != "" {
		t.Questions = s.Questions
	}
	t.Verify = slices.Concat(t.Verify, s.Verify)
	return t
}

// checkPrompt checks a task that has no template. It returns an error if the task has no prompt, or
// if the task has variables of its own. It also returns an error if s.Vars, the variables for all
// tasks, has a variable that is not in used. used holds the names of the variables in the templates
// of all tasks.
func (s Settings) checkPrompt(t plan.Task, used map[string]bool) error {
	unused := len(t.Dispatch.Vars) > 0
	for name := range s.Vars {
		unused = unused || !used[name]
	}
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return &PromptError{"it has neither a prompt nor a template"}
	case unused:
		return &PromptError{"there are variables, but no template for them"}
	}
	return nil
}

// fillPrompt returns the prompt of a task: the template with its variables filled in. used holds
// the names of the variables in the templates of all tasks. If s.Vars, the variables for all tasks,
// has a variable that is not in used, fillPrompt returns an error.
//
// The given t.Prompt may already be the filled-in template. In this case, fillPrompt returns
// t.Prompt unchanged if the template has no {{PROMPT}} and no variables are given.
func (s Settings) fillPrompt(template prompt.Template, t plan.Task, used map[string]bool) (string, error) {
	has := template.Variables()
	given := maps.Clone(t.Dispatch.Vars)
	if given == nil {
		given = map[string]string{}
	}
	for name, value := range s.Vars {
		if _, own := given[name]; !own && (slices.Contains(has, name) || !used[name]) {
			given[name] = value
		}
	}
	known := map[string]string{
		"BEAD": t.Dispatch.Bead, "BEAD_ID": t.Dispatch.Bead, "BRANCH": t.Branch,
		"AGENT": engine.AgentOf(t), "MODEL": t.Model,
		"REPO": t.Dispatch.Repo, "REPO_PATH": t.Dispatch.Repo,
	}
	if t.Worktree {
		// Use "." as the repository: the agent works in a worktree that does not exist yet, and the
		// path of the repository would lead it to files outside its branch.
		known["REPO"], known["REPO_PATH"] = ".", "."
	}
	if slices.Contains(has, "PROMPT") {
		if t.Prompt != "" {
			known["PROMPT"] = t.Prompt
		}
		return template.Fill(given, known)
	}
	if t.Prompt != "" && len(given) == 0 && template.FilledIn(t.Prompt) {
		return t.Prompt, nil
	}
	return fillWithoutPrompt(template, t.Prompt, given, known)
}

// Names of variables that templates of the ledger protocol may have instead of {{PROMPT}}.
var (
	// taskVariables are variables for a description of the whole task. If the user gives no value
	// for one, the prompt becomes its value.
	taskVariables = []string{"DESCRIPTION", "BUG_DESCRIPTION", "SPEC", "GOAL", "SCRIPT_PURPOSE", "TOPIC"}
	// detailVariables are variables for details of the task. If the user gives no value for one,
	// its value is "not specified".
	detailVariables = []string{"FILES", "EXPECTED_BEHAVIOR", "SCOPE", "OUTPUT_PATH", "DIFF"}
)

// fillWithoutPrompt fills in a template that has no {{PROMPT}}. text is the prompt. Each variable
// of taskVariables that has no value in the map values gets the prompt as its value. If the
// template has no such variable, the prompt is appended to the filled-in template.
func fillWithoutPrompt(template prompt.Template, text string, values, defaults map[string]string) (string, error) {
	placed := text == ""
	for _, name := range taskVariables {
		if _, ok := values[name]; !ok && text != "" && slices.Contains(template.Variables(), name) {
			defaults[name], placed = text, true
		}
	}
	for _, name := range detailVariables {
		defaults[name] = "not specified"
	}
	filled, err := template.Fill(values, defaults)
	if err != nil || placed {
		return filled, err
	}
	return strings.TrimRight(filled, "\n") + "\n\n" + text + "\n", nil
}

// PromptError reports a bead whose prompt cannot be determined.
type PromptError struct{ Problem string }

func (e *PromptError) Error() string { return e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *PromptError) Usage() bool { return true }
