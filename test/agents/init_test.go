package agents

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// program runs one of the real agent programs and returns its output.
func (p *environment) program(name string, args ...string) string {
	p.Helper()
	cmd := p.command(name, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &talk, time.Second
	p.must(cmd.Start())
	over := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // ignore the error: the process may have ended
	defer over.Stop()
	if err := cmd.Wait(); err != nil {
		p.Fatalf("%s: %v\n%s%s", cmd, err, out.String(), talk.String())
	}
	return out.String()
}

// claude runs the real Claude Code. It returns the names of the hooks that have run, each with its
// outcome.
func (p *environment) claude(args ...string) (hooks []string) {
	p.Helper()
	out := p.program("claude", append(args, "-p", "go", "--output-format", "stream-json", "--verbose", "--include-hook-events", "--allowedTools", "Bash")...)
	for line := range strings.Lines(out) {
		var said struct {
			Subtype, Outcome string
			Name             string `json:"hook_name"`
			Stderr           string
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Subtype == "hook_response" {
			hooks = append(hooks, said.Name+" "+said.Outcome)
		}
	}
	return hooks
}

// codex runs the real Codex.
func (p *environment) codex() {
	p.Helper()
	p.program("codex", "exec", "--json", "--disable", "plugins", "--dangerously-bypass-hook-trust", "go")
}

// notes returns the session documents of agents that gaffer did not start.
func (p *environment) notes(program string) (notes []map[string]any) {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, ".local/state/gaffer/interactive", program+".*.json"))
	p.must(err)
	for _, file := range files {
		var note map[string]any
		p.must(json.Unmarshal([]byte(p.read(file)), &note))
		notes = append(notes, note)
	}
	return notes
}

// hooksSucceed runs Claude Code with a tool call and fails the test unless the hooks of all events
// have succeeded. On a busy machine a hook may not end within its time limit; then hooksSucceed
// tries again. It returns how often Claude Code has run.
func (p *environment) hooksSucceed(args ...string) (runs int) {
	p.Helper()
	const most = 5
	var got []string
	for runs < most && (runs == 0 || slices.ContainsFunc(got, func(hook string) bool { return strings.HasSuffix(hook, " cancelled") })) {
		p.play("tool", "text")
		got = p.claude(args...)
		runs++
	}
	for _, want := range []string{"SessionStart:startup", "UserPromptSubmit", "PreToolUse:Bash", "PostToolUse:Bash", "Stop"} {
		if !slices.Contains(got, want+" success") {
			p.Errorf("no hook of %s has answered well: %q", want, got)
		}
	}
	return runs
}

func TestClaudeReportsItsActivityAfterInit(t *testing.T) {
	p := newEnvironment(t)
	p.done("init", "claude", "--project", "--yes")
	runs := p.hooksSucceed()
	if notes := p.notes("claude"); len(notes) != runs || notes[0]["dir"] != p.dir {
		t.Errorf("gaffer has noted %v", notes)
	}
	p.done("init", "--undo", "--yes")
	if out, err := exec.Command("git", "-C", p.dir, "status", "--porcelain").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("after undo there is %s, %v", out, err)
	}
	if hooks := p.claude(); len(hooks) > 0 {
		t.Errorf("after undo there are the hooks %q", hooks)
	}
}

func TestCodexReportsItsActivityAfterInit(t *testing.T) {
	for _, whose := range []string{"--project", "--user"} {
		t.Run(whose, func(t *testing.T) {
			p := newEnvironment(t)
			before := p.read(filepath.Join(p.home, ".codex/config.toml"))
			p.play("tool", "text")
			p.done("init", "codex", whose, "--yes")
			p.codex()
			if notes := p.notes("codex"); len(notes) != 1 || notes[0]["dir"] != p.dir {
				t.Errorf("gaffer has noted %v", notes)
			}
			if out := p.program("codex", "mcp", "list"); !strings.Contains(out, "gaffer") {
				t.Errorf("its servers are %s", out)
			}
			p.done("init", "codex", whose, "--undo", "--yes")
			if after := p.read(filepath.Join(p.home, ".codex/config.toml")); after != before {
				t.Errorf("after undo its settings are\n%s, were\n%s", after, before)
			}
			if p.has(".codex") || p.has(filepath.Join(p.home, ".codex/hooks.json")) {
				t.Error("after undo hooks are left")
			}
		})
	}
}

// examples is the folder with realistic settings files of the agent programs.
const examples = "../../internal/byhand/agentsettings/testdata/files"

func TestSettingsOfManyKindsAreAcceptedAfterInit(t *testing.T) {
	t.Run("claude", func(t *testing.T) {
		p := newEnvironment(t)
		for _, name := range []string{"03-existing-hooks", "05-bom", "07-one-line", "12-duplicate-keys", "14-odd-spacing"} {
			text, err := os.ReadFile(filepath.Join(examples, "claude-settings-"+name+".json"))
			p.must(err)
			p.write(".claude/settings.json", string(text))
			p.done("init", "claude", "--project", "--yes")
			p.hooksSucceed()
			p.done("init", "claude", "--project", "--undo", "--yes")
			if back := p.read(".claude/settings.json"); back != string(text) {
				t.Errorf("%s came back as\n%s", name, back)
			}
		}
	})
	t.Run("codex", func(t *testing.T) {
		p := newEnvironment(t)
		config := filepath.Join(p.home, ".codex/config.toml")
		for _, name := range []string{"20-usual", "22-inline-servers", "23-dotted", "24-crlf-bom", "25-comments-only", "26-inline-empty", "27-inline-lines"} {
			text, err := os.ReadFile(filepath.Join(examples, "codex-config-"+name+".toml"))
			p.must(err)
			p.write(config, string(text))
			p.done("init", "codex", "--user", "--yes")
			if out := p.program("codex", "mcp", "list"); !strings.Contains(out, "gaffer  ") {
				t.Errorf("%s: its servers are %s", name, out)
			}
			p.done("init", "codex", "--user", "--undo", "--yes")
			if back := p.read(config); back != string(text) {
				t.Errorf("%s came back as\n%s", name, back)
			}
		}
	})
}

func TestClaudeAcceptsThePlugin(t *testing.T) {
	p := newEnvironment(t)
	plugin, err := filepath.Abs("../../integrations/claude-code")
	p.must(err)
	p.program("claude", "plugin", "validate", "--strict", plugin)
	p.program("claude", "plugin", "validate", "--strict", filepath.Dir(plugin))
	runs := p.hooksSucceed("--plugin-dir", plugin)
	if notes := p.notes("claude"); len(notes) != runs {
		t.Errorf("gaffer has noted %v", notes)
	}
}

func TestCodexAcceptsTheSnippet(t *testing.T) {
	p := newEnvironment(t)
	snippet, err := os.ReadFile("../../integrations/codex/config.toml")
	p.must(err)
	p.write(filepath.Join(p.home, ".codex/config.toml"), p.codexConfig()+string(snippet))
	p.play("tool", "text")
	p.codex()
	if notes := p.notes("codex"); len(notes) != 1 {
		t.Errorf("gaffer has noted %v", notes)
	}
	if out := p.program("codex", "mcp", "list"); !strings.Contains(out, "gaffer") {
		t.Errorf("its servers are %s", out)
	}
}
