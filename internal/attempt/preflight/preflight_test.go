package preflight_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// machine is a home folder, a project and a folder of programs for a test.
type machine struct {
	t               *testing.T
	home, root, bin string
}

func newMachine(t *testing.T) machine {
	dir := t.TempDir()
	m := machine{t, filepath.Join(dir, "home"), filepath.Join(dir, "project"), filepath.Join(dir, "bin")}
	for _, d := range []string{m.home, m.root, m.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m machine) write(path, text string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) install(name, script string) {
	m.write(filepath.Join(m.bin, name), "#!/bin/sh\n"+script+"\n", 0o755)
}

func (m machine) options(custom map[string]agent.Custom, variables ...string) preflight.Options {
	env := append([]string{"PATH=" + m.bin, "HOME=" + m.home}, variables...)
	return preflight.Options{Root: m.root, Agents: custom, Environ: env}
}

func texts(problems []preflight.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

func TestALoginIsDetectedByAVariableOrAFile(t *testing.T) {
	for name, c := range map[string]struct {
		agent    string
		files    map[string]string // content by path; relative to the home folder, or to the project if it starts with project/
		variable string
		missing  bool
	}{
		"claude without anything":        {agent: "claude", missing: true},
		"claude with a key":              {agent: "claude", variable: "ANTHROPIC_API_KEY=x"},
		"claude with an empty key":       {agent: "claude", variable: "ANTHROPIC_API_KEY=", missing: true},
		"claude with a token":            {agent: "claude", variable: "CLAUDE_CODE_OAUTH_TOKEN=x"},
		"claude on Bedrock":              {agent: "claude", variable: "CLAUDE_CODE_USE_BEDROCK=1"},
		"claude with credentials":        {agent: "claude", files: map[string]string{".claude/.credentials.json": "{}"}},
		"claude with a helper":           {agent: "claude", files: map[string]string{".claude/settings.json": `{"apiKeyHelper": "x"}`}},
		"claude with other settings":     {agent: "claude", files: map[string]string{".claude/settings.json": `{"model": "opus"}`}, missing: true},
		"claude with a project's key":    {agent: "claude", files: map[string]string{"project/.claude/settings.local.json": `{"env": {"ANTHROPIC_API_KEY": "x"}}`}},
		"codex without anything":         {agent: "codex", missing: true},
		"codex logged in":                {agent: "codex", files: map[string]string{".codex/auth.json": "{}"}},
		"codex with a provider":          {agent: "codex", files: map[string]string{".codex/config.toml": `model_provider = "stub"`}},
		"codex with a key":               {agent: "codex", variable: "CODEX_API_KEY=x"},
		"gemini without anything":        {agent: "gemini", missing: true},
		"gemini logged in":               {agent: "gemini", files: map[string]string{".gemini/oauth_creds.json": "{}"}},
		"gemini with a way to log in":    {agent: "gemini", files: map[string]string{".gemini/settings.json": `{"selectedType": "x"}`}},
		"gemini with a project's file":   {agent: "gemini", files: map[string]string{"project/.env": "GEMINI_API_KEY=x"}},
		"opencode, which may need none":  {agent: "opencode"},
		"another folder without a login": {agent: "codex", variable: "CODEX_HOME=/nowhere", files: map[string]string{".codex/auth.json": "{}"}, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.install(c.agent, "exit 1")
			for file, text := range c.files {
				if rest, ok := strings.CutPrefix(file, "project/"); ok {
					m.write(filepath.Join(m.root, rest), text, 0o600)
				} else {
					m.write(filepath.Join(m.home, file), text, 0o600)
				}
			}
			_, got := preflight.CheckAgent(t.Context(), c.agent, m.options(nil, c.variable))
			missing := c.missing && (runtime.GOOS != "darwin" || c.agent == "codex") // on macOS the other agents may have their login in the keychain
			if want := c.agent + " is not logged in"; strings.Contains(texts(got), want) != missing {
				t.Errorf("%q, want %q: %v", texts(got), want, missing)
			}
		})
	}
}

func TestALoginMayComeFromASecret(t *testing.T) {
	for name, logsIn := range map[string]bool{"ANTHROPIC_API_KEY": true, "CLAUDE_CONFIG_DIR": true, "OTHER": false} {
		m := newMachine(t)
		m.install("claude", "exit 1")
		m.write(filepath.Join(m.home, "key"), "x", 0o600)
		env := map[string]secret.Value{name: {From: secret.File, Path: filepath.Join(m.home, "key")}}
		p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Prompt: "x", Env: env}}}
		got := texts(preflight.Check(t.Context(), p, m.options(nil)))
		if missing := strings.Contains(got, "not logged in"); missing == logsIn && runtime.GOOS != "darwin" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAProgramOfTheProjectIsNeverRun(t *testing.T) {
	m := newMachine(t)
	ran := filepath.Join(m.home, "ran")
	touch := "echo x > " + ran
	m.write(filepath.Join(m.root, "tools/opencode"), "#!/bin/sh\n"+touch+"\n", 0o755)
	m.install("opencode", touch)
	m.install("other", touch)
	p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "opencode", Model: "a/b"}}}
	for name, o := range map[string]preflight.Options{
		"a program of its own":     m.options(map[string]agent.Custom{"opencode": {Argv: []string{"other"}}}),
		"a relative one":           m.options(map[string]agent.Custom{"opencode": {Argv: []string{"tools/opencode"}}}),
		"variables of its own":     m.options(map[string]agent.Custom{"opencode": {Env: map[string]secret.Value{"PATH": secret.Text(m.bin)}}}),
		"one in a folder of PATH":  m.options(nil, "PATH="+filepath.Join(m.root, "tools")),
		"one that speaks like it":  m.options(map[string]agent.Custom{"opencode": {Like: "opencode", Argv: []string{"other"}}}),
		"a command of another one": m.options(map[string]agent.Custom{"opencode": {Like: "command", Argv: []string{"other"}}}),
	} {
		if got := preflight.Check(t.Context(), p, o); len(got) > 0 {
			t.Errorf("%s: %s", name, texts(got))
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s: it was run", name)
		}
	}
	// If only the user's own settings apply, the same program is run.
	preflight.Check(t.Context(), p, m.options(nil))
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the user's own opencode was not asked: %v", err)
	}
	if _, err := preflight.Ask(t.Context(), "other", m.root, m.options(nil).Environ); err == nil {
		t.Error("a program that is not known was run")
	}
}

