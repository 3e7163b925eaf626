package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
)

// overrides holds the flags that change a plan. A flag that is not given changes
// nothing.
type overrides struct {
	given func(flag string) bool

	agent, model string
	onFailure    string
	parallel     int
	retries      int
	timeout      time.Duration
	budget       float64
	worktree     bool
	verify       []string
	bestOf       int
	pick         string
}

// maxBestOf is the maximum number of candidates of a task.
const maxBestOf = 16

// check returns an error if the value of a flag is not valid in any plan.
func (o overrides) check() error {
	switch {
	case o.onFailure != "" && !slices.Contains(failures(), o.onFailure):
		return wrongWord("--on-failure", o.onFailure, failures())
	case o.given("best-of") && (o.bestOf < 2 || o.bestOf > maxBestOf):
		return fmt.Errorf("--best-of %d: want 2 to %d", o.bestOf, maxBestOf)
	case o.pick != "" && o.bestOf == 0:
		return fmt.Errorf("--pick needs --best-of, how many agents do each task")
	case o.pick != "" && !slices.Contains(picks(), o.pick):
		return wrongWord("--pick", o.pick, picks())
	case o.bestOf == 0 && strings.Contains(o.agent, ","):
		return fmt.Errorf("--agent %s: several agents need --best-of, such as --best-of %d", o.agent, strings.Count(o.agent, ",")+1)
	case len(o.agents()) > max(o.bestOf, 1):
		return fmt.Errorf("--agent names %d agents, which is more than --best-of %d", len(o.agents()), o.bestOf)
	case o.parallel < 0:
		return fmt.Errorf("--parallel %d: want 0 or more", o.parallel)
	case o.retries < 0 || o.retries > 100:
		return fmt.Errorf("--retries %d: want 0 to 100", o.retries)
	case o.timeout < 0:
		return fmt.Errorf("--timeout %s: want 0 or more", o.timeout)
	case o.given("budget") && !(o.budget > 0):
		return fmt.Errorf("--budget %g: want an amount above 0", o.budget)
	case slices.ContainsFunc(o.verify, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return fmt.Errorf("--verify: found nothing, want a shell command such as 'go test ./...'")
	}
	return nil
}

// checkAgent returns an error if the agent of the flag --agent is neither built in nor one of the
// custom agents in gaffer.yaml.
func (o overrides) checkAgent(custom []string) error {
	known := append(promptAgents(), custom...)
	for _, text := range o.agents() {
		name := text
		if o.bestOf > 0 {
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
func (o overrides) agents() []string {
	switch {
	case o.agent == "":
		return nil
	case o.bestOf == 0:
		return []string{o.agent}
	}
	return strings.Split(o.agent, ",")
}

func picks() []string {
	return []string{string(plan.PickUser), string(plan.PickChecks), string(plan.PickJudge)}
}

func wrongWord(flag, word string, words []string) error {
	err := fmt.Errorf("%s %q: want %s", flag, word, orList(words))
	if near := suggest.Nearest(word, words); near != "" {
		return &exit.Error{Code: exit.CodeUsage, Err: err, Next: fmt.Sprintf("did you mean %q?", near)}
	}
	return err
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// apply returns the plan with the flags applied.
func (o overrides) apply(p plan.Plan) (plan.Plan, error) {
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		o.applyTask(&p.Tasks[i])
	}
	if o.bestOf > 0 {
		if p.Workflow != nil {
			return p, exit.Usage(fmt.Errorf("--best-of: a workflow merges the work of all its prompts, want a plan or a prompt"))
		}
		for i := range p.Tasks {
			o.addCandidates(&p.Tasks[i])
		}
		p = p.ExpandCandidates()
	}
	if o.given("parallel") {
		p.Parallel = o.parallel
	}
	if o.onFailure != "" {
		p.OnFailure = plan.OnFailure(o.onFailure)
	}
	if o.given("budget") {
		p.Budget.USD = o.budget
		return p, o.checkBudget(p)
	}
	return p, nil
}

// unusedFlagWarnings returns a warning for --agent or --model if the flag has no effect, because
// every task names its own agent or model.
func (o overrides) unusedFlagWarnings(tasks []plan.Task) (warnings plan.Problems) {
	if o.bestOf > 0 {
		return nil
	}
	agent, model := o.agent == "" || len(tasks) == 0, o.model == "" || len(tasks) == 0
	for _, t := range tasks {
		filled := t
		filled.SetDefaultAgent(o.agent, o.model)
		agent, model = agent || filled.Agent != t.Agent, model || filled.Model != t.Model
	}
	if !agent {
		warnings = append(warnings, plan.Problem{Text: fmt.Sprintf("--agent %s changes nothing: each task names its agent, or is a command", o.agent)})
	}
	if !model {
		warnings = append(warnings, plan.Problem{Text: fmt.Sprintf("--model %s changes nothing: each task names its model, or is a command", o.model)})
	}
	return warnings
}

// addCandidates makes several agents work on a task, unless the plan defines the task's candidates.
// If there are fewer agents than candidates, their list is repeated.
func (o overrides) addCandidates(t *plan.Task) {
	if len(t.Argv) > 0 || t.Candidate != "" || t.Pick != nil {
		return
	}
	list := o.agents()
	if len(list) == 0 {
		list = []string{engine.AgentOf(*t)}
	}
	for i := range o.bestOf {
		one := strings.TrimSpace(list[i%len(list)])
		if model := cmp.Or(t.Model, o.model); model != "" && !strings.Contains(one, ":") {
			one += ":" + model
		}
		t.Candidates = append(t.Candidates, one)
	}
	t.PickBy, t.JudgeAgent = plan.PickBy(o.pick), t.Candidates[0]
}

func (o overrides) applyTask(t *plan.Task) {
	if o.bestOf == 0 {
		t.SetDefaultAgent(o.agent, o.model)
	}
	if o.given("retries") {
		t.Retries = o.retries
	}
	if o.given("timeout") {
		t.Timeout = o.timeout
	}
	if o.given("worktree") && t.Branch == "" && t.Candidate == "" && t.Pick == nil {
		t.Worktree = o.worktree
	}
	if t.Pick == nil || !t.Pick.IsJudge { // a judge changes no files, so it has nothing to verify
		t.Verify = slices.Concat(t.Verify, o.verify)
	}
}

// checkBudget returns an error if the budget is too small for a task of the plan to start.
func (o overrides) checkBudget(p plan.Plan) error {
	for _, t := range p.Tasks {
		if t.Budget.USD > o.budget {
			return exit.Usage(fmt.Errorf("--budget %g: task %s alone may cost %g USD: it could never start", o.budget, t.ID, t.Budget.USD))
		}
	}
	return nil
}
