package preflight_test

import (
	"strings"
	"testing"

	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

func TestAnAgentWithAnAccountNeedsNoOtherLogin(t *testing.T) {
	m := newMachine(t)
	m.install("claude", "exit 0")
	p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Prompt: "x"}}}
	o := m.options(nil)
	if got := texts(preflight.Check(t.Context(), p, o)); !strings.Contains(got, "not logged in") {
		t.Fatalf("without an account: %s", got)
	}
	missing := account.Account{Name: "home", Agent: "claude", Kind: "claude", Config: "/nowhere/claude"}
	o.Accounts = []account.Account{missing, {Name: "work", Agent: "claude", Kind: "claude", Config: t.TempDir()}}
	if got := texts(preflight.Check(t.Context(), p, o)); got != "" {
		t.Errorf("one account can be used: %s", got)
	}
	o.Accounts = []account.Account{missing, {Name: "key", Agent: "claude", Kind: "claude", Env: map[string]secret.Value{"ANTHROPIC_API_KEY": {From: secret.Env, Name: "NO_SUCH_KEY"}}}}
	got := texts(preflight.Check(t.Context(), p, o))
	for _, want := range []string{"account home: its config folder /nowhere/claude is missing", "account key:", "NO_SUCH_KEY"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

func TestTheProgramOfAFallbackMustBeInstalled(t *testing.T) {
	m := newMachine(t)
	m.install("claude", "exit 0")
	p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Prompt: "x", Fallback: []string{"codex:mini"}}}}
	got := texts(preflight.Check(t.Context(), p, m.options(nil, "ANTHROPIC_API_KEY=x")))
	if !strings.Contains(got, "agent codex (task a): the program codex is not installed") {
		t.Errorf("found %s", got)
	}
}
