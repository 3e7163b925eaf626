package plan_test

import (
	"strings"
	"testing"
	"time"

	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

func TestAPlanThatWasSentIsCheckedAsOneThatWasRead(t *testing.T) {
	good := func() plan.Plan {
		return plan.Plan{Tasks: []plan.Task{
			{ID: "a", Prompt: "x"},
			{ID: "b", Prompt: "x", After: []string{"a"}, Labels: []string{"gpu"}, Env: map[string]secret.Value{"A_1": secret.Text("x")}},
			{ID: "c", Agent: plan.CommandAgent, Argv: []string{"true"}, Wave: 1},
		}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(p *plan.Plan){
		"found no tasks":             func(p *plan.Plan) { p.Tasks = nil },
		"waits for itself":           func(p *plan.Plan) { p.Tasks[0].After = []string{"a"} },
		"wait for each other: a → b": func(p *plan.Plan) { p.Tasks[0].After = []string{"b"} },
		`no task has the id "x"`:     func(p *plan.Plan) { p.Tasks[0].After = []string{"x"} },
		"twice":                      func(p *plan.Plan) { p.Tasks[1].After = []string{"a", "a"} },
		"two tasks":                  func(p *plan.Plan) { p.Tasks[1].ID = "a" },
		"has a slash":                func(p *plan.Plan) { p.Tasks[0].ID = "../x" },
		"is empty":                   func(p *plan.Plan) { p.Tasks[0].ID = "" },
		"needs a prompt":             func(p *plan.Plan) { p.Tasks[0].Prompt = "" },
		"needs command":              func(p *plan.Plan) { p.Tasks[2].Argv = nil },
		"wave":                       func(p *plan.Plan) { p.Tasks[0].Wave = -1 },
		"retries":                    func(p *plan.Plan) { p.Tasks[0].Retries = 1000 },
		"priority":                   func(p *plan.Plan) { p.Tasks[0].Priority = 1 << 40 },
		"a time of":                  func(p *plan.Plan) { p.Tasks[0].Timeout = -time.Second },
		"questions":                  func(p *plan.Plan) { p.Tasks[0].Questions = "perhaps" },
		"on_failure":                 func(p *plan.Plan) { p.OnFailure = "perhaps" },
		"parallel":                   func(p *plan.Plan) { p.Parallel = -1 },
		"git branch":                 func(p *plan.Plan) { p.Tasks[0].Branch = "--force" },
		"workflow":                   func(p *plan.Plan) { p.Workflow = &plan.Workflow{Branch: "a..b"} },
		"tree":                       func(p *plan.Plan) { p.Tasks[0].SharedWorktree = "../x" },
		"land":                       func(p *plan.Plan) { p.Tasks[0].Land = "perhaps" },
		`"a b" is not`:               func(p *plan.Plan) { p.Tasks[0].Into = "a b" },
		"labels":                     func(p *plan.Plan) { p.Tasks[0].Labels = []string{"@place"} },
		"variable's name":            func(p *plan.Plan) { p.Tasks[0].Env = map[string]secret.Value{"A=B": secret.Text("x")} },
		"no file's name":             func(p *plan.Plan) { p.Tasks[0].Files = []string{"a\x00"} },
		"budget":                     func(p *plan.Plan) { p.Tasks[0].Budget.USD = -1 },
		"a line of text":             func(p *plan.Plan) { p.Name = "a\nb" },
		"prompt has":                 func(p *plan.Plan) { p.Tasks[0].Prompt = strings.Repeat("x", 2<<20) },
	} {
		p := good()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestTheProblemsOfASentPlanAreReportedInAFewLines(t *testing.T) {
	p := plan.Plan{}
	for range 20_000 {
		p.Tasks = append(p.Tasks, plan.Task{ID: "/", After: []string{"x", "y", "z"}})
	}
	if err := p.Check(); err == nil || strings.Count(err.Error(), "\n") > 30 {
		t.Errorf("%d lines", strings.Count(err.Error(), "\n"))
	}
}
