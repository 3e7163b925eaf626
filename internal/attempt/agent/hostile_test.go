package agent_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

// checkInvariants fails the test unless a reader keeps the rules that must hold for any output of
// an agent.
func checkInvariants(t *testing.T, name string, policy agent.Policy, custom map[string]agent.Custom, data []byte) {
	t.Helper()
	a, err := agent.New(name, custom)
	if err != nil {
		t.Fatal(err)
	}
	reader := a.Reader(agent.Request{Policy: policy, Prompt: "p"})
	for line := range bytes.Lines(data) {
		for _, s := range reader.Line(bytes.TrimSuffix(line, []byte("\n"))) {
			fitForPeople(t, s.Doing, 80)
			if (s.Reply == nil) != (s.ReplyTo == "") {
				t.Errorf("a reply to nothing: %s", show(s))
			}
			if s.Ask != nil {
				fitForPeople(t, s.Ask.Text, 4000*8)
				for _, answer := range []agent.Answer{{}, {Text: "allow"}, {Deny: true}, {Text: "\xff\n{"}} {
					if reply := s.Ask.Reply(answer); !bytes.HasSuffix(reply, []byte("\n")) || bytes.Count(reply, []byte("\n")) != 1 {
						t.Errorf("a reply that is no line: %q", reply)
					}
				}
			}
		}
	}
	for _, exit := range []agent.Exit{{}, {Code: 1}, {Code: -1, Signal: "SIGKILL"}, {StopReason: "timeout"}, {StopReason: agent.Lingered}} {
		v := reader.Verdict(exit)
		fitForPeople(t, v.Summary, 520)
		if exit.StopReason == "timeout" && v.Class != failure.TimedOut {
			t.Errorf("told to stop, and the verdict is %+v", v)
		}
	}
}

func fitForPeople(t *testing.T, text string, most int) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\x07") || utf8.RuneCountInString(text) > most {
		t.Errorf("not fit for people: %q", text)
	}
}

func fuzz(f *testing.F, name, folder string, policies []agent.Policy, custom map[string]agent.Custom) {
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, line := range hostile() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, policy := range policies {
			checkInvariants(t, name, policy, custom, data)
		}
	})
}

// hostile returns lines that no program should print.
func hostile() [][]byte {
	lines := []string{
		"", "{", "}", "null", "[]", "{}", `"result"`, "{}{}", `{"type":`, `{"type":"result"`,
		`{"type":7,"session_id":[],"message":"x"}`,
		`{"type":"result","is_error":"false","result":{}}`,
		`{"type":"result","is_error":false,"total_cost_usd":"1","modelUsage":[],"permission_denials":{"a":1}}`,
		`{"type":"assistant","message":{"content":"text","usage":"none"}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":5}]}}`,
		`{"type":"control_request"}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":"?"}}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{},{}]}}}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e300}}`,
		`{"type":"item.completed","item":[]}`, `{"type":"turn.completed","usage":-1}`, `{"type":"turn.failed","error":"x"}`,
		`{"id":2,"result":{"thread":{"id":7}}}`, `{"id":2,"error":null}`, `{"id":{},"method":"item/tool/requestUserInput","params":{"questions":[{}]}}`,
		`{"method":"turn/completed","params":{"turn":{"error":{"codexErrorInfo":[1]}}}}`,
		`{"method":"item/commandExecution/requestApproval","id":1}`,
		`{"type":"error","timestamp":1e308,"error":{"data":{"responseHeaders":{"retry-after":"1e308"}}}}`,
		`{"type":"step_finish","part":{"reason":"","cost":"x"}}`,
		"\x00\xff\xfe\x1b[31mred\x1b]0;title", "\x1b", "\x1b[", "\x1b]", "question: \xff?",
		strings.Repeat(`{"message":`, 20000), strings.Repeat("[", 1<<20), strings.Repeat("x", agent.MaxLine),
		`{"type":"result","is_error":true,"result":"` + strings.Repeat("€", 300000) + `"}`,
	}
	var all [][]byte
	for _, line := range lines {
		all = append(all, []byte(line))
	}
	return all
}

var markers = map[string]agent.Custom{"command": {Prompt: agent.Argument, Markers: agent.Markers{
	Waiting: `question: (.*)`, RateLimit: `limit.*until (?P<reset>.*)`, Done: `^done$`, Failed: `^\[API Error`,
}}}

func FuzzClaude(f *testing.F) {
	fuzz(f, "claude", "claude", []agent.Policy{agent.Ask, agent.Deny, agent.Allow}, nil)
}

func FuzzCodex(f *testing.F)       { fuzz(f, "codex", "codex", []agent.Policy{agent.Deny}, nil) }
func FuzzCodexServer(f *testing.F) { fuzz(f, "codex", "server", []agent.Policy{agent.Ask}, nil) }
func FuzzGemini(f *testing.F)      { fuzz(f, "gemini", "gemini", []agent.Policy{agent.Ask}, nil) }
func FuzzOpencode(f *testing.F)    { fuzz(f, "opencode", "opencode", []agent.Policy{agent.Ask}, nil) }

func FuzzCommand(f *testing.F) {
	fuzz(f, "command", "opencode", []agent.Policy{agent.Ask, agent.Deny}, markers)
}

func TestAResultWithWrongTypesIsNotASuccess(t *testing.T) {
	for _, c := range []struct {
		name, line string
		policy     agent.Policy
	}{
		{"claude", `{"type":"result","subtype":"success","is_error":"false","result":"Done."}`, agent.Ask},
		{"claude", `{"type":"result","subtype":"success","is_error":null,"result":"Done."}`, agent.Ask},
		{"claude", `{"type":"result","subtype":"success","is_error":false,"result":"Do`, agent.Ask},
		{"claude", `noise {"type":"result","subtype":"success","is_error":false,"result":"Done."}`, agent.Ask},
		{"codex", `{"type":"turn.completed","usage":{"input_tokens":1`, agent.Deny},
		{"codex", `{"method":"turn/completed","params":{"turn":{"status":7}}}`, agent.Ask},
		{"gemini", `{"type":"result","status":true}`, agent.Ask},
		{"opencode", `{"type":"step_finish","part":{"reason":null}}`, agent.Ask},
	} {
		if _, v := readLines(t, c.name, agent.Request{Policy: c.policy}, agent.Exit{}, c.line); v.Class != failure.Crashed {
			t.Errorf("%s: %s: verdict %+v", c.name, c.line, v)
		}
	}
}
