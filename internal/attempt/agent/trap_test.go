package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

// readLines passes the lines to a new reader of the named agent. It returns all signals and the
// verdict.
func readLines(t *testing.T, name string, r agent.Request, exit agent.Exit, lines ...string) ([]agent.Signal, agent.Verdict) {
	t.Helper()
	rec := recording{agent: name, request: r, exit: exit}
	for _, line := range lines {
		rec.lines = append(rec.lines, []byte(line))
	}
	return rec.read(t)
}

func launch(t *testing.T, name string, r agent.Request) agent.Launch {
	t.Helper()
	a, err := agent.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch(r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTrapA_AReportedSuccessAfterADenialIsNotASuccess(t *testing.T) {
	_, v := readLines(t, "claude", agent.Request{Policy: agent.Allow}, agent.Exit{Code: 0},
		`{"type":"result","subtype":"success","is_error":false,"result":"All done.","permission_denials":[{"tool_name":"Bash","tool_input":{"command":"make"}}]}`)
	if v.Class != failure.Denied || !slices.Equal(v.Denied, []string{"Bash: make"}) {
		t.Errorf("verdict %+v", v)
	}
}

// A result lists all denied requests with their whole input, so it can be longer than MaxLine.
func TestAResultThatIsTooLongIsAFinalMessage(t *testing.T) {
	const success, failed = `{"type":"result","subtype":"success","is_error":false`, `{"type":"result","subtype":"success","is_error":true,"api_error_status":429`
	content := strings.Repeat("a", 40<<10)
	denial := `{"tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"/x","content":"` + content + `"}}`
	many := strings.TrimSuffix(strings.Repeat(denial+",", 30), ",")
	long := strings.Repeat("a", agent.MaxLine)
	for name, c := range map[string]struct {
		line string
		want failure.Class
	}{
		"much was denied":              {success + `,"result":"Done.","total_cost_usd":0.5,"permission_denials":[` + many + `]}`, failure.Denied},
		"one long input was denied":    {success + `,"result":"Done.","total_cost_usd":0.5,"permission_denials":[{"tool_name":"Write","tool_input":{"content":"` + long, failure.Denied},
		"nothing was denied":           {success + `,"result":"Done.","total_cost_usd":0.5,"permission_denials":[],"more":"` + long, failure.None},
		"nobody knows what was denied": {success + `,"total_cost_usd":0.5,"result":"` + long, failure.Crashed},
		"it failed":                    {failed + `,"total_cost_usd":0.5,"result":"` + long, failure.RateLimited},
	} {
		signals, v := readLines(t, "claude", agent.Request{}, agent.Exit{Code: 0}, c.line[:agent.MaxLine])
		if len(signals) != 1 || !signals[0].Ended || signals[0].Usage.USD != 0.5 || v.Class != c.want {
			t.Errorf("%s: %q, verdict %+.200v, want %q", name, shown(signals), v, c.want)
		}
		if v.Class == failure.Denied && !strings.HasPrefix(v.Denied[len(v.Denied)-1], "a tool") {
			t.Errorf("%s: denied %q", name, v.Denied)
		}
	}
}

func TestTrapB_AnAPIErrorWithTheSubtypeSuccessIsAFailure(t *testing.T) {
	_, v := readLines(t, "claude", agent.Request{}, agent.Exit{Code: 1},
		`{"type":"assistant","error":"server_error","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`,
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"result":"API Error: Repeated 529 Overloaded errors."}`)
	if v.Class != failure.APIError {
		t.Errorf("verdict %+v", v)
	}
	_, v = readLines(t, "claude", agent.Request{}, agent.Exit{}, `{"type":"result","subtype":"success","result":"Done"}`)
	if v.Class == failure.None {
		t.Errorf("a result that does not say whether it is an error: %+v", v)
	}
}

func TestTrapC_ASuccessAfterAStopDoesNotCount(t *testing.T) {
	success := map[string]string{
		"claude":   `{"type":"result","subtype":"success","is_error":false,"result":"Done."}`,
		"codex":    `{"type":"turn.completed","usage":{}}`,
		"gemini":   `{"type":"result","status":"success"}`,
		"opencode": `{"type":"step_finish","part":{"reason":"stop"}}`,
		"command":  `Done.`,
	}
	for name, line := range success {
		for told, want := range map[string]failure.Class{
			"timeout":      failure.TimedOut,
			"stalled":      failure.Stalled,
			"cancelled":    failure.Cancelled,
			"budget":       failure.OverBudget,
			"whatever":     failure.Cancelled,
			"":             failure.None,
			agent.Lingered: failure.None,
		} {
			_, v := readLines(t, name, agent.Request{Policy: agent.Deny}, agent.Exit{Code: 0, StopReason: told}, line)
			if v.Class != want {
				t.Errorf("%s told %q: class %q, want %q", name, told, v.Class, want)
			}
		}
	}
}

func TestTrapE_EndlessReconnectingIsNotProgress(t *testing.T) {
	for _, c := range []struct {
		name, line string
		policy     agent.Policy
	}{
		{"codex", `{"type":"error","message":"Reconnecting... 3/5 (stream disconnected before completion)"}`, agent.Deny},
		{"codex", `{"method":"error","params":{"error":{"message":"Reconnecting... 3/5"},"willRetry":true}}`, agent.Ask},
		{"claude", `{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"error_status":529,"error":"overloaded"}`, agent.Ask},
		{"gemini", `Attempt 3 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429}}`, agent.Ask},
	} {
		signals, _ := readLines(t, c.name, agent.Request{Policy: c.policy}, agent.Exit{}, c.line)
		if len(signals) != 1 || signals[0].State != agent.Retrying || signals[0].Progress || signals[0].Ended {
			t.Errorf("%s: %q", c.name, shown(signals))
		}
	}
}

func TestTrapF_StdinOfCodexExecEnds(t *testing.T) {
	for _, policy := range []agent.Policy{agent.Deny, agent.Allow} {
		l := launch(t, "codex", agent.Request{Prompt: "hello", Policy: policy})
		if l.Open || l.Argv[1] != "exec" || l.Argv[len(l.Argv)-1] != "-" || string(l.Input) != "hello" {
			t.Errorf("%s: %+v", policy, l)
		}
	}
}

func TestTrapG_CodexIsStartedWithoutASharedBackgroundServer(t *testing.T) {
	for _, policy := range []agent.Policy{agent.Ask, agent.Deny, agent.Allow} {
		l := launch(t, "codex", agent.Request{Prompt: "hello", Policy: policy})
		if !slices.Contains(l.Argv, "exec") && l.Argv[len(l.Argv)-1] != "app-server" {
			t.Errorf("%s: %q is the interactive program, which needs --no-daemon", policy, l.Argv)
		}
	}
}

// If the user presses Esc, the agent runs no hook. So gaffer reads the state from the agent's
// output: the question is closed, and the state does not stay at waiting.
func TestTrapH_AnInterruptedQuestionIsClosed(t *testing.T) {
	const asked = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"make"}}}`
	waiting := []string{`{"type":"system","subtype":"session_state_changed","state":"requires_action"}`, asked}
	for name, after := range map[string][]string{
		"the request is cancelled": {`{"type":"control_cancel_request","request_id":"r1"}`, `{"type":"system","subtype":"session_state_changed","state":"running"}`},
		"the model goes on":        {`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"interrupted"}]}}`, `{"type":"assistant","message":{"content":[{"type":"text","text":"I stop."}]}}`},
	} {
		signals, v := readLines(t, "claude", agent.Request{Policy: agent.Ask}, agent.Exit{Code: 0}, append(slices.Clone(waiting), after...)...)
		state, closed := agent.State(""), false
		for _, s := range signals {
			if s.State != "" {
				state = s.State
			}
			closed = closed || s.Closed == "r1"
		}
		if state != agent.Running || !closed || v.Class == failure.None {
			t.Errorf("%s: state %q, closed %v, verdict %+v", name, state, closed, v)
		}
	}
}

