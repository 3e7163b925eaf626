package newrun

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/plan"
)

func given(flags ...string) func(string) bool {
	return func(name string) bool {
		for _, flag := range flags {
			if flag == name {
				return true
			}
		}
		return false
	}
}

func TestFlagsOverrideThePlanAndFillMissingValues(t *testing.T) {
	p := plan.Plan{
		Parallel: 4, OnFailure: plan.Continue, Budget: plan.Budget{USD: 9, Tokens: 100},
		Tasks: []plan.Task{
			{ID: "bare"},
			{ID: "named", Agent: "codex", Model: "o9", Limits: plan.Limits{Retries: 3, Timeout: time.Hour}, Verify: []string{"make test"}},
			{ID: "program", Agent: plan.CommandAgent, Argv: []string{"ls"}},
			{ID: "branch", Agent: "codex", Isolation: plan.Isolation{Branch: "x", Worktree: true}},
		},
	}
	o := Overrides{
		Given: given("parallel", "retries", "timeout", "worktree", "budget"),
		Agent: "claude", Model: "opus", OnFailure: "stop", Parallel: 2, Retries: 1, Timeout: time.Minute, Budget: 5, Worktree: true,
		Verify: []string{"go vet", "go test"},
	}
	both := []string{"go vet", "go test"}
	want := plan.Plan{
		Parallel: 2, OnFailure: plan.Stop, Budget: plan.Budget{USD: 5, Tokens: 100},
		Tasks: []plan.Task{
			{ID: "bare", Agent: "claude", Model: "opus", Limits: plan.Limits{Retries: 1, Timeout: time.Minute}, Isolation: plan.Isolation{Worktree: true}, Verify: both},
			{ID: "named", Agent: "codex", Model: "o9", Limits: plan.Limits{Retries: 1, Timeout: time.Minute}, Isolation: plan.Isolation{Worktree: true}, Verify: append([]string{"make test"}, both...)},
			{ID: "program", Agent: plan.CommandAgent, Argv: []string{"ls"}, Limits: plan.Limits{Retries: 1, Timeout: time.Minute}, Isolation: plan.Isolation{Worktree: true}, Verify: both},
			{ID: "branch", Agent: "codex", Model: "opus", Isolation: plan.Isolation{Branch: "x", Worktree: true}, Limits: plan.Limits{Retries: 1, Timeout: time.Minute}, Verify: both},
		},
	}
	got, err := o.Apply(p)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if p.Tasks[0].Agent != "" || len(p.Tasks[1].Verify) != 1 {
		t.Error("the plan itself was changed")
	}
}

func TestWithoutFlagsThePlanStays(t *testing.T) {
	p := plan.Plan{Parallel: 4, OnFailure: plan.StopNow, Tasks: []plan.Task{{ID: "a", Limits: plan.Limits{Retries: 3}, Isolation: plan.Isolation{Worktree: true}}}}
	got, err := Overrides{Given: given()}.Apply(p)
	if diff := cmp.Diff(p, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestSeveralPlansAreOne(t *testing.T) {
	whole, err := Combine([]plan.Plan{
		{Name: "a", Source: plan.SourceRunPrompt, SourceFile: "a.md", Tasks: []plan.Task{{ID: "a"}}, Budget: plan.Budget{USD: 1}},
		{Name: "b", Source: plan.SourceRunPrompt, Parallel: 3, OnFailure: plan.Stop, Tasks: []plan.Task{{ID: "b"}}, Budget: plan.Budget{USD: 2}},
		{Name: "c", Source: plan.SourceExecutePhase, Parallel: 2, OnFailure: plan.Continue, Tasks: []plan.Task{{ID: "c"}}},
	})
	want := plan.Plan{
		Name: "a, b, c", Format: plan.List, Source: plan.SourceOrchestrate, Parallel: 2, OnFailure: plan.Stop,
		Budget: plan.Budget{USD: 3}, Tasks: []plan.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}},
	}
	if diff := cmp.Diff(want, whole); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestPlansThatCannotBeCombinedAreRefused(t *testing.T) {
	one := plan.Plan{Name: "one", Tasks: []plan.Task{{ID: "a"}}}
	for want, other := range map[string]plan.Plan{
		`the id "a" is also in one`: {Name: "two", Tasks: []plan.Task{{ID: "a"}}},
		"a workflow is run alone":   {Name: "flow", Workflow: &plan.Workflow{}},
	} {
		if _, err := Combine([]plan.Plan{one, other}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestBestOfRepeatsTheListOfAgents(t *testing.T) {
	t.Parallel()
	o := Overrides{Given: given("best-of"), Agent: "claude, codex:o9", Model: "opus", BestOf: 3, Pick: "checks", Verify: []string{"make test"}}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	if err := o.CheckAgent(nil); err != nil {
		t.Fatal(err)
	}
	p, err := o.Apply(plan.Plan{Tasks: []plan.Task{{ID: "a", Prompt: "x"}, {ID: "ls", Agent: plan.CommandAgent, Argv: []string{"ls"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, t := range p.Tasks {
		got = append(got, t.ID+" "+t.Agent+" "+t.Model+" "+strings.Join(t.Verify, ","))
	}
	want := []string{"a.claude-opus claude opus make test", "a.codex-o9 codex o9 make test", "a.claude-opus-2 claude opus make test", "a gaffer-pick  make test", "ls command  make test"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for want, o := range map[string]Overrides{
		"several agents need --best-of": {Given: given(), Agent: "claude,codex"},
		"more than --best-of 2":         {Given: given("best-of"), Agent: "claude,codex,claude", BestOf: 2},
		"want 2 to 16":                  {Given: given("best-of"), BestOf: 1},
		"--pick needs --best-of":        {Given: given("pick"), Pick: "checks"},
		`--pick "cheks"`:                {Given: given("best-of", "pick"), Pick: "cheks", BestOf: 2},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestThePolicyForQuestionsIsForEachAgentButNotForThePickOfTheUser(t *testing.T) {
	p := plan.Plan{Tasks: []plan.Task{
		{ID: "a", QuestionRules: plan.QuestionRules{Questions: plan.Ask}},
		{ID: "b", QuestionRules: plan.QuestionRules{Questions: plan.Deny}},
		{ID: "c", Argv: []string{"make"}},
		{ID: "d", Pick: &plan.Pick{}, QuestionRules: plan.QuestionRules{Questions: plan.Ask}},
		{ID: "e", Pick: &plan.Pick{IsJudge: true}, QuestionRules: plan.QuestionRules{Questions: plan.Ask}},
	}}
	got, err := Overrides{Given: func(string) bool { return false }, Questions: "rules"}.Apply(p)
	if err != nil {
		t.Fatal(err)
	}
	var policies []string
	for _, task := range got.Tasks {
		policies = append(policies, string(task.Questions))
	}
	if all := strings.Join(policies, ","); all != "rules,rules,,ask,rules" || p.Tasks[0].Questions != plan.Ask {
		t.Errorf("the policies are %s", all)
	}
	for word, wrong := range map[string]bool{"": false, "ask": false, "rules": false, "allow": false, "deny": false, "rule": true} {
		if err := (Overrides{Given: func(string) bool { return false }, Questions: word}).Check(); (err != nil) != wrong {
			t.Errorf("%q: %v", word, err)
		}
	}
}