func TestAProgramThatDoesNotAnswerIsNoProblem(t *testing.T) {
	m := newMachine(t)
	p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "opencode", Model: "a/b"}}}
	for _, script := range []string{"exit 1", "echo 'an error / with words'", ":"} {
		m.install("opencode", script)
		if got := preflight.Check(t.Context(), p, m.options(nil)); len(got) > 0 {
			t.Errorf("%s: %s", script, texts(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.install("opencode", "while :; do :; done")
	if got := preflight.Check(ctx, p, m.options(nil)); len(got) > 0 {
		t.Errorf("cancelled: %s", texts(got))
	}
}

func TestAnUnknownAgentIsAProblem(t *testing.T) {
	m := newMachine(t)
	p := plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "zai"}}}
	got := texts(preflight.Check(t.Context(), p, m.options(nil)))
	if want := `agent zai (task a): agent "zai" is not known`; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThousandsOfTasksAreOneProblem(t *testing.T) {
	m := newMachine(t)
	var p plan.Plan
	for i := range 5000 {
		p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint(i)})
	}
	got := texts(preflight.Check(t.Context(), p, m.options(nil)))
	if want := "agent claude (tasks 0, 1, 2 and 4997 more): the program claude is not installed"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("%q, want %q", got, want)
	}
}
