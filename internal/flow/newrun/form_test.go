package newrun

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/plan"
)

// forms are complete forms with all kinds of fields.
var forms = map[string]Form{
	"one":        {Prompts: []string{"Add GET /health and cover it with a test"}},
	"several":    {Prompts: []string{"Fix the login.\nIt fails.", "Write it's docs", "Fix the login.\nIt fails."}, Agent: "codex", Model: "o9"},
	"checks":     {Prompts: []string{"Do this now", "Do that then"}, Verify: []string{"go vet ./...", "go test ./... -run '^X$'"}, Retries: 2, Timeout: "1h30m", OnFailure: "stop"},
	"worktree":   {Prompts: []string{"Do this now"}, Agent: "claude", Worktree: true, Land: "merge", Into: "develop", Budget: 2.5, Parallel: 3},
	"best of":    {Prompts: []string{"Do this now", "Do that then"}, BestOf: 3, Candidates: []string{"claude", "codex:o9", "claude:opus"}, Pick: "checks", Verify: []string{"make"}, Land: "pr"},
	"judged":     {Prompts: []string{"Do this now"}, BestOf: 2, Agent: "fake", Pick: "judge"},
	"unattended": {Prompts: []string{"Do this now", "Do that then"}, Agent: "claude", Questions: "rules"},
	"denied":     {Prompts: []string{"Do this now"}, BestOf: 2, Agent: "fake", Pick: "judge", Questions: "deny"},
	"one word":   {Prompts: []string{"README.md"}},
	"odd words":  {Prompts: []string{"- a: \"b\" #c $HOME `d` \\ !e\ttab", "  spaces  "}},
}

// sameAs fails unless two plans are equal, apart from the fields that say where they were read
// from.
func sameAs(t *testing.T, name string, want, got plan.Plan) {
	t.Helper()
	if diff := cmp.Diff(withoutOrigin(want), withoutOrigin(got)); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", name, diff)
	}
}

func TestTheTextOfAFormIsThePlanOfTheForm(t *testing.T) {
	for name, f := range forms {
		want, err := f.Plan(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := f.Text(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := plan.Parse(nil, []byte(text), plan.Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		sameAs(t, name, want, got)
	}
}

func TestTheFormOfAPlanThatAFormHasMadeMakesTheSamePlan(t *testing.T) {
	for name, f := range forms {
		want, err := f.Plan(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := FormOf(want, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := again.Plan(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sameAs(t, name, want, got)
	}
}

func TestAPlanThatDoesNotFitTheFormSaysWhy(t *testing.T) {
	for why, text := range map[string]string{
		"task b waits for others":                "tasks: [{id: prompt, prompt: x}, {id: b, prompt: y, after: prompt}]",
		"is a command":                           "tasks: [{id: prompt, shell: ls}]",
		"has variables":                          "tasks: [{id: prompt, prompt: x, env: {A: b}}]",
		"have different agents":                  "tasks: [{id: prompt, prompt: x, agent: codex}, {id: prompt-2, prompt: y}]",
		"have different checks":                  "tasks: [{id: prompt, prompt: x, verify: ls}, {id: prompt-2, prompt: y}]",
		"task api has an id of its own":          "tasks: [{id: api, prompt: x}]",
		"says more than the form has fields for": "name: mine\ntasks: [{id: prompt, prompt: x}]",
	} {
		p, err := plan.Parse(nil, []byte(text), plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f, err := FormOf(p, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v %+v, want %s", text, err, f, why)
		}
	}
}

func TestAFormThatIsNotCompleteSaysWhatIsMissing(t *testing.T) {
	one := []string{"Do it now"}
	for want, f := range map[string]Form{
		"there is no prompt yet":           {},
		"a prompt is empty":                {Prompts: []string{"Do it", " \n"}},
		`--agent "cldue"`:                  {Prompts: one, Agent: "cldue"},
		"a command has its program in":     {Prompts: one, Agent: "command"},
		"--timeout \"soon\"":               {Prompts: one, Timeout: "soon"},
		"want an amount above 0":           {Prompts: one, Budget: -1},
		"no task has a worktree":           {Prompts: one, Land: "merge"},
		"want the name of a git branch":    {Prompts: one, Worktree: true, Into: "a b"},
		`--land "burn"`:                    {Prompts: one, Worktree: true, Land: "burn"},
		"--best-of 1: want 2 to 16":        {Prompts: one, BestOf: 1},
		"which is more than --best-of 2":   {Prompts: one, BestOf: 2, Candidates: []string{"claude", "codex", "gemini"}},
		"--verify: found nothing":          {Prompts: one, Verify: []string{" "}},
		"--parallel -1: want 0 or more":    {Prompts: one, Parallel: -1},
		"--retries 101: want 0 to 100":     {Prompts: one, Retries: 101},
		"--pick needs --best-of, how many": {Prompts: one, Pick: "judge"},
	} {
		if _, err := f.Plan(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
}

func TestTheCommandOfAFormQuotesWhatAShellWouldChange(t *testing.T) {
	for want, name := range map[string]string{
		"gaffer run 'Add GET /health and cover it with a test'": "one",
		"gaffer run README.md --format prompt":                  "one word",
		`gaffer run 'Do this now' 'Do that then' --retries 2 --timeout 1h30m --on-failure stop --verify 'go vet ./...' --verify 'go test ./... -run '\''^X$'\'''`: "checks",
		"gaffer run 'Do this now' --agent claude --parallel 3 --worktree --land merge --into develop --budget 2.5":                                                "worktree",
		"gaffer run 'Do this now' 'Do that then' --agent claude,codex:o9,claude:opus --best-of 3 --pick checks --land pr --verify make":                           "best of",
		"gaffer run '- a: \"b\" #c $HOME `d` \\ !e\ttab' '  spaces  ' --format prompt":                                                                            "odd words",
	} {
		if got := forms[name].Command(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestSeveralPromptsHaveDifferentIDs(t *testing.T) {
	p, err := Form{Prompts: []string{"a b c", "d e f", "g h i"}}.Plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, task := range p.Tasks {
		ids = append(ids, task.ID)
	}
	if diff := cmp.Diff([]string{"prompt", "prompt-2", "prompt-3"}, ids); diff != "" || p.Name != "a b c, d e f, g h i" {
		t.Errorf("%s %s", p.Name, diff)
	}
}
