package newrun

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/statefile/lazyregexp"
)

// Form is a [fleet.RunForm], the form in which a user describes a new run. It has methods that
// return the plan and the command line for the same run.
type Form fleet.RunForm

// overrides returns the settings of the form as flags of 'gaffer run'. It returns an error if the
// time limit is not a duration.
func (f Form) overrides() (Overrides, error) {
	o := Overrides{
		Agent: f.Agent, Model: f.Model, OnFailure: f.OnFailure, Parallel: f.Parallel, Retries: f.Retries, Budget: f.Budget, Worktree: f.Worktree,
		Land: f.Land, Into: f.Into, Verify: f.Verify, BestOf: f.BestOf, Pick: f.Pick, Questions: f.Questions,
	}
	if f.BestOf != 0 && len(f.Candidates) > 0 {
		o.Agent = strings.Join(f.Candidates, ",")
	}
	if f.Timeout != "" {
		var err error
		if o.Timeout, err = time.ParseDuration(f.Timeout); err != nil {
			return o, fmt.Errorf("--timeout %q: want a duration such as 90s, 30m or 1h30m", f.Timeout)
		}
	}
	given := map[string]bool{
		"best-of": f.BestOf != 0, "parallel": f.Parallel != 0, "retries": f.Retries != 0, "timeout": f.Timeout != "", "budget": f.Budget != 0, "worktree": f.Worktree,
	}
	o.Given = func(flag string) bool { return given[flag] }
	return o, nil
}

// Plan returns the plan that 'gaffer run' makes from the prompts and settings of the form. agents
// are the agents that gaffer.yaml defines. The error is a [*UsageError] if the form is not complete
// or not valid.
func (f Form) Plan(agents []string) (plan.Plan, error) {
	o, err := f.overrides()
	if err == nil {
		err = cmp.Or(o.Check(), o.CheckAgent(agents))
	}
	var plans []plan.Plan
	for _, prompt := range f.Prompts {
		p, wrong := plan.Load(nil, prompt, plan.Options{Format: plan.PromptText})
		if strings.TrimSpace(prompt) == "" {
			wrong = errors.New("a prompt is empty")
		}
		err = cmp.Or(err, wrong)
		plans = append(plans, p)
	}
	if len(plans) == 0 {
		err = cmp.Or(err, errors.New("there is no prompt yet"))
	}
	if err != nil {
		return plan.Plan{}, asUsage(err)
	}
	whole, err := Combine(plans)
	if err == nil {
		whole, err = o.Apply(whole)
	}
	return whole, err
}

func asUsage(err error) error {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return err
	}
	return &UsageError{Err: err}
}

// Text returns the plan of the form as the content of a plan file.
func (f Form) Text(agents []string) (string, error) {
	p, err := f.Plan(agents)
	if err != nil {
		return "", err
	}
	return p.YAML()
}

// plainWord matches words that need no quotes in a shell. filename matches prompts that end like
// the name of a plan file, because 'gaffer run' might read such a prompt as a file name.
var (
	plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)
	filename  = lazyregexp.New(`(?i)\.(ya?ml|md|jsonl?)$`)
)

// Command returns the command line that starts the same run from a terminal.
func (f Form) Command() string {
	words := []string{"gaffer", "run"}
	// isPrompt says whether 'gaffer run' reads all arguments as texts of prompts, and none as a
	// file name.
	isPrompt := true
	for _, prompt := range f.Prompts {
		isPrompt = isPrompt && (strings.Contains(prompt, "\n") || len(strings.Fields(prompt)) > 2 && !filename().MatchString(prompt))
		words = append(words, shellWord(prompt))
	}
	if !isPrompt {
		words = append(words, "--format", string(plan.PromptText))
	}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, shellWord(value))
		}
	}
	number := func(name string, n int) {
		if n != 0 {
			flag(name, strconv.Itoa(n))
		}
	}
	if f.BestOf != 0 && len(f.Candidates) > 0 {
		flag("agent", strings.Join(f.Candidates, ","))
	} else {
		flag("agent", f.Agent)
	}
	flag("model", f.Model)
	number("best-of", f.BestOf)
	flag("pick", f.Pick)
	number("parallel", f.Parallel)
	number("retries", f.Retries)
	flag("timeout", f.Timeout)
	if f.Worktree {
		words = append(words, "--worktree")
	}
	flag("land", f.Land)
	flag("into", f.Into)
	flag("on-failure", f.OnFailure)
	flag("questions", f.Questions)
	for _, command := range f.Verify {
		flag("verify", command)
	}
	if f.Budget != 0 {
		flag("budget", strconv.FormatFloat(f.Budget, 'f', -1, 64))
	}
	return strings.Join(words, " ")
}

