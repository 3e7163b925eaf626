// Package dispatch says what a bead becomes when it is handed to an agent: its
// prompt, made from a template, its agent, its limits. It is pure; the templates
// are looked up by the caller.
package dispatch

import (
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

// Settings are what a person says about all beads at once. What a bead says
// itself stands over Agent, Model, Repo and Template; Timeout and Retries, if
// they are given, stand over what it says.
type Settings struct {
	Agent, Model string
	Repo         string // absolute
	Template     string
	Vars         map[string]string
	Branch       string
	Timeout      *time.Duration
	Retries      *int
	Verify       []string // done after a bead's own
	Questions    plan.QuestionPolicy

	used map[string]bool // the variables of all templates
}

// SplitAgent reads NAME[:MODEL].
func SplitAgent(text string) (name, model string) {
	name, model, _ = strings.Cut(text, ":")
	return name, model
}

// CheckAgent refuses an agent that is neither known nor one of custom.
func CheckAgent(name string, custom []string) error {
	known := slices.DeleteFunc(append(plan.Agents(), custom...), func(n string) bool { return n == plan.CommandAgent })
	if slices.Contains(known, name) {
		return nil
	}
	return &AgentError{name, suggest.Nearest(name, known), known}
}

// AgentError is an agent that nobody knows.
type AgentError struct {
	Name, Meant string
	Known       []string
}

func (e *AgentError) Error() string {
	return fmt.Sprintf("no agent is called %q, want one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Usage marks the error as one about what was asked for.
func (e *AgentError) Usage() bool { return true }

// Hint names what was likely meant.
func (e *AgentError) Hint() string {
	if e.Meant == "" {
		return "agents of your own stand under agents: in gaffer.yaml"
	}
	return fmt.Sprintf("did you mean %q?", e.Meant)
}

// One is the task of a single bead.
func One(bead, text string) plan.Task {
	return plan.Task{
		ID: bead, Name: bead, Prompt: text, Retries: plan.BeadRetries, Timeout: plan.BeadTimeout, Questions: plan.Ask,
		Dispatch: &plan.Dispatch{Bead: bead},
	}
}

// Plan is beads as they are to run. Every task must have a Dispatch.
func Plan(p plan.Plan, s Settings, templates func(name string) (prompt.Template, error)) (plan.Plan, error) {
	p.Source = plan.SourceRunPrompt
	p.Tasks = slices.Clone(p.Tasks)
	s.used = s.variables(p.Tasks, templates)
	for i, t := range p.Tasks {
		t, err := s.apply(t, templates)
		if err != nil {
			return p, fmt.Errorf("bead %s: %w", t.ID, err)
		}
		p.Tasks[i] = t
	}
	return p, nil
}

// variables are those of the templates that the beads have. One that cannot be
// used has none: what is wrong with it is said of its bead.
func (s Settings) variables(tasks []plan.Task, templates func(string) (prompt.Template, error)) map[string]bool {
	used := map[string]bool{}
	for _, t := range tasks {
		name := or(t.Dispatch.Template, s.Template)
		if name == "" {
			continue
		}
		if template, err := templates(name); err == nil {
			for _, v := range template.Variables() {
				used[v] = true
			}
		}
	}
	return used
}

// nowhere says whether there is a variable that no template has.
func (s Settings) nowhere() bool {
	for name := range s.Vars {
		if !s.used[name] {
			return true
		}
	}
	return false
}

func (s Settings) apply(t plan.Task, templates func(string) (prompt.Template, error)) (plan.Task, error) {
	d := *t.Dispatch
	t.Dispatch = &d
	if t.Agent == "" {
		t.Agent, t.Model = s.Agent, or(t.Model, s.Model)
	}
	d.Repo, d.Template = or(d.Repo, s.Repo), or(d.Template, s.Template)
	if t.Branch == "" && s.Branch != "" {
		t.Branch = s.Branch
	}
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
	if d.Template == "" {
		return t, s.plain(t)
	}
	template, err := templates(d.Template)
	if err != nil {
		return t, err
	}
	t.Prompt, err = s.fill(template, t)
	return t, err
}

// plain checks a bead whose prompt is its own.
func (s Settings) plain(t plan.Task) error {
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return &PromptError{"it has neither a prompt nor a template"}
	case len(t.Dispatch.Vars) > 0 || s.nowhere():
		return &PromptError{"there are variables, but no template for them"}
	}
	return nil
}

// fill makes the prompt of a bead. The values that a person gives for all beads
// need not be in every template, but in one.
func (s Settings) fill(template prompt.Template, t plan.Task) (string, error) {
	has := template.Variables()
	given := maps.Clone(t.Dispatch.Vars)
	if given == nil {
		given = map[string]string{}
	}
	for name, value := range s.Vars {
		if _, own := given[name]; !own && (slices.Contains(has, name) || !s.used[name]) {
			given[name] = value
		}
	}
	known := map[string]string{
		"BEAD": t.Dispatch.Bead, "BEAD_ID": t.Dispatch.Bead, "BRANCH": t.Branch,
		"AGENT": engine.AgentOf(t), "MODEL": t.Model,
		"REPO": t.Dispatch.Repo, "REPO_PATH": t.Dispatch.Repo,
	}
	if t.Worktree {
		// The agent works in a worktree that does not exist yet. The path of the
		// repository would lead it to files outside its branch.
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
	return fillWithout(template, t.Prompt, given, known)
}

// The variables of templates that have no {{PROMPT}}, as users of this protocol
// write them.
var (
	// taskVariables describe the whole task. Each that has no value gets the prompt.
	taskVariables = []string{"DESCRIPTION", "BUG_DESCRIPTION", "SPEC", "GOAL", "SCRIPT_PURPOSE", "TOPIC"}
	// detailVariables may be left out.
	detailVariables = []string{"FILES", "EXPECTED_BEHAVIOR", "SCOPE", "OUTPUT_PATH", "DIFF"}
)

// fillWithout fills a template that has no {{PROMPT}}. The prompt is the value of
// the variables that describe the task. If there is none without a value, the
// prompt follows the template's text, so that it is never lost.
func fillWithout(template prompt.Template, text string, given, known map[string]string) (string, error) {
	placed := text == ""
	for _, name := range taskVariables {
		if _, ok := given[name]; !ok && text != "" && slices.Contains(template.Variables(), name) {
			known[name], placed = text, true
		}
	}
	for _, name := range detailVariables {
		known[name] = "not specified"
	}
	filled, err := template.Fill(given, known)
	if err != nil || placed {
		return filled, err
	}
	return strings.TrimRight(filled, "\n") + "\n\n" + text + "\n", nil
}

// PromptError is a bead of which it is not clear what its agent is to be told.
type PromptError struct{ Problem string }

func (e *PromptError) Error() string { return e.Problem }

// Usage marks the error as one about what was asked for.
func (e *PromptError) Usage() bool { return true }

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
