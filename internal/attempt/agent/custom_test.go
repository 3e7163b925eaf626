package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/plan/secret"
)

func TestEveryNameIsAnAgent(t *testing.T) {
	for _, name := range agent.Names() {
		l := launch(t, name, agent.Request{Prompt: "p", Argv: []string{"true"}})
		if len(l.Argv) == 0 {
			t.Errorf("%s starts nothing", name)
		}
	}
}

func TestAnUnknownAgentIsRefusedWithASuggestion(t *testing.T) {
	custom := map[string]agent.Custom{"mine": {Argv: []string{"mine"}}}
	for name, hint := range map[string]string{"cluade": "did you mean claude?", "mien": "did you mean mine?", "banana": "agents:"} {
		_, err := agent.New(name, custom)
		var unknown *agent.UnknownError
		if !errors.As(err, &unknown) || !unknown.Invalid() || !strings.Contains(unknown.Hint(), hint) || !strings.Contains(err.Error(), "mine") {
			t.Errorf("New(%q): %v, %+v, want the hint %q", name, err, unknown, hint)
		}
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		custom agent.Custom
		want   string
	}{
		{"mine", agent.Custom{}, "agent mine needs argv"},
		{"mine", agent.Custom{Argv: []string{"", "x"}}, `argv: found "", want a program first`},
		{"mine", agent.Custom{Like: "cluade", Argv: []string{"x"}}, `like: found "cluade", want claude, codex`},
		{"mine", agent.Custom{Argv: []string{"x"}, Prompt: "pipe"}, `prompt: found "pipe", want stdin, argument or file`},
		{"claude", agent.Custom{Prompt: agent.Argument}, "claude's protocol has it on stdin"},
		{"codex", agent.Custom{Prompt: agent.File}, "agents like command"},
		{"command", agent.Custom{Env: map[string]secret.Value{"A=B": secret.Text("c")}}, `env: found "A=B"`},
		{"command", agent.Custom{Env: map[string]secret.Value{"A": secret.Text("\x00")}}, `env: A: has a zero byte`},
		{"command", agent.Custom{Markers: agent.Markers{Failed: "("}}, `markers.failed: found "("`},
		{"claude", agent.Custom{Markers: agent.Markers{Done: "x"}}, "markers are for agents like command"},
	} {
		_, err := agent.New(c.name, map[string]agent.Custom{c.name: c.custom})
		var bad interface{ Invalid() bool }
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &bad) || !bad.Invalid() {
			t.Errorf("%s %+v: %v, want %q", c.name, c.custom, err, c.want)
		}
	}
}

