package agentproc

import (
	"strings"
	"testing"
)

func TestInteractiveAgentsAreRecognizedByTheirCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"claude":                               Claude,
		"claude fix it":                        Claude,
		"claude -p hi":                         "",
		"claude --print hi":                    "",
		"claude mcp serve":                     "",
		"codex --no-daemon hi":                 Codex,
		"codex exec hi":                        "",
		"codex app-server --listen unix://":    "",
		"codex -c x=y app-server":              "",
		"node /usr/bin/gemini":                 Gemini,
		"node --x /a/gemini-cli/dist/index.js": Gemini,
		"node /usr/bin/gemini -p hi":           "",
		"node /usr/bin/codex":                  "",
		"node /a/claude-code/cli.js":           Claude,
		"node server.js claude":                "",
		"node":                                 "",
	} {
		words := strings.Fields(line)
		p := Process{Name: words[0]}
		if got := p.interactiveAgentOf(words); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
