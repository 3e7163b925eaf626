package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape holds the fields of a task that ExpandCandidates sets, for comparisons.
type shape struct {
	Agent, Model, Candidate string
	After                   []string
	Worktree                bool
	Pick                    *Pick
}

func shapes(p Plan) map[string]shape {
	all := map[string]shape{}
	for _, t := range p.Tasks {
		all[t.ID] = shape{t.Agent, t.Model, t.Candidate, t.After, t.HasWorktree(), t.Pick}
	}
	return all
}

func TestATaskWithCandidatesBecomesOneTaskForEachAndOneThatPicks(t *testing.T) {
	t.Parallel()
	p, err := Parse(nil, []byte(`
defaults: {agent: gemini, worktree: true}
tasks:
  - {id: base, prompt: x}
  - {id: api, prompt: Do it., after: base, verify: go test, branch: feature/api, candidates: [claude, codex, "claude:opus/4", claude], pick: checks}
  - {id: page, prompt: Show it., after: api, candidates: [claude, codex], pick: judge, rubric: small}
  - {id: last, prompt: x, after: [page]}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	four := []string{"api.claude", "api.codex", "api.claude-opus-4", "api.claude-2"}
	two := []string{"page.claude", "page.codex"}
	want := map[string]shape{
		"base":              {Agent: "gemini", Worktree: true},
		"api.claude":        {Agent: "claude", Candidate: "api", After: []string{"base"}, Worktree: true},
		"api.codex":         {Agent: "codex", Candidate: "api", After: []string{"base"}, Worktree: true},
		"api.claude-opus-4": {Agent: "claude", Model: "opus/4", Candidate: "api", After: []string{"base"}, Worktree: true},
		"api.claude-2":      {Agent: "claude", Candidate: "api", After: []string{"base"}, Worktree: true},
		"api":               {Agent: PickAgent, After: four, Worktree: true, Pick: &Pick{By: PickChecks, Candidates: four}},
		"page.claude":       {Agent: "claude", Candidate: "page", After: []string{"api"}, Worktree: true},
		"page.codex":        {Agent: "codex", Candidate: "page", After: []string{"api"}, Worktree: true},
		"page.judge":        {Agent: "gemini", Candidate: "page", After: two, Worktree: true, Pick: &Pick{By: PickJudge, Candidates: two, IsJudge: true, Goal: "Show it.", Rubric: "small"}},
		"page":              {Agent: PickAgent, After: append(two, "page.judge"), Worktree: true, Pick: &Pick{By: PickJudge, Candidates: two, JudgeTask: "page.judge"}},
		"last":              {Agent: "gemini", After: []string{"page"}, Worktree: true},
	}
	if diff := cmp.Diff(want, shapes(p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := p.Check(); err != nil {
		t.Errorf("a server would refuse it: %v", err)
	}
	index := map[string]int{}
	for i, task := range p.Tasks {
		index[task.ID] = i
	}
	branches := map[string]string{"api": "feature/api"}
	for _, task := range p.Tasks {
		if want := map[bool]Land{true: LandKeep}[task.Candidate != ""]; task.Land != want {
			t.Errorf("%s lands by %q, want %q", task.ID, task.Land, want)
		}
		if task.Branch != branches[task.ID] {
			t.Errorf("%s has the branch %q", task.ID, task.Branch)
		}
	}
	// All candidates and the pick task start from the same commit. A task after the pick task
	// starts from the result of the pick task, and not from the result of a candidate.
	origins := p.Origins(nil)
	for id, from := range map[string]string{"api.claude": "base", "api.codex": "base", "api": "base", "page.codex": "api", "page.judge": "api", "page": "api", "last": "page"} {
		if diff := cmp.Diff(Origin{Tasks: []int{index[from]}}, origins[index[id]]); diff != "" {
			t.Errorf("%s starts from %v", id, origins[index[id]])
		}
	}
}

func TestAServerRefusesATaskThatPicksFromNothing(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{
		planOf(Task{ID: "a", Prompt: "x", Pick: &Pick{}}),
		planOf(Task{ID: "a", Prompt: "x", Pick: &Pick{Candidates: []string{"b"}}}),
		planOf(Task{ID: "a", Prompt: "x", Candidate: "b"}),
	} {
		if p.Check() == nil {
			t.Errorf("%+v is accepted", p.Tasks[0])
		}
		p.Origins(nil) // must not panic, although the plan is not valid
	}
}
