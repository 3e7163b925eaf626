package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/attempt/agent"
)

// argsAfter returns the arguments that follow a flag, up to the next flag.
func argsAfter(argv []string, flag string) (values []string) {
	at := slices.Index(argv, flag)
	if at < 0 {
		return nil
	}
	for _, a := range argv[at+1:] {
		if strings.HasPrefix(a, "-") {
			break
		}
		values = append(values, a)
	}
	return values
}

func TestClaudeGetsTheRulesThatItCanEnforceItself(t *testing.T) {
	for _, c := range []struct {
		name        string
		request     agent.Request
		allow, deny []string
	}{
		{"none", agent.Request{}, nil, nil},
		{
			"allow and deny",
			agent.Request{Permissions: agent.Permissions{Allow: []string{"Bash(go test:*)", "Edit(src/**)"}, Deny: []string{"Bash(rm:*)"}}},
			[]string{"Bash(go test:*)", "Edit(src/**)"},
			[]string{"Bash(rm:*)"},
		},
		{
			"a rule that asks about the same tool",
			agent.Request{Policy: agent.Rules, Permissions: agent.Permissions{Allow: []string{"Bash(git:*)", "WebFetch"}, Ask: []string{"Bash(git push:*)"}}},
			[]string{"WebFetch"},
			nil,
		},
		{
			"a deny rule that cannot be an argument",
			agent.Request{Permissions: agent.Permissions{Allow: []string{"Bash(echo:*)", "WebFetch"}, Deny: []string{"Bash(echo (x))"}}},
			[]string{"WebFetch"},
			nil,
		},
		{"a question is answered by nobody", agent.Request{Permissions: agent.Permissions{Allow: []string{"AskUserQuestion"}}}, nil, nil},
		{"everything is denied", agent.Request{Policy: agent.Deny, Permissions: agent.Permissions{Allow: []string{"Bash"}}}, nil, nil},
		{"everything is allowed", agent.Request{Policy: agent.Allow, Permissions: agent.Permissions{Deny: []string{"Bash(rm:*)"}}}, nil, []string{"Bash(rm:*)"}},
	} {
		launch, err := adapter(t, "claude").Launch(c.request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.allow, argsAfter(launch.Argv, "--allowedTools")); diff != "" {
			t.Errorf("%s: allowed (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.deny, argsAfter(launch.Argv, "--disallowedTools")); diff != "" {
			t.Errorf("%s: disallowed (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRequestsArePassedOnIfRulesOrTheUserDecideThem(t *testing.T) {
	restricting := agent.Permissions{Deny: []string{"Bash(rm:*)"}}
	request := `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"ls"}}}`
	for _, c := range []struct {
		request agent.Request
		passed  bool
	}{
		{agent.Request{}, true},
		{agent.Request{Policy: agent.Ask}, true},
		{agent.Request{Policy: agent.Rules}, true},
		{agent.Request{Policy: agent.Allow}, false},
		{agent.Request{Policy: agent.Allow, Permissions: agent.Permissions{Allow: []string{"Bash"}}}, false},
		{agent.Request{Policy: agent.Allow, Permissions: restricting}, true},
		{agent.Request{Policy: agent.Deny, Permissions: restricting}, false},
	} {
		signals, _ := readLines(t, "claude", c.request, agent.Exit{}, request)
		if len(signals) != 1 || (signals[0].Ask != nil) != c.passed {
			t.Errorf("%+v: %q", c.request, shown(signals))
		}
		launch, err := adapter(t, "codex").Launch(c.request)
		if err != nil || slices.Contains(launch.Argv, "app-server") != c.passed {
			t.Errorf("%+v: codex is started as %q, %v", c.request, launch.Argv, err)
		}
	}
}

func TestProgramsThatCannotAskAreNotAllowedEverythingIfARuleForbidsSomething(t *testing.T) {
	for name, flag := range map[string]string{"gemini": "yolo", "opencode": "--auto"} {
		for _, deny := range [][]string{nil, {"Bash(rm:*)"}} {
			launch, err := adapter(t, name).Launch(agent.Request{Policy: agent.Allow, Permissions: agent.Permissions{Deny: deny}})
			if err != nil || slices.Contains(launch.Argv, flag) != (deny == nil) {
				t.Errorf("%s, deny %q: %q, %v", name, deny, launch.Argv, err)
			}
		}
	}
}

// claudeRequest is a request with all kinds of suggestions, as Claude Code writes it.
const claudeRequest = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Write","tool_use_id":"t1",` +
	`"input":{"file_path":"/srv/a.go","content":"x"},"permission_suggestions":[` +
	`{"type":"addRules","rules":[{"toolName":"Edit","ruleContent":"/a.go"},{"toolName":"Write"}],"behavior":"allow","destination":"localSettings"},` +
	`{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"setMode","mode":"bypassPermissions","destination":"session"},` +
	`{"type":"addDirectories","directories":["/srv/data"],"destination":"localSettings"},{"type":"future"},7]}}`

func claudeQuestion(t *testing.T, r agent.Request) agent.Question {
	t.Helper()
	signals, _ := readLines(t, "claude", r, agent.Exit{}, claudeRequest)
	if len(signals) != 1 || signals[0].Ask == nil {
		t.Fatalf("%q", shown(signals))
	}
	return *signals[0].Ask
}

func TestSuggestionsOfClaudeBecomeRules(t *testing.T) {
	q := claudeQuestion(t, agent.Request{})
	if q.Tool != "Write" || !json.Valid(q.Input) || !strings.Contains(string(q.Input), `"content":"x"`) {
		t.Errorf("the call is %s %s", q.Tool, q.Input)
	}
	if diff := cmp.Diff([]string{"Edit(/a.go)", "Write", "Edit(**)", "Edit(//srv/data/**)"}, q.Suggestions); diff != "" {
		t.Error(diff)
	}
}

func TestClaudeRemembersARuleForItsSessionAndWritesNoFile(t *testing.T) {
	for rule, want := range map[string]string{
		"":                    ``,
		"Write":               `[{"behavior":"allow","destination":"session","rules":[{"toolName":"Write"}],"type":"addRules"}]`,
		"Edit(**)":            `[{"destination":"session","mode":"acceptEdits","type":"setMode"}]`,
		"Edit(//srv/data/**)": `[{"destination":"session","directories":["/srv/data"],"type":"addDirectories"}]`,
		"Edit(src/**)":        `[{"behavior":"allow","destination":"session","rules":[{"toolName":"Edit","ruleContent":"src/**"}],"type":"addRules"}]`,
	} {
		var reply struct {
			Response struct {
				Response struct {
					Behavior    string
					Input       json.RawMessage `json:"updatedInput"`
					Permissions json.RawMessage `json:"updatedPermissions"`
				}
			}
		}
		text := claudeQuestion(t, agent.Request{}).Reply(agent.Answer{Text: "allow", Rule: rule})
		if err := json.Unmarshal(text, &reply); err != nil {
			t.Fatal(err)
		}
		r := reply.Response.Response
		if r.Behavior != "allow" || string(r.Permissions) != want || len(r.Input) == 0 {
			t.Errorf("%q: %s", rule, text)
		}
	}
	asking := agent.Request{Permissions: agent.Permissions{Ask: []string{"Edit(src/secret/**)"}}}
	if text := claudeQuestion(t, asking).Reply(agent.Answer{Text: "allow", Rule: "Edit(src/**)"}); strings.Contains(string(text), "updatedPermissions") {
		t.Errorf("the program would no longer ask for what the user wants to be asked about: %s", text)
	}
	if text := claudeQuestion(t, agent.Request{}).Reply(agent.Answer{Text: "no", Deny: true, Rule: "Write"}); strings.Contains(string(text), "updatedPermissions") {
		t.Errorf("a denial: %s", text)
	}
}

// codexQuestion returns the question that the user gets when Codex's app server sends a request.
func codexQuestion(t *testing.T, method, params string, before ...string) agent.Question {
	t.Helper()
	lines := append([]string{`{"id":2,"result":{"thread":{"id":"ours"}}}`, `{"id":3,"result":{"turn":{"id":"turn-1"}}}`}, before...)
	signals, _ := readLines(t, "codex", agent.Request{}, agent.Exit{}, append(lines, `{"id":9,"method":"`+method+`","params":`+params+`}`)...)
	last := signals[len(signals)-1]
	if last.Ask == nil {
		t.Fatalf("%q", shown(signals))
	}
	return *last.Ask
}

func TestApprovalsOfCodexAreCallsOfTheSameToolsAsThoseOfClaude(t *testing.T) {
	change := `{"method":"item/started","params":{"threadId":"ours","item":{"type":"fileChange","id":"i1","status":"inProgress","changes":[{"path":"/srv/a"},{"path":"/srv/b"}]}}}`
	for _, c := range []struct{ method, params, tool, input string }{
		{"item/commandExecution/requestApproval", `{"threadId":"ours","command":"/bin/bash -lc 'go test ./x && echo '\\''a'\\'''","cwd":"/srv"}`, "Bash", `{"command":"go test ./x && echo 'a'","cwd":"/srv"}`},
		{"item/commandExecution/requestApproval", `{"threadId":"ours","command":"./bash -lc ls"}`, "Bash", `{"command":"./bash -lc ls","cwd":""}`},
		{"item/fileChange/requestApproval", `{"threadId":"ours","itemId":"i1"}`, "Edit", `{"paths":["/srv/a","/srv/b"]}`},
		{"item/fileChange/requestApproval", `{"threadId":"ours","itemId":"other"}`, "Edit", `{"paths":[""]}`},
	} {
		q := codexQuestion(t, c.method, c.params, change)
		if got := strings.TrimSpace(string(q.Input)); q.Tool != c.tool || got != c.input {
			t.Errorf("%s: %s %s, want %s %s", c.params, q.Tool, got, c.tool, c.input)
		}
		for answer, want := range map[agent.Answer]string{
			{Text: "allow"}: "accept", {Text: "allow", Rule: "Bash(go test:*)"}: "acceptForSession", {Text: "no", Deny: true, Rule: "Bash"}: "decline",
		} {
			if text := string(q.Reply(answer)); !strings.Contains(text, `"decision":"`+want+`"`) {
				t.Errorf("%+v: %s", answer, text)
			}
		}
	}
}

func TestCodexStaysInItsSandboxIfARuleForbidsSomething(t *testing.T) {
	for mode, r := range map[string]agent.Request{
		"danger-full-access": {Policy: agent.Allow, Permissions: agent.Permissions{Allow: []string{"Bash"}}},
		"workspace-write":    {Policy: agent.Allow, Permissions: agent.Permissions{Deny: []string{"Bash(rm:*)"}}},
	} {
		launch, err := adapter(t, "codex").Launch(r)
		if err != nil || !slices.Contains(launch.Argv, `sandbox_mode="`+mode+`"`) {
			t.Errorf("%+v: %q, %v", r, launch.Argv, err)
		}
	}
}

func adapter(t *testing.T, name string) agent.Agent {
	t.Helper()
	a, err := agent.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
