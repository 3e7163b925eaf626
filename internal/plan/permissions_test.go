package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheRulesOfATaskAddToThoseOfTheDefaults(t *testing.T) {
	p, err := Parse(nil, []byte(`
defaults:
  questions: rules
  permissions:
    allow: "Bash(go test:*)"
    deny: [WebFetch]
tasks:
  - id: a
    prompt: x
    permissions:
      allow: ["Edit(src/**)", "Bash(go test:*)"]
      ask: "Bash(git push:*)"
  - id: b
    prompt: x
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Permissions{
		{Allow: []string{"Bash(go test:*)", "Edit(src/**)"}, Deny: []string{"WebFetch"}, Ask: []string{"Bash(git push:*)"}},
		{Allow: []string{"Bash(go test:*)"}, Deny: []string{"WebFetch"}},
	}
	for i, w := range want {
		if diff := cmp.Diff(w, p.Tasks[i].Permissions); diff != "" || p.Tasks[i].Questions != Rules {
			t.Errorf("task %s, questions %s (-want +got):\n%s", p.Tasks[i].ID, p.Tasks[i].Questions, diff)
		}
	}
	again, text := reread(t, p)
	if diff := cmp.Diff(bare(p), bare(again)); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, text)
	}
}

func TestATextThatIsNoRuleIsReportedWhereItIs(t *testing.T) {
	_, err := Parse(nil, []byte("tasks:\n  - id: a\n    prompt: x\n    permissions:\n      allow:\n        - Bash(ls)\n        - Write(src/**)\n      nothing: x\n"), Options{})
	if err == nil || !strings.Contains(err.Error(), ":7:11: ") && !strings.Contains(err.Error(), "7:11") || !strings.Contains(err.Error(), "Edit(src/**) covers") || !strings.Contains(err.Error(), `has no key "nothing"`) {
		t.Errorf("%v", err)
	}
}

func TestAPlanWithWrongRulesIsRefused(t *testing.T) {
	err := planOf(Task{ID: "a", Prompt: "x", Permissions: Permissions{Deny: []string{"Bash("}}}).Check()
	if err == nil || !strings.Contains(err.Error(), "permissions: deny: rule") {
		t.Errorf("%v", err)
	}
}

func TestAnOlderGafferRefusesATaskWithRulesInsteadOfIgnoringThem(t *testing.T) {
	for _, c := range []struct {
		task Task
		want int
	}{
		{Task{ID: "a"}, 1},
		{Task{ID: "a", QuestionRules: QuestionRules{Questions: Allow}}, 1},
		{Task{ID: "a", QuestionRules: QuestionRules{Questions: Rules}}, 2},
		{Task{ID: "a", Permissions: Permissions{Deny: []string{"Bash"}}}, 2},
	} {
		one, err := EncodeTask(c.task)
		whole, err2 := Encode(planOf(c.task))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, text := range []json.RawMessage{one, whole} {
			var found struct{ Version int }
			if err := json.Unmarshal(text, &found); err != nil || found.Version != c.want {
				t.Errorf("%s: version %d, want %d, %v", text, found.Version, c.want, err)
			}
		}
	}
}

func TestRulesOfTheUserAreAddedToTasksWithAnAgent(t *testing.T) {
	rules := Permissions{Allow: []string{"Bash(go vet:*)"}}
	p := Plan{Tasks: []Task{{ID: "a", Permissions: Permissions{Allow: []string{"Edit"}}}, {ID: "b", Argv: []string{"ls"}}}}.AddPermissions(rules)
	if diff := cmp.Diff([]string{"Edit", "Bash(go vet:*)"}, p.Tasks[0].Permissions.Allow); diff != "" || !p.Tasks[1].Permissions.Empty() {
		t.Errorf("%+v (-want +got):\n%s", p.Tasks[1].Permissions, diff)
	}
}
