package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurnsAreFoundInTheLogsOfEachProgram(t *testing.T) {
	for name, c := range map[string]struct {
		log  []string
		want []Turn
		can  Copies
	}{
		"claude": {
			[]string{
				`{"type":"system","subtype":"init","session_id":"s"}`,
				`{"type":"user","message":{"role":"user","content":"first"},"session_id":"s","uuid":"u1","timestamp":"2026-11-18T07:00:00Z","isReplay":true}`,
				`{"type":"assistant","message":{"content":[{"type":"text","text":"one"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"a1"}`,
				`{"type":"assistant","message":{"content":[{"type":"text","text":"of a sub-agent"}]},"parent_tool_use_id":"x","session_id":"s","uuid":"sub"}`,
				`{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"r1"}`,
				`{"type":"user","message":{"role":"user","content":"second"},"session_id":"s","uuid":"u2","timestamp":"2026-11-18T07:00:01Z","isReplay":true}`,
				`{"type":"assistant","message":{"content":[{"type":"text","text":"two"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"a2"}`,
				`{"type":"result","subtype":"success","is_error":false,"result":"two","session_id":"s","uuid":"z"}`,
			},
			[]Turn{{"first", "sub-agent: of a sub-agent", "r1"}, {"second", "two", "a2"}},
			CopiesParts,
		},
		"codex exec": {
			[]string{`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.started"}`, `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done"}}`, `{"type":"turn.completed","usage":{}}`},
			[]Turn{{"", "done", ""}},
			CopiesWhole,
		},
		"codex app-server": {
			[]string{
				`{"id":1,"result":{"userAgent":"x"}}`, `{"id":2,"result":{"thread":{"id":"t"}}}`,
				`{"method":"turn/started","params":{"threadId":"other","turn":{"id":"no"}}}`,
				`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"n1"}}}`,
				`{"method":"item/started","params":{"threadId":"t","item":{"type":"userMessage","id":"i","content":[{"type":"text","text":"first"}]}}}`,
				`{"method":"item/completed","params":{"threadId":"t","item":{"type":"agentMessage","id":"m","text":"one"}}}`,
				`{"method":"item/started","params":{"threadId":"t","item":{"type":"userMessage","id":"j","clientId":"c","content":[{"type":"text","text":"meanwhile"}]}}}`,
				`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"n2"}}}`,
			},
			[]Turn{{"first", "one", "n1"}, {"", "", "n2"}},
			CopiesParts,
		},
		"plain text": {[]string{"hello", "{not json"}, []Turn{{}}, CopiesNone},
		"nothing":    {nil, nil, CopiesNone},
	} {
		got, can := Turns([]byte(strings.Join(c.log, "\n")))
		if diff := cmp.Diff(c.want, got); diff != "" || can != c.can {
			t.Errorf("%s: can copy %d, want %d (-want +got)\n%s", name, can, c.can, diff)
		}
	}
}

func TestALaunchCopiesAConversation(t *testing.T) {
	all := map[string]Agent{"claude": claude{setup{argv: []string{"claude"}}}, "codex": codex{setup{argv: []string{"codex"}}}}
	launch := func(name string, r Request) string {
		l, err := all[name].Launch(r)
		if err != nil {
			return err.Error()
		}
		return strings.Join(l.Argv, " ") + " " + string(l.Input)
	}
	fork := func(point string) Request {
		return Request{Prompt: "go on", Thread: "new", Begin: true, Fork: &Fork{Thread: "old", Point: point, File: "/c/old.jsonl", Dir: "/w/tree"}}
	}
	quiet := fork("p")
	quiet.Policy = Deny
	whole := fork("")
	whole.Policy = Deny
	for _, c := range []struct{ got, want string }{
		{launch("claude", fork("")), "--resume /c/old.jsonl --fork-session --session-id new"},
		{launch("claude", fork("p")), "--session-id new --resume-session-at p"},
		{launch("codex", fork("")), `{"cwd":"/w/tree","excludeTurns":true,"threadId":"old"}`},
		{launch("codex", fork("p")), `{"cwd":"/w/tree","excludeTurns":true,"lastTurnId":"p","threadId":"old"}`},
		{launch("codex", whole), " fork old - go on"},
		{launch("codex", quiet), "copies only whole conversations"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
}
