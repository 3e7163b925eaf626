package mcp

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestWhoCallsFollowsFromTheEnvironmentAndTheFlag(t *testing.T) {
	for _, c := range []struct {
		attempt, role, flag string
		want                Role // none if it is refused
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
		vars := map[string]string{attemptVar: c.attempt, roleVar: c.role, runVar: "r", taskVar: "t"}
		got, err := Identify(func(name string) string { return vars[name] }, c.flag)
		if (err != nil) != (c.want == "") || err == nil && got.Role != c.want {
			t.Errorf("attempt %q, role %q, --role %q: %+v, %v; want %q", c.attempt, c.role, c.flag, got, err, c.want)
		}
	}
}

// The child is a shell with nothing in its environment, and its own child asks.
func TestWhatAnAncestorWasGivenIsInherited(t *testing.T) {
	if os.Getenv("MCP_TEST_ASK") != "" {
		pid, err := strconv.Atoi(os.Getenv("MCP_TEST_ASK"))
		if err != nil {
			t.Fatal(err)
		}
		if getenv := Inherited(pid); getenv == nil || getenv(roleVar) != "developer" {
			t.Error("nothing is inherited")
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inner := "env -i MCP_TEST_ASK=$$ " + self + " -test.run TestWhatAnAncestorWasGivenIsInherited; true"
	cmd := exec.Command("sh", "-c", "env -i PATH=\"$PATH\" sh -c '"+inner+"'; true")
	cmd.Env = append(os.Environ(), attemptVar+"=a", roleVar+"=developer")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	if Inherited(os.Getpid()) != nil {
		t.Error("this test belongs to no attempt")
	}
}

func TestAskersHaveNamesThatCanBeTyped(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": "claude-code", "Codex MCP Client": "codex-mcp-client", "": "agent", "Ärger\x1b[2J": "rger--2j", "--": "agent",
		strings.Repeat("x", 100): strings.Repeat("x", 40),
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestEveryRoleMayLookAndOnlySomeMaySubmit(t *testing.T) {
	for _, r := range Roles() {
		if (Caller{Role: r}).refusal(tool{need: look}) != nil {
			t.Errorf("%s may not look", r)
		}
	}
	if got := strings.Join(having(submit), " "); got != "person pm" {
		t.Errorf("who may submit: %s", got)
	}
}
