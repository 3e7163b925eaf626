package mcp

import (
	"strings"
	"testing"

	"gaffer/internal/byhand/caller"
)

func TestTheCallerFollowsFromTheEnvironmentAndTheFlag(t *testing.T) {
	for _, c := range []struct {
		attempt, role, flag string
		want                Role // expected role; empty if the caller is refused
	}{
		{"", "", "", Person},
		{"", "", "reader", Reader},
		{"", "", "pm", PM},
		{"", "developer", "", Developer},
		{"", "developer", "reader", Reader},
		{"", "developer", "developer", Developer},
		{"", "developer", "person", ""},
		{"a", "", "", Worker},
		{"a", "", "worker", Worker},
		{"a", "", "person", ""},
		{"a", "pm", "", PM},
		{"a", "pm", "worker", ""},
		{"a", "nobody", "", ""},
		{"", "", "nobody", ""},
	} {
		vars := map[string]string{caller.AttemptVar: c.attempt, caller.RoleVar: c.role, caller.RunVar: "r", caller.TaskVar: "t"}
		got, err := Identify(func(name string) string { return vars[name] }, c.flag)
		if (err != nil) != (c.want == "") || err == nil && got.Role != c.want {
			t.Errorf("attempt %q, role %q, --role %q: %+v, %v; want %q", c.attempt, c.role, c.flag, got, err, c.want)
		}
	}
}

func TestQuestionsHaveNamesThatAreEasyToType(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": "claude-code", "Codex MCP Client": "codex-mcp-client", "": "agent", "Ärger\x1b[2J": "rger--2j", "--": "agent",
		strings.Repeat("x", 100): strings.Repeat("x", 40),
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestEveryRoleMayReadAndSomeMaySubmit(t *testing.T) {
	for _, r := range Roles() {
		if (Caller{Role: r}).refusal(tool{need: rightRead}) != nil {
			t.Errorf("%s may not look", r)
		}
	}
	if got := strings.Join(rolesWith(rightSubmit), " "); got != "person pm" {
		t.Errorf("who may submit: %s", got)
	}
}
