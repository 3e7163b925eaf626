// Package newrun makes the plan of a new run from what the user has chosen: plans, prompts, and
// settings such as the agent or the number of candidates. 'gaffer run' and the dashboard use it, so
// that both make the same run.
package newrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
)

// Overrides are settings that change a plan. The fields have the names of the flags of 'gaffer
// run'. A setting that the user has not given changes nothing.
type Overrides struct {
	Given func(flag string) bool

	Agent, Model string
	OnFailure    string
	Parallel     int
	Retries      int
	Timeout      time.Duration
	Budget       float64
	Worktree     bool
	Land, Into   string
	Verify       []string
	BestOf       int
	Pick         string
	Fallback     []string
	Questions    string
}

// UsageError reports a setting that is not valid, or that cannot be used together with the plan or
// with other settings.
type UsageError struct {
	Err  error
	Next string // what the user can do; empty if unknown
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *UsageError) Usage() bool { return true }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *UsageError) Invalid() bool { return true }

// Hint returns advice for the user.
func (e *UsageError) Hint() string { return e.Next }

// maxBestOf is the maximum value of the flag --best-of, which says how many agents do the same
// task.
const maxBestOf = 16

// maxFallbacks is the maximum number of agents in the flag --fallback.
const maxFallbacks = 8

// Check returns an error if a flag has an invalid value or lacks another flag that it needs. It
// checks only what does not depend on the plan.
func (o Overrides) Check() error {
	switch {
	case o.OnFailure != "" && !slices.Contains(Failures(), o.OnFailure):
		return wrongWord("--on-failure", o.OnFailure, Failures())
	case o.Land != "" && !slices.Contains(Lands(), o.Land):
		return wrongWord("--land", o.Land, Lands())
	case CheckQuestions(o.Questions) != nil:
		return CheckQuestions(o.Questions)
	case o.Into != "" && !plan.IsBranch(o.Into):
		return fmt.Errorf("--into %q: want the name of a git branch such as develop", o.Into)
	case o.Given("best-of") && (o.BestOf < 2 || o.BestOf > maxBestOf):
		return fmt.Errorf("--best-of %d: want 2 to %d", o.BestOf, maxBestOf)
	case o.Pick != "" && o.BestOf == 0:
		return fmt.Errorf("--pick needs --best-of, how many agents do each task")
	case o.Pick != "" && !slices.Contains(Picks(), o.Pick):
		return wrongWord("--pick", o.Pick, Picks())
	case o.BestOf == 0 && strings.Contains(o.Agent, ","):
		return fmt.Errorf("--agent %s: several agents need --best-of, such as --best-of %d", o.Agent, strings.Count(o.Agent, ",")+1)
	case len(o.agents()) > max(o.BestOf, 1):
		return fmt.Errorf("--agent names %d agents, which is more than --best-of %d", len(o.agents()), o.BestOf)
	case len(o.Fallback) > maxFallbacks:
		return fmt.Errorf("--fallback: found %d agents, want %d at most", len(o.Fallback), maxFallbacks)
	case o.Parallel < 0:
		return fmt.Errorf("--parallel %d: want 0 or more", o.Parallel)
	case o.Retries < 0 || o.Retries > 100:
		return fmt.Errorf("--retries %d: want 0 to 100", o.Retries)
	case o.Timeout < 0:
		return fmt.Errorf("--timeout %s: want 0 or more", o.Timeout)
	case o.Given("budget") && !(o.Budget > 0):
		return fmt.Errorf("--budget %g: want an amount above 0", o.Budget)
	case slices.ContainsFunc(o.Verify, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return fmt.Errorf("--verify: found nothing, want a shell command such as 'go test ./...'")
	}
	return nil
}

// CheckAgent returns an error if an agent of the flags --agent and --fallback is neither built in
// nor one of the custom agents in gaffer.yaml. The built-in agent "command" is not allowed, because
// it takes no prompt.
func (o Overrides) CheckAgent(custom []string) error {
	known := append(PromptAgents(), custom...)
	for _, text := range o.Fallback {
		if name, _ := plan.SplitAgent(text); !slices.Contains(known, name) {
			return wrongWord("--fallback", name, known)
		}
	}
	for _, text := range o.agents() {
		name := text
		if o.BestOf > 0 {
			name, _ = plan.SplitAgent(text)
		}
		switch {
		case name == plan.CommandAgent:
			return fmt.Errorf("--agent command: a command has its program in the plan, want %s", orList(known))
		case !slices.Contains(known, name):
			return wrongWord("--agent", name, known)
		}
	}
	return nil
}

// agents returns the names in the flag --agent. With --best-of, the flag may contain several names.
func (o Overrides) agents() []string {
	switch {
	case o.Agent == "":
		return nil
	case o.BestOf == 0:
		return []string{o.Agent}
	}
	return strings.Split(o.Agent, ",")
}

// Picks returns the allowed values of the flag --pick.
func Picks() []string {
	return []string{string(plan.PickUser), string(plan.PickChecks), string(plan.PickJudge)}
}

func wrongWord(flag, word string, words []string) error {
	err := fmt.Errorf("%s %q: want %s", flag, word, orList(words))
	if near := suggest.Nearest(word, words); near != "" {
		return &UsageError{err, fmt.Sprintf("did you mean %q?", near)}
	}
	return err
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Apply returns the plan with the flags applied. It returns a [*UsageError] if --land, --into,
// --best-of or --budget does not fit the plan.
func (o Overrides) Apply(p plan.Plan) (plan.Plan, error) {
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		o.applyTask(&p.Tasks[i])
	}
	if err := o.checkLand(p); err != nil {
		return p, err
	}
	if o.BestOf > 0 {
		if p.Workflow != nil {
			return p, &UsageError{Err: fmt.Errorf("--best-of: a workflow merges the work of all its prompts, want a plan or a prompt")}
		}
		for i := range p.Tasks {
			o.addCandidates(&p.Tasks[i])
		}
		p = p.ExpandCandidates()
	}
	if o.Given("parallel") {
		p.Parallel = o.Parallel
	}
	if o.OnFailure != "" {
		p.OnFailure = plan.OnFailure(o.OnFailure)
	}
	if o.Given("budget") {
		p.Budget.USD = o.Budget
		return p, o.checkBudget(p)
	}
	return p, nil
}

// UnusedWarnings returns a warning for each of the flags --agent and --model that has no effect.
// The flag --agent has no effect if each task names its agent or runs a command. The flag --model
// has no effect if each task names its model or runs a command.
func (o Overrides) UnusedWarnings(tasks []plan.Task) (warnings plan.Problems) {
	if o.BestOf > 0 {
		return nil
	}
	agent, model := o.Agent == "" || len(tasks) == 0, o.Model == "" || len(tasks) == 0
	for _, t := range tasks {
		filled := t
		filled.SetDefaultAgent(o.Agent, o.Model)
		agent, model = agent || filled.Agent != t.Agent, model || filled.Model != t.Model
	}
	if !agent {
		warnings = append(warnings, plan.Problem{Text: fmt.Sprintf("--agent %s changes nothing: each task names its agent, or is a command", o.Agent)})
	}
	if !model {
		warnings = append(warnings, plan.Problem{Text: fmt.Sprintf("--model %s changes nothing: each task names its model, or is a command", o.Model)})
	}
	return warnings
}

// addCandidates makes several agents, the candidates, work on the same task. Their number is
// o.BestOf. If o.Agent names fewer agents, they are used several times. addCandidates changes
// nothing if the task runs a command, or if the plan already defines the task's candidates.
func (o Overrides) addCandidates(t *plan.Task) {
	if len(t.Argv) > 0 || t.Candidate != "" || t.Pick != nil {
		return
	}
	list := o.agents()
	if len(list) == 0 {
		list = []string{engine.AgentOf(*t)}
	}
	for i := range o.BestOf {
		one := strings.TrimSpace(list[i%len(list)])
		if model := cmp.Or(t.Model, o.Model); model != "" && !strings.Contains(one, ":") {
			one += ":" + model
		}
		t.Candidates = append(t.Candidates, one)
	}
	t.PickBy, t.JudgeAgent = plan.PickBy(o.Pick), t.Candidates[0]
}

func (o Overrides) applyTask(t *plan.Task) {
	if o.BestOf == 0 {
		t.SetDefaultAgent(o.Agent, o.Model)
	}
	if o.Given("fallback") && len(t.Argv) == 0 && t.Pick == nil {
		t.Fallback = o.Fallback
	}
	if o.Given("retries") {
		t.Retries = o.Retries
	}
	if o.Given("timeout") {
		t.Timeout = o.Timeout
	}
	// Do not set Questions for two kinds of tasks. A task that runs a command asks no questions.
	// The task that picks the best of several agents' results must always be able to ask the user.
	if o.Questions != "" && len(t.Argv) == 0 && (t.Pick == nil || t.Pick.IsJudge) {
		t.Questions = plan.QuestionPolicy(o.Questions)
	}
	if o.Given("worktree") && t.Branch == "" && t.Candidate == "" && t.Pick == nil {
		t.Worktree = o.Worktree
	}
	if t.Candidate == "" && (t.HasWorktree() || o.BestOf > 0) {
		t.Land, t.Into = cmp.Or(plan.Land(o.Land), t.Land), cmp.Or(o.Into, t.Into)
	}
	if t.Pick == nil || !t.Pick.IsJudge { // a judge only compares the results of other agents, so it has no change to verify
		t.Verify = slices.Concat(t.Verify, o.Verify)
	}
}

// checkLand returns an error if --land or --into would have no effect. This is so if the plan is a
// workflow, which itself decides what happens to its branch, or if no task has a worktree.
func (o Overrides) checkLand(p plan.Plan) error {
	flag, value := "--land", o.Land
	if value == "" {
		flag, value = "--into", o.Into
	}
	switch {
	case value == "":
		return nil
	case p.Workflow != nil:
		return &UsageError{Err: fmt.Errorf("%s %s: a workflow says itself what becomes of its branch", flag, value)}
	case o.BestOf == 0 && !slices.ContainsFunc(p.Tasks, plan.Task.HasWorktree):
		return &UsageError{fmt.Errorf("%s %s: no task has a worktree", flag, value), "add --worktree"}
	}
	return nil
}

// checkBudget returns an error if a task of the plan has a larger budget than the whole run,
// because such a task could never start.
func (o Overrides) checkBudget(p plan.Plan) error {
	for _, t := range p.Tasks {
		if t.Budget.USD > o.Budget {
			return &UsageError{Err: fmt.Errorf("--budget %g: task %s alone may cost %g USD: it could never start", o.Budget, t.ID, t.Budget.USD)}
		}
	}
	return nil
}

// PromptAgents returns the names of the built-in agents that take a prompt: all agents except the
// one that runs a command line.
func PromptAgents() (names []string) {
	for _, name := range plan.Agents() {
		if name != plan.CommandAgent {
			names = append(names, name)
		}
	}
	return names
}

// Failures returns the allowed values of the flag --on-failure.
func Failures() []string {
	return []string{string(plan.Continue), string(plan.Stop), string(plan.StopNow)}
}

// Lands returns the allowed values of the flag --land.
func Lands() []string {
	return []string{string(plan.LandReview), string(plan.LandMerge), string(plan.LandPR), string(plan.LandKeep)}
}

// Questions returns the allowed values of the flag --questions.
func Questions() []string {
	return []string{string(plan.Ask), string(plan.Rules), string(plan.Allow), string(plan.Deny)}
}

// CheckQuestions returns an error if word is not a value of --questions. An empty word is valid.
func CheckQuestions(word string) error {
	if word == "" || slices.Contains(Questions(), word) {
		return nil
	}
	return wrongWord("--questions", word, Questions())
}
