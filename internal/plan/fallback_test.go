package plan

import (
	"slices"
	"strings"
	"testing"

	"gaffer/statefile/host"
)

func parsePlan(t *testing.T, text string, agents ...string) (Plan, error) {
	t.Helper()
	return Parse(host.OS(), []byte(text), Options{Dir: t.TempDir(), Agents: agents})
}

func TestFallbacksAreReadFromTheTaskOrFromTheDefaults(t *testing.T) {
	p, err := parsePlan(t, "defaults:\n  fallback: codex\ntasks:\n- {id: a, prompt: x}\n- {id: b, prompt: x, fallback: [mine, 'claude:haiku']}\n- {id: c, shell: make}\n", "mine")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"codex"}, {"mine", "claude:haiku"}} {
		if got := p.Tasks[i].Fallback; !slices.Equal(got, want) {
			t.Errorf("task %s has %q, want %q", p.Tasks[i].ID, got, want)
		}
	}
	text, err := p.YAML()
	if err != nil || !strings.Contains(text, "fallback: [mine, claude:haiku]") {
		t.Errorf("written as %s, %v", text, err)
	}
}

func TestAMistakeInAFallbackIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"fallback: codxe":                                    `found "codxe", want claude, codex`,
		"fallback: ['codex:']":                               "want a model after the colon",
		"fallback: [codex, claude, codex]":                   `found "codex" twice`,
		"fallback: command":                                  "want claude, codex",
		"fallback: [a, b, c, d, e, f, g, h, i]":              "found 9, want 8 at most",
		"fallback: {codex: haiku}":                           "fallback",
		"agent: command, command: [make], fallback: [codex]": "a command has none",
	} {
		prompt := "prompt: x, "
		if strings.Contains(text, "command: [") {
			prompt = ""
		}
		if _, err := parsePlan(t, "tasks:\n- {id: a, "+prompt+text+"}\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAPlanOfAnotherProgramCannotHaveOtherFallbacks(t *testing.T) {
	for _, text := range []string{"", "command", "a/b", "a b", "codex:x\ny"} {
		p := Plan{Tasks: []Task{{ID: "a", Prompt: "x", Fallback: []string{text}}}}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "fallback") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (Plan{Tasks: []Task{{ID: "a", Prompt: "x", Fallback: []string{"codex", "mine:large"}}}}).Check(); err != nil {
		t.Error(err)
	}
}