func TestTrapI_InternalThreadsOfCodexAreIgnored(t *testing.T) {
	lines := []string{
		`{"id":2,"result":{"thread":{"id":"ours"}}}`,
		`{"id":3,"result":{"turn":{"id":"turn-1"}}}`,
		`{"method":"thread/status/changed","params":{"threadId":"title","status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`,
		`{"method":"item/commandExecution/requestApproval","id":9,"params":{"threadId":"title","command":"ls"}}`,
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"title","turnId":"turn-1","tokenUsage":{"total":{"inputTokens":9}}}}`,
		`{"method":"turn/completed","params":{"threadId":"title","turn":{"id":"turn-1","status":"completed","error":null}}}`,
		`{"method":"turn/completed","params":{"threadId":"ours","turn":{"id":"turn-0","status":"completed","error":null}}}`,
	}
	signals, v := readLines(t, "codex", agent.Request{}, agent.Exit{Code: 0}, lines...)
	// Leave out gaffer's denial of the request from the thread "title": it says nothing about the
	// work.
	signals = slices.DeleteFunc(signals, func(s agent.Signal) bool { return show(s) == `reply to 9 {"id":9,"result":{"decision":"decline"}}` })
	if len(signals) != 2 || v.Class != failure.Crashed {
		t.Errorf("%q, verdict %+v", shown(signals), v)
	}
	_, v = readLines(t, "codex", agent.Request{}, agent.Exit{Code: 0}, append(lines,
		`{"method":"turn/completed","params":{"threadId":"ours","turn":{"id":"turn-1","status":"completed","error":null}}}`)...)
	if v.Class != failure.None {
		t.Errorf("verdict %+v", v)
	}
}

func TestTrapJ_UsageCountsOnlyTheAttempt(t *testing.T) {
	t.Run("codex counts the whole conversation", func(t *testing.T) {
		before := agent.Usage{Input: 120, Output: 7, Cached: 50}
		signals, _ := readLines(t, "codex", agent.Request{Policy: agent.Deny, Thread: "t", Used: before}, agent.Exit{},
			`{"type":"turn.completed","usage":{"input_tokens":240,"cached_input_tokens":80,"output_tokens":14}}`)
		if want := (agent.Usage{Input: 120, Output: 7, Cached: 30}); *signals[0].Usage != want {
			t.Errorf("usage %+v, want %+v", *signals[0].Usage, want)
		}
	})
	t.Run("its app server tells where a resumed one was left", func(t *testing.T) {
		signals, _ := load(t, "testdata/server/resume.txt").read(t)
		var last *agent.Usage
		for _, s := range signals {
			if s.Usage != nil {
				last = s.Usage
			}
		}
		if want := (agent.Usage{Input: 120, Output: 7}); last == nil || *last != want {
			t.Errorf("usage %+v, want %+v", last, want)
		}
	})
	t.Run("claude leaves sub-agents out of usage", func(t *testing.T) {
		signals, _ := load(t, "testdata/claude/task.txt").read(t)
		last := signals[len(signals)-1].Usage
		if last.Input != 360 || last.Output != 21 || last.USD < 0.0023 {
			t.Errorf("usage %+v, want that of all models, 360 and 21", *last)
		}
	})
}

func TestASubAgentsOutputIsProgressAndDoesNotChangeTheState(t *testing.T) {
	signals, _ := readLines(t, "claude", agent.Request{}, agent.Exit{},
		`{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"content":[{"type":"tool_use","name":"Grep","input":{"pattern":"TODO"}}]}}`)
	if len(signals) != 1 || !signals[0].Progress || signals[0].State != "" || signals[0].Doing != "sub-agent: Grep: TODO" {
		t.Errorf("%q", shown(signals))
	}
}

func TestTheAgentsOwnTokensAreCountedHoweverManySubAgentsItHas(t *testing.T) {
	var lines []string
	for i := range 1100 {
		lines = append(lines, fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":"toolu_%d","message":{"id":"s%[1]d","usage":{"input_tokens":1}}}`, i))
	}
	lines = append(lines,
		`{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","usage":{"input_tokens":1000}}}`,
		`{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"s1b","usage":{"input_tokens":1000}}}`)
	signals, _ := readLines(t, "claude", agent.Request{}, agent.Exit{}, lines...)
	var last agent.Usage
	for _, s := range signals {
		if s.Usage != nil {
			last = *s.Usage
		}
	}
	if last.Input < 2900 || last.Input > 3100 {
		t.Errorf("%d tokens were counted, want 2,000 and one for each of about a thousand sub-agents", last.Input)
	}
}

