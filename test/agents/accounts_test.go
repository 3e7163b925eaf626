package agents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
)

// accounts writes settings with accounts of an agent, each with its own config folder and API key.
// It returns their keys. The stub model tells them apart by the keys.
func (p *environment) accounts(agent string, names ...string) (keys []string) {
	p.Helper()
	var settings strings.Builder
	settings.WriteString("accounts:\n")
	variable := map[string]string{"claude": "ANTHROPIC_API_KEY", "codex": "STUB_KEY"}[agent]
	for _, name := range names {
		key := fmt.Sprintf("sk-%s-%s", p.name, name)
		folder := filepath.Join(p.home, "."+agent+"-"+name)
		p.write(filepath.Join(folder, "config.toml"), p.codexConfig()) // Claude Code ignores it
		fmt.Fprintf(&settings, "  %s: {agent: %s, config: %s, env: {%s: {from: env, name: KEY_%s}}}\n", name, agent, folder, variable, name)
		p.env = append(p.env, "KEY_"+name+"="+key)
		keys = append(keys, key)
	}
	p.write(filepath.Join(p.home, ".config/gaffer/gaffer.yaml"), settings.String())
	return keys
}

func TestATaskContinuesInItsConversationWithAnotherAccountAfterARateLimit(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.defaultSandbox()
		keys := p.accounts(agent, "work", "home")
		model.LimitKey(keys[0], 1) // the limit is reached after the first call of a tool
		p.play("tool:echo begun-by-work >> done.txt", "text:finished by home")
		p.done("run", p.plan(agent, "questions: allow"))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 2 || task.Attempt.Account != "home" || task.Attempt.Fallback != "" || !strings.Contains(task.Attempt.Summary, "finished by home") {
			p.Errorf("want a second attempt with the account home:\n%s", encode(task))
		}
		if got := p.read("done.txt"); got != "begun-by-work\n" {
			p.Errorf("the tool ran as %q", got)
		}
		turns := p.turns()
		last := turns[len(turns)-1]
		if used := last.Header.Get("X-Api-Key") + last.Header.Get("Authorization"); !strings.Contains(used, keys[1]) {
			p.Errorf("the last request has the key %s", used)
		}
		if !strings.Contains(string(last.Body), "begun-by-work") {
			p.Errorf("the model does not see the conversation:\n%s", last.Body)
		}
		lanes := p.status().Lanes
		if len(lanes) != 1 || lanes[0].Name != fmt.Sprintf("%s/%s", agent, "work") || !lanes[0].Free {
			p.Errorf("the lanes are %s", encode(lanes))
		}
		if out := p.done("accounts"); !strings.Contains(out, "paused until") {
			p.Errorf("gaffer accounts says\n%s", out)
		}
	})
}

func TestCodexContinuesTheWorkOfClaudeWhoseAccountsAreAllLimited(t *testing.T) {
	p := newEnvironment(t)
	p.defaultSandbox()
	keys := p.accounts("claude", "work", "home")
	model.LimitKey(keys[0], 1)
	model.LimitKey(keys[1], 0)
	p.play("tool:echo begun-by-claude >> done.txt", "text:finished by codex")
	p.done("run", p.plan("claude", "questions: allow, fallback: codex"))
	task := p.ended()
	p.came(task, fleet.Complete, "")
	if task.Tries != 3 || task.Attempt.Account != "" || task.Attempt.Fallback != "codex" || !strings.Contains(task.Attempt.Summary, "finished by codex") {
		p.Errorf("want a third attempt by codex:\n%s", encode(task))
	}
	turns := p.turns()
	last := turns[len(turns)-1]
	var body map[string]any
	p.must(json.Unmarshal(last.Body, &body))
	text := encode(body["input"])
	for _, want := range []string{"do the work", "Another agent (claude) has worked on this task before you, until it reached its rate limit"} {
		if !strings.Contains(text, want) {
			p.Errorf("%q is not in the prompt of codex:\n%s", want, text)
		}
	}
	if got := p.read("done.txt"); got != "begun-by-claude\n" {
		p.Errorf("the tool ran as %q", got)
	}
	if out := p.done("status"); !strings.Contains(out, "codex for claude") {
		p.Errorf("gaffer status says\n%s", out)
	}
}
