package agents

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
)

// calls lists the tool calls that the model makes, one for each tool. want is a part of the result
// that the model must receive.
var calls = []struct{ tool, args, want string }{
	{"state_read", `{}`, "workflowStep"},
	{"session_list", `{}`, "session"},
	{"session_read", `{}`, "agents"},
	{"step_begin", `{"step":"observer"}`, "begun"},
	{"step_finish", `{"step":"observer","summary":"seen"}`, "observer"},
	{"event_emit", `{"kind":"checkpoint-saved","fields":{"summary":"saved"}}`, "checkpoint-saved"},
	{"inbox_add", `{"type":"evolve","content":"Make it faster"}`, "inbox-"},
	{"inbox_list", `{}`, "Make it faster"},
	{"inbox_take", `{"type":"evolve"}`, "Make it faster"},
	{"inbox_finish", `{"id":"inbox-1"}`, "processed"},
	{"message_send", `{"from":"developer","group":"A","subject":"Ready"}`, "msg_"},
	{"message_read", `{}`, "Ready"},
	{"plan_submit", `{"text":"tasks: [{id: a, agent: claude, prompt: x}]","check_only":true}`, `"tasks":["a"]`},
	{"run_list", `{"ended":true}`, "complete"},
	{"run_status", `{}`, "complete"},
	{"person_ask", `{"question":"May I?","options":["yes","no"]}`, `"answer":"yes"`},
}

// withServer returns a command that runs an agent program with gaffer's MCP server. The program may
// call the server's tools without asking.
func (p *environment) withServer(agent string, args ...string) *exec.Cmd {
	p.Helper()
	if agent == "claude" {
		config := `{"mcpServers":{"gaffer":{"command":"gaffer","args":["mcp"]}}}`
		return p.command("claude", append([]string{
			"-p", "do the work", "--mcp-config", config, "--allowedTools", "mcp__gaffer",
		}, args...)...)
	}
	return p.command("codex", append([]string{
		"exec", "--json", "--disable", "plugins",
		"-c", "mcp_servers.gaffer.command=" + filepath.Join(programs, "gaffer"), "-c", `mcp_servers.gaffer.args=["mcp"]`,
		"do the work",
	}, args...)...)
}

func TestTheProgramsListAndCallEveryTool(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.done("team", "init", "Requirements")
		p.done("state", "set", "workflowStep=interviewer")
		p.write("plan.yaml", "tasks: [{id: quick, shell: 'true'}]")
		p.done("run", "plan.yaml")
		p.write(".fctry/inbox.json", `[{"id":"inbox-1","type":"feature","content":"x","timestamp":"2026-01-01T00:00:00Z","status":"processing"}]`)
		var modes []string
		for _, c := range calls {
			modes = append(modes, "call:"+c.tool+":"+c.args)
		}
		p.play(append(modes, "text")...)

		cmd := p.withServer(agent)
		over := make(chan error, 1)
		var out []byte
		go func() {
			var err error
			out, err = cmd.CombinedOutput()
			over <- err
		}()
		asker := agent + "-" // prefix of the agent's name, which ends with its process id, as in 'gaffer ps'
		p.until("the user is asked", func() bool {
			select {
			case err := <-over:
				p.Fatalf("%s: %v\n%s", agent, err, out)
			default:
			}
			return p.asked(asker).ID != ""
		})
		p.done("answer", p.asked(asker).Name, "--option", "1")
		select {
		case err := <-over:
			if err != nil {
				p.Errorf("%s: %v\n%s", agent, err, out)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			p.Fatalf("%s does not end", agent)
		}
		p.checkCalls()
		p.nothingLeft()
	})
}

// asked returns the question of an agent whose name has this prefix, or the zero value if there is
// none. It searches the list, because agents of other tests may also wait for an answer.
func (p *environment) asked(name string) (q fleet.Question) {
	out, err := p.command("gaffer", "answer", "--json").Output()
	var all []fleet.Question
	if err != nil || json.Unmarshal(out, &all) != nil {
		return q
	}
	for _, q := range all {
		if q.ID != "" && (strings.HasPrefix(q.Name, name) || strings.HasSuffix(q.Name, "/"+name)) {
			return q
		}
	}
	return q
}

// checkCalls checks the results that the model received after each of its calls.
func (p *environment) checkCalls() {
	p.Helper()
	turns := p.turns()
	if len(turns) != len(calls)+1 {
		p.Fatalf("%d turns for %d calls", len(turns), len(calls))
	}
	for i, c := range calls {
		if !slices.ContainsFunc(turns[0].Tools, func(name string) bool { return strings.HasSuffix(name, c.tool) }) {
			p.Errorf("%s is not among the tools: %v", c.tool, turns[0].Tools)
		}
		if result := resultIn(turns[i+1].Body); !strings.Contains(result, c.want) {
			p.Errorf("%s: the model gets %s, want %q in it", c.tool, result, c.want)
		}
	}
}

// resultIn returns the last tool result in a conversation. It replaces the escaped quotes of nested
// JSON by plain ones.
func resultIn(body json.RawMessage) string {
	var r struct{ Messages, Input []json.RawMessage }
	_ = json.Unmarshal(body, &r) // ignore the error: r has the fields of both protocols
	for _, turn := range slices.Backward(append(r.Messages, r.Input...)) {
		if text := string(turn); strings.Contains(text, "tool_result") || strings.Contains(text, "_call_output") {
			return strings.ReplaceAll(text, `\"`, `"`)
		}
	}
	return "nothing"
}

// A program may start its MCP servers with hardly any of its environment variables. gaffer must
// still know which agent calls.
func TestTheAgentOfATaskIsKnownByItsTools(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.write(filepath.Join(p.home, ".codex/config.toml"), p.codexConfig()+`
[mcp_servers.gaffer]
command = "gaffer"
args = ["mcp"]
`)
		p.write(".mcp.json", `{"mcpServers":{"gaffer":{"command":"gaffer","args":["mcp"]}}}`)
		p.write(".claude/settings.json", `{"enableAllProjectMcpServers":true,"permissions":{"allow":["mcp__gaffer"]}}`)
		p.play(`call:person_ask:{"question":"May I?"}`, "text")
		g := p.start("run", p.plan(agent, "env: {GAFFER_ROLE: developer}"))
		if agent == "claude" { // Claude asks gaffer for the permission to call each tool
			p.task("it asks for the tool", func(t fleet.Task) bool { return t.Question != nil })
			p.done("answer", "work", "--option", "1")
		}
		p.until("the user is asked in the task's name", func() bool {
			q := p.asked("work")
			return q.Run == "" && q.Task == p.status().ID+"/"+"work"
		})
		p.done("answer", "work", "yes")
		g.wait()
		p.came(p.ended(), fleet.Complete, "")
		turns := p.turns()
		if result := resultIn(turns[len(turns)-1].Body); !strings.Contains(result, `"answer":"yes"`) {
			p.Errorf("the model gets %s", result)
		}
		tools := strings.Join(turns[0].Tools, " ")
		if !strings.Contains(tools, "message_send") || strings.Contains(tools, "plan_submit") {
			p.Errorf("a developer's tools: %s", tools)
		}
	})
}
