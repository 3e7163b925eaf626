package account

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gaffer/internal/plan/secret"
)

const thread = "5f0c0a3e-6a5b-8c1d-9e2f-000000000001"

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAConversationIsCopiedToTheConfigFolderOfTheOtherAccount(t *testing.T) {
	for kind, path := range map[string]string{
		"claude": "projects/-srv-shop/" + thread + ".jsonl",
		"codex":  "sessions/2026/11/18/rollout-2026-11-18T10-00-00-" + thread + ".jsonl",
	} {
		from, to := t.TempDir(), t.TempDir()
		write(t, filepath.Join(from, path), "first\n")
		move := func(a, b string) {
			t.Helper()
			if err := CopyConversation(thread, Account{Kind: kind, Config: a}, Account{Kind: kind, Config: b}, func(string) string { return "" }); err != nil {
				t.Fatal(err)
			}
		}
		move(from, to)
		move(from, to) // a process that died before it started the agent repeats the copy
		if got := read(t, filepath.Join(to, path)); got != "first\n" {
			t.Errorf("%s: copied %q", kind, got)
		}
		write(t, filepath.Join(to, path), "first\nsecond\n")
		move(to, from)
		if got := read(t, filepath.Join(from, path)); got != "first\nsecond\n" {
			t.Errorf("%s: the older copy stayed: %q", kind, got)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Join(from, path)), ".gaffer-*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", kind, left, err)
		}
	}
}

func TestAccountsWithoutConfigFoldersShareTheProgramsOwn(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	key := Account{Kind: "claude", Env: map[string]secret.Value{"ANTHROPIC_API_KEY": {From: secret.Env}}}
	if err := CopyConversation(thread, key, key, getenv); err != nil {
		t.Errorf("two keys: %v", err)
	}
	work := Account{Kind: "claude", Config: t.TempDir()}
	path := "projects/-srv-shop/" + thread + ".jsonl"
	write(t, filepath.Join(home, ".claude", path), "first\n")
	if err := CopyConversation(thread, key, work, getenv); err != nil || read(t, filepath.Join(work.Config, path)) != "first\n" {
		t.Errorf("from the program's own folder: %v", err)
	}
}

func TestAConversationThatIsNotThereCannotMove(t *testing.T) {
	a, b := Account{Kind: "claude", Config: t.TempDir()}, Account{Kind: "claude", Config: t.TempDir()}
	write(t, filepath.Join(a.Config, "projects/-srv-shop", thread+".jsonl"), "first\n")
	for _, id := range []string{"5f0c0a3e-6a5b-8c1d-9e2f-000000000002", "*", "", "../../../etc/passwd", "????????"} {
		if err := CopyConversation(id, a, b, func(string) string { return "" }); !errors.Is(err, ErrNoConversation) {
			t.Errorf("%q: %v", id, err)
		}
	}
	a.Kind, b.Kind = "opencode", "opencode"
	if err := CopyConversation(thread, a, b, func(string) string { return "" }); !errors.Is(err, ErrNoConversation) {
		t.Errorf("opencode: %v", err)
	}
}

func TestAnAccountKeepsAnotherAccountsKeyFromTheProgram(t *testing.T) {
	work := Account{Kind: "claude", Config: "/home/ada/.claude-work"}
	if got := work.Unset(); !slices.Contains(got, "ANTHROPIC_API_KEY") || slices.Contains(got, "ANTHROPIC_BASE_URL") {
		t.Errorf("unset %v", got)
	}
	if env, refs := work.Environment(); !slices.Equal(env, []string{"CLAUDE_CONFIG_DIR=/home/ada/.claude-work"}) || len(refs) > 0 {
		t.Errorf("environment %v, %v", env, refs)
	}
	key := Account{Kind: "claude", Env: map[string]secret.Value{"ANTHROPIC_API_KEY": {From: secret.Env}, "NOTE": {Text: "x"}}}
	if got := key.Unset(); slices.Contains(got, "ANTHROPIC_API_KEY") || !slices.Contains(got, "CLAUDE_CODE_OAUTH_TOKEN") {
		t.Errorf("unset %v", got)
	}
	if env, refs := key.Environment(); !slices.Equal(env, []string{"NOTE=x"}) || len(refs) != 1 {
		t.Errorf("environment %v, %v", env, refs)
	}
}