func TestACustomAgentIsReadFromYAML(t *testing.T) {
	var custom map[string]agent.Custom
	err := yaml.UnmarshalWithOptions([]byte(`
claude:
  argv: [npx, claude, --permission-mode, acceptEdits]
  env: {ANTHROPIC_BASE_URL: "http://localhost"}
aider:
  like: command
  argv: [aider, --message, "{prompt}"]
  prompt: argument
  markers:
    waiting: '^\? (.*)'
    rate_limit: limit
    done: '^done$'
    failed: '^error'
`), &custom, yaml.Strict())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]agent.Custom{
		"claude": {Argv: []string{"npx", "claude", "--permission-mode", "acceptEdits"}, Env: map[string]secret.Value{"ANTHROPIC_BASE_URL": secret.Text("http://localhost")}},
		"aider": {
			Like: "command", Argv: []string{"aider", "--message", "{prompt}"}, Prompt: agent.Argument,
			Markers: agent.Markers{Waiting: `^\? (.*)`, RateLimit: "limit", Done: "^done$", Failed: "^error"},
		},
	}
	if diff := cmp.Diff(want, custom); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHowEachProgramIsStarted(t *testing.T) {
	custom := map[string]agent.Custom{
		"mine":    {Like: "codex", Argv: []string{"codex", "--sandbox", "read-only"}},
		"arg":     {Like: "codex", Prompt: agent.Argument},
		"oc":      {Like: "opencode", Prompt: agent.Argument},
		"gm":      {Like: "gemini", Argv: []string{"gemini", "--yolo"}, Prompt: agent.Argument},
		"aider":   {Argv: []string{"aider", "-m={prompt}"}, Prompt: agent.Argument, Env: map[string]secret.Value{"B": secret.Text("2"), "A": secret.Text("1")}},
		"last":    {Argv: []string{"run"}, Prompt: agent.Argument},
		"file":    {Argv: []string{"run", "--in", "{prompt_file}", "--fast"}, Prompt: agent.File},
		"lastest": {Argv: []string{"run"}, Prompt: agent.File},
	}
	const claude = "claude -p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio --replay-user-messages"
	const codex = "codex exec --json --disable plugins --skip-git-repo-check -c sandbox_mode=\"workspace-write\""
	for _, c := range []struct {
		name    string
		request agent.Request
		argv    string
	}{
		{"claude", agent.Request{}, claude},
		{"claude", agent.Request{Thread: "t", Begin: true, Model: "opus"}, claude + " --session-id t --model opus"},
		{"claude", agent.Request{Thread: "t"}, claude + " --resume t"},
		{"codex", agent.Request{Policy: agent.Deny}, codex + " -"},
		{"codex", agent.Request{Policy: agent.Deny, Model: "m", Thread: "t"}, codex + " -m m resume t -"},
		{"codex", agent.Request{Policy: agent.Deny, Thread: "t", Begin: true}, codex + " -"},
		{"codex", agent.Request{Policy: agent.Allow}, strings.Replace(codex, "workspace-write", "danger-full-access", 1) + " -"},
		{"codex", agent.Request{}, "codex --disable plugins -c sandbox_mode=\"workspace-write\" app-server"},
		{"codex", agent.Request{Sandbox: agent.InAnOuter}, "codex --disable plugins -c sandbox_mode=\"danger-full-access\" app-server"},
		{"codex", agent.Request{Sandbox: agent.OwnOffline, Policy: agent.Allow, Writable: []string{"/r/.git"}}, codex + ` -c sandbox_workspace_write.writable_roots=["/r/.git"] -c sandbox_workspace_write.network_access=false -`},
		{"claude", agent.Request{Sandbox: agent.OwnSandbox, Policy: agent.Deny}, claude + ` --settings {"sandbox":{"autoAllowBashIfSandboxed":false,"enabled":true,"failIfUnavailable":true,"filesystem":{"allowWrite":[]}}}`},
		{"mine", agent.Request{Policy: agent.Allow}, "codex --sandbox read-only exec --json --disable plugins --skip-git-repo-check -"},
		{"arg", agent.Request{Policy: agent.Deny, Prompt: "--do it"}, codex + " -- --do it"},
		{"gemini", agent.Request{}, "gemini --output-format stream-json --approval-mode auto_edit"},
		{"gemini", agent.Request{Policy: agent.Allow, Thread: "t", Begin: true, Model: "m"}, "gemini --output-format stream-json --approval-mode yolo --session-id t -m m"},
		{"gm", agent.Request{Policy: agent.Allow, Thread: "t", Prompt: "-x"}, "gemini --yolo --output-format stream-json --resume t --prompt=-x"},
		{"opencode", agent.Request{Thread: "t", Begin: true}, "opencode run --format json"},
		{"opencode", agent.Request{Thread: "t", Model: "m", Policy: agent.Allow}, "opencode run --format json --auto -s t -m m"},
		{"oc", agent.Request{Prompt: "-x"}, "opencode run --format json -- -x"},
		{"command", agent.Request{Argv: []string{"go", "test"}, Prompt: "p"}, "go test"},
		{"aider", agent.Request{Prompt: "do it"}, "aider -m=do it"},
		{"last", agent.Request{Prompt: "do it"}, "run do it"},
		{"file", agent.Request{Prompt: "do it"}, "run --in {prompt_file} --fast"},
		{"lastest", agent.Request{Prompt: "do it"}, "run {prompt_file}"},
	} {
		a, err := agent.New(c.name, custom)
		if err != nil {
			t.Fatal(err)
		}
		l, err := a.Launch(c.request)
		if err != nil || strings.Join(l.Argv, " ") != c.argv {
			t.Errorf("%s %+v:\n  %s, %v\nwant\n  %s", c.name, c.request, strings.Join(l.Argv, " "), err, c.argv)
		}
		if (l.File != nil) != slices.ContainsFunc(l.Argv, func(s string) bool { return strings.Contains(s, agent.FileArg) }) {
			t.Errorf("%s: file %q, argv %q", c.name, l.File, l.Argv)
		}
		if again, _ := a.Launch(c.request); !slices.Equal(again.Argv, l.Argv) {
			t.Errorf("%s: the second launch is %q", c.name, again.Argv)
		}
	}
}

func TestThePromptIsPassedUnchanged(t *testing.T) {
	prompt := "- say \"hi\"\n<b>ü</b>\n"
	for name, want := range map[string]string{
		"claude":   `{"message":{"content":"- say \"hi\"\n<b>ü</b>\n","role":"user"},"type":"user"}` + "\n",
		"gemini":   prompt,
		"opencode": prompt,
		"command":  prompt,
	} {
		l := launch(t, name, agent.Request{Prompt: prompt, Argv: []string{"cat"}})
		if string(l.Input) != want || l.Open != (name == "claude") {
			t.Errorf("%s: input %q, open %v, want %q", name, l.Input, l.Open, want)
		}
	}
	if l := launch(t, "codex", agent.Request{Prompt: prompt, Thread: "t", Model: "m"}); !l.Open ||
		!strings.Contains(string(l.Input), `"method":"thread/resume","params":{"excludeTurns":true,"model":"m","threadId":"t"}`) {
		t.Errorf("app server: open %v, input %s", l.Open, l.Input)
	}
}

func TestTheEnvironmentOfACommandHasItsModel(t *testing.T) {
	a, err := agent.New("aider", map[string]agent.Custom{"aider": {Argv: []string{"aider"}, Env: map[string]secret.Value{"B": secret.Text("2"), "A": secret.Text("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch(agent.Request{Model: "m"})
	if err != nil || strings.Join(l.Env, " ") != "A=1 B=2 GAFFER_MODEL=m" {
		t.Errorf("env %q, %v", l.Env, err)
	}
}

func TestACommandWithoutAProgramIsRefused(t *testing.T) {
	a, err := agent.New("command", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Launch(agent.Request{Prompt: "p"}); err == nil {
		t.Error("it was launched")
	}
}