// shellWord quotes a text for a shell.
func shellWord(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// FormOf returns the form whose Plan method returns the plan p. If there is no such form, the error
// says why.
func FormOf(p plan.Plan, agents []string) (Form, error) {
	whole, err := p.CollapseCandidates()
	if err != nil {
		return Form{}, err
	}
	if len(whole.Tasks) == 0 {
		return Form{}, errors.New("the plan has no task")
	}
	first := whole.Tasks[0]
	for i, t := range whole.Tasks {
		if err := fits(t, first, i); err != nil {
			return Form{}, err
		}
	}
	f := Form{
		Agent: first.Agent, Model: first.Model, Verify: first.Verify, Worktree: first.Worktree, Land: string(first.Land), Into: first.Into, Retries: first.Retries,
		Budget: whole.Budget.USD, Parallel: whole.Parallel,
	}
	if whole.OnFailure != plan.Continue {
		f.OnFailure = string(whole.OnFailure)
	}
	if first.Questions != plan.Ask {
		f.Questions = string(first.Questions)
	}
	if first.Timeout != 0 {
		f.Timeout = shortDuration(first.Timeout)
	}
	if len(first.Candidates) > 0 {
		f.BestOf, f.Candidates, f.Worktree = len(first.Candidates), first.Candidates, false
		if first.PickBy != plan.PickUser {
			f.Pick = string(first.PickBy)
		}
	}
	for _, t := range whole.Tasks {
		f.Prompts = append(f.Prompts, t.Prompt)
	}
	same, err := f.Plan(agents)
	if err != nil {
		return Form{}, err
	}
	if !reflect.DeepEqual(withoutOrigin(same), withoutOrigin(p)) {
		return Form{}, errors.New("the plan says more than the form has fields for")
	}
	return f, nil
}

// shortDuration formats a duration without zero minutes and seconds at its end: 45m instead of
// 45m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// fits returns an error if the task t has a property for which the form has no field. first is the
// first task of the plan, and index is the index of t in the plan. fits does not check all
// properties, so FormOf compares the whole plan afterwards.
func fits(t, first plan.Task, index int) error {
	id := "prompt"
	if index > 0 {
		id = fmt.Sprintf("prompt-%d", index+1)
	}
	switch {
	case len(t.Argv) > 0:
		return fmt.Errorf("task %s is a command", t.ID)
	case len(t.After) > 0 || t.Wave > 0:
		return fmt.Errorf("task %s waits for others", t.ID)
	case len(t.Env) > 0:
		return fmt.Errorf("task %s has variables", t.ID)
	case t.Agent != first.Agent || t.Model != first.Model || !slices.Equal(t.Candidates, first.Candidates):
		return fmt.Errorf("tasks %s and %s have different agents", first.ID, t.ID)
	case !slices.Equal(t.Verify, first.Verify):
		return fmt.Errorf("tasks %s and %s have different checks", first.ID, t.ID)
	case t.ID != id:
		return fmt.Errorf("task %s has an id of its own", t.ID)
	}
	return nil
}

// withoutOrigin returns the plan without its warnings and without the fields that say where it was
// read from. It also replaces empty lists and maps of tasks by nil, because reflect.DeepEqual
// distinguishes them from nil.
func withoutOrigin(p plan.Plan) plan.Plan {
	p.Format, p.Source, p.SourceFile, p.Warnings = "", "", "", nil
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.FileEntry, t.PromptFile = plan.FileEntry{}, ""
		if len(t.Verify) == 0 {
			t.Verify = nil
		}
		if len(t.Env) == 0 {
			t.Env = nil
		}
		if len(t.Labels) == 0 {
			t.Labels = nil
		}
	}
	return p
}