func TestAnErrorBeforeFurtherWorkIsNotTheResult(t *testing.T) {
	const (
		ofSubAgent = `{"type":"assistant","parent_tool_use_id":"toolu_1","error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`
		ofAgent    = `{"type":"assistant","parent_tool_use_id":null,"error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`
		goesOn     = `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m2","model":"x","content":[{"type":"text","text":"I go on."}]}}`
		subGoesOn  = `{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"m3","model":"x","content":[{"type":"text","text":"So do I."}]}}`
		maxTurns   = `{"type":"result","subtype":"error_max_turns","is_error":true,"api_error_status":null,"terminal_reason":"max_turns"}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  failure.Class
	}{
		"a sub-agent's":              {[]string{ofSubAgent, maxTurns}, failure.Crashed},
		"its own":                    {[]string{ofAgent, goesOn, maxTurns}, failure.Crashed},
		"the last":                   {[]string{goesOn, ofAgent, maxTurns}, failure.RateLimited},
		"the last but a sub-agent's": {[]string{ofAgent, subGoesOn, maxTurns}, failure.RateLimited},
	} {
		if _, v := readLines(t, "claude", agent.Request{}, agent.Exit{Code: 1}, c.lines...); v.Class != c.want {
			t.Errorf("%s: verdict %+v, want %q", name, v, c.want)
		}
	}
}

func TestARequestThatClaudeWithdrawsIsClosed(t *testing.T) {
	signals, _ := readLines(t, "claude", agent.Request{}, agent.Exit{},
		`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}}`,
		`{"type":"control_cancel_request","request_id":"r1"}`)
	if len(signals) != 2 || signals[0].Ask == nil || signals[1].Closed != "r1" {
		t.Errorf("%q", shown(signals))
	}
}

func TestSeveralQuestionsAtOnceAreAnsweredLineByLine(t *testing.T) {
	signals, _ := readLines(t, "claude", agent.Request{}, agent.Exit{},
		`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"n":12345678901234567,"questions":[{"question":"Colour?","options":[{"label":"Red"},{"label":"Blue"}]},{"question":"Size?"}]}}}`)
	q := signals[0].Ask
	if q == nil || q.Text != "1. Colour? (Red, Blue)\n2. Size?" || q.Options != nil {
		t.Fatalf("%q", shown(signals))
	}
	reply := string(q.Reply(agent.Answer{Text: "Blue\nL"}))
	for _, part := range []string{`"answers":{"Colour?":"Blue","Size?":"L"}`, `"n":12345678901234567`, `"behavior":"allow"`, `"request_id":"r1"`} {
		if !strings.Contains(reply, part) {
			t.Errorf("%s lacks %s", reply, part)
		}
	}
	if reply := string(q.Reply(agent.Answer{Text: "as you like"})); !strings.Contains(reply, `"Colour?":"as you like","Size?":"as you like"`) {
		t.Errorf("%s", reply)
	}
}

func TestARequestOfAnotherThreadIsRefusedAtOnce(t *testing.T) {
	for request, want := range map[string]string{
		`{"method":"item/commandExecution/requestApproval","id":9,"params":{"threadId":"other","command":"ls"}}`:               `{"id":9,"result":{"decision":"decline"}}`,
		`{"method":"mcpServer/elicitation/request","id":9,"params":{"threadId":"other","message":"May I?"}}`:                   `{"id":9,"result":{"action":"decline"}}`,
		`{"method":"item/tool/requestUserInput","id":9,"params":{"threadId":"other","questions":[{"id":"q","question":"?"}]}}`: `{"id":9,"result":{"answers":{}}}`,
		`{"method":"item/tool/call","id":9,"params":{"threadId":"other"}}`:                                                     `{"error":{"code":-32601,"message":"gaffer does not support item/tool/call"},"id":9}`,
	} {
		signals, v := readLines(t, "codex", agent.Request{}, agent.Exit{},
			`{"id":2,"result":{"thread":{"id":"ours"}}}`, `{"id":3,"result":{"turn":{"id":"turn-1"}}}`, request,
			`{"method":"turn/completed","params":{"threadId":"ours","turn":{"id":"turn-1","status":"completed","error":null}}}`)
		if got := shown(signals)[2]; got != "reply to 9 "+want || v.Class != failure.None {
			t.Errorf("%s: %q, want %q; verdict %+v", request, got, want, v)
		}
	}
}

func TestAnUnknownRequestOfTheAppServerIsRefusedAtOnce(t *testing.T) {
	signals, _ := readLines(t, "codex", agent.Request{}, agent.Exit{},
		`{"id":2,"result":{"thread":{"id":"ours"}}}`,
		`{"method":"attestation/generate","id":4,"params":{}}`)
	if last := signals[len(signals)-1]; last.Ask != nil || last.ReplyTo != "4" || !strings.Contains(string(last.Reply), `"id":4`) || !strings.Contains(string(last.Reply), `"error"`) {
		t.Errorf("%q", shown(signals))
	}
}
