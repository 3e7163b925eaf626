package hookevents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/statefile/jsontree"
)

var noon = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

// event parses the JSON of an event in the same way as a hook does.
func event(t *testing.T, program, text string) Event {
	t.Helper()
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ParseEvent(program, doc.Value())
}

// step is an event without the fields that all events have, and the session's status after it.
type step struct {
	event string // name of the event, and the remaining members of its JSON object
	want  Status
}

// play applies events one second apart. It returns the final session and all actions.
func play(t *testing.T, program string, steps ...step) (s Session, deeds []Action) {
	t.Helper()
	now := noon
	for i, st := range steps {
		name, rest, _ := strings.Cut(st.event, " ")
		text := fmt.Sprintf(`{"hook_event_name": %q, "session_id": "s", "cwd": "/src/web"%s}`, name, rest)
		now = now.Add(time.Second)
		s, deeds = Apply(s, event(t, program, text), now)
		if s.Status != st.want {
			t.Fatalf("%d. %s: %q, want %q", i+1, st.event, s.Status, st.want)
		}
	}
	return s, deeds
}

const bash = ` , "tool_name": "Bash", "tool_input": {"command": "make"}`

func TestATurnOfEachProgramIsFollowed(t *testing.T) {
	for program, story := range map[string][]step{
		agentproc.Claude: {
			{`SessionStart , "source": "startup"`, Idle},
			{`UserPromptSubmit , "prompt": "hi"`, Running},
			{"PreToolUse" + bash, Running},
			{"PermissionRequest" + bash, Waiting},
			{`Notification , "notification_type": "permission_prompt"`, Waiting},
			{"PostToolUse" + bash, Running},
			{`Stop , "background_tasks": []`, Idle},
			{`Notification , "notification_type": "idle_prompt"`, Idle},
			{`SessionEnd , "reason": "prompt_input_exit"`, Idle},
		},
		agentproc.Codex: {
			{`SessionStart , "source": "startup"`, Idle},
			{"UserPromptSubmit", Running},
			{"PreToolUse" + bash, Running},
			{"PermissionRequest" + bash, Waiting},
			{"PostToolUse" + bash, Running},
			{"Stop", Idle},
			{"UserPromptSubmit", Running},
			{"Interrupt", Idle},
			{`SessionEnd , "reason": "other"`, Idle},
		},
		agentproc.Gemini: {
			{"SessionStart", Idle},
			{"BeforeAgent", Running},
			{"PreCompress", Running},
			{"BeforeTool" + bash, Running},
			{`Notification , "notification_type": "ToolPermission", "message": "Allow?"`, Waiting},
			{"AfterTool" + bash, Running},
			{"AfterAgent", Idle},
		},
	} {
		t.Run(program, func(t *testing.T) { play(t, program, story...) })
	}
}

func TestEventsOfASubagentDoNotChangeTheMainAgent(t *testing.T) {
	const helper = `, "agent_id": "a1", "agent_type": "general-purpose"`
	s, _ := play(t, agentproc.Claude,
		step{"UserPromptSubmit", Running}, step{"SubagentStart " + helper, Running}, step{"SubagentStop " + helper, Running},
		step{"PermissionRequest" + bash, Waiting}, step{"PreToolUse" + bash + helper, Waiting}, step{"PostToolUse" + bash + helper, Waiting},
		step{"SubagentStop " + helper, Waiting}, step{"PostToolUse" + bash, Running}, step{"Stop", Idle},
		step{"SubagentStop " + helper, Idle},
	)
	if s.Error != "" || s.WaitsFor() != "" {
		t.Errorf("%+v", s)
	}
}

func TestASessionWithBackgroundAgentsStaysRunning(t *testing.T) {
	const tasks = ` , "background_tasks": [{"id": "a1", "type": "subagent", "status": "running"}, {"id": "b", "type": "shell"}]`
	play(t, agentproc.Claude,
		step{"UserPromptSubmit", Running}, step{"Stop" + tasks, Running}, step{`Notification , "notification_type": "idle_prompt"`, Running},
		step{`SubagentStop , "agent_id": "a1"`, Idle}, step{"UserPromptSubmit", Running}, step{`Stop , "background_tasks": [{"type": "shell"}]`, Idle},
	)
}

func TestABackgroundServerDoesNotMeanThatTheAgentRuns(t *testing.T) {
	play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{`Stop , "background_tasks": [{"type": "shell", "status": "running"}]`, Idle})
}

func TestACompactingSessionIsRunning(t *testing.T) {
	_, deeds := play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{`PreCompact , "trigger": "auto"`, Running})
	if len(deeds) != 1 || deeds[0] != (Action{NotifyContext, "auto"}) {
		t.Errorf("%v", deeds)
	}
	play(t, agentproc.Claude,
		step{"UserPromptSubmit", Running}, step{`PreCompact , "trigger": "auto"`, Running}, step{`SessionStart , "source": "compact"`, Running},
		step{`PostCompact , "trigger": "auto"`, Running}, step{"Stop", Idle},
		step{`PreCompact , "trigger": "manual"`, Running}, step{`SubagentStop , "agent_id": "x"`, Running},
		step{`SessionStart , "source": "compact"`, Idle}, step{`PostCompact , "trigger": "manual"`, Idle},
	)
}

func TestAFailedTurnHasAnErrorUntilTheNextTurn(t *testing.T) {
	s, _ := play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{`StopFailure , "error": "rate_limit", "last_assistant_message": "API Error: 429"`, Idle})
	if s.Error != "rate_limit: API Error: 429" {
		t.Errorf("%q", s.Error)
	}
	s, _ = play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{`StopFailure , "error": "rate_limit"`, Idle}, step{"UserPromptSubmit", Running})
	if s.Error != "" {
		t.Errorf("%q", s.Error)
	}
}

func TestAToolThatTheUserInterruptsEndsTheTurn(t *testing.T) {
	play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{"PostToolUseFailure" + bash + `, "is_interrupt": true`, Idle})
	play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{"PostToolUseFailure" + bash + `, "is_interrupt": false`, Running})
}

func TestARefusedRequestIsClosedWhenTheAgentContinues(t *testing.T) {
	play(t, agentproc.Claude,
		step{"UserPromptSubmit", Running}, step{"PermissionRequest" + bash, Waiting},
		step{`PreToolUse , "tool_name": "Read", "tool_input": {}`, Running},
	)
}

func TestAQuestionIsWithdrawnWhenItsRequestIsClosed(t *testing.T) {
	s, _ := play(t, agentproc.Codex, step{"UserPromptSubmit", Running}, step{"PermissionRequest" + bash, Waiting})
	s = s.Link("", "q1")
	if _, deeds := Apply(s, Event{Name: "Notification", Session: "s"}, noon); deeds != nil {
		t.Errorf("%v", deeds)
	}
	for _, name := range []string{"Interrupt", "Stop", "UserPromptSubmit", "SessionEnd", "PreToolUse"} {
		after, deeds := Apply(s, Event{Name: name, Session: "s"}, noon)
		if len(deeds) != 1 || deeds[0] != (Action{Withdraw, "q1"}) || after.open() != nil {
			t.Errorf("%s: %v", name, deeds)
		}
		if _, deeds := Apply(s.Link("q1", ""), Event{Name: name, Session: "s"}, noon); deeds != nil {
			t.Errorf("%s, when it was answered: %v", name, deeds)
		}
	}
}

func TestAStartOfCodexThatComesLateChangesNothing(t *testing.T) {
	play(t, agentproc.Codex, step{"UserPromptSubmit", Running}, step{`SessionStart , "source": "startup"`, Running}, step{`SessionStart , "source": "resume"`, Idle})
	play(t, agentproc.Claude, step{"UserPromptSubmit", Running}, step{`SessionStart , "source": "resume"`, Idle})
}

func TestANotificationOfAnUnknownThreadIsIgnored(t *testing.T) {
	notify := event(t, agentproc.Codex, `{"type": "agent-turn-complete", "thread-id": "s", "input-messages": ["Generate a title"]}`)
	if s, deeds := Apply(Session{}, notify, noon); s.known() || deeds != nil {
		t.Errorf("%+v, %v", s, deeds)
	}
	known, _ := play(t, agentproc.Codex, step{"UserPromptSubmit", Running})
	if s, _ := Apply(known, notify, noon); s.Status != Idle {
		t.Errorf("%+v", s)
	}
}

func TestAnUnknownEventChangesNothing(t *testing.T) {
	before, _ := play(t, agentproc.Claude, step{"UserPromptSubmit", Running})
	for _, text := range []string{
		`{"hook_event_name": "PreCompress", "session_id": "s"}`, `{"hook_event_name": "Stop"}`, `{"session_id": "s"}`, `{}`, `[]`, `7`,
		`{"hook_event_name": ["Stop"], "session_id": "s"}`, `{"hook_event_name": "Stop", "session_id": {}}`,
	} {
		after, deeds := Apply(before, event(t, agentproc.Claude, text), noon.Add(time.Hour))
		if encode(t, after) != encode(t, before) || deeds != nil {
			t.Errorf("%s: %+v, %v", text, after, deeds)
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestThreeEqualCallsInARowAreALoop(t *testing.T) {
	s := Session{}
	told := []string{}
	call := func(text string) {
		var deeds []Action
		s, deeds = Apply(s, event(t, agentproc.Claude, text), noon)
		for _, d := range deeds {
			if d.Kind == NotifyLoop {
				told = append(told, d.Text)
			}
		}
	}
	post := func(name, command, more string) {
		call(fmt.Sprintf(`{"hook_event_name": %q, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": %q}%s}`, name, command, more))
	}
	for range 2 {
		post("PostToolUse", "make", "")
	}
	post("PostToolUse", "make test", "") // another input starts a new count
	for i := range 7 {
		post("PostToolUse", "make", "")
		post("PostToolUse", "other"+fmt.Sprint(i), `, "agent_id": "a"`) // calls of another agent do not interrupt the count
	}
	want := []string{"Bash (make) was called 3 times in a row with the same input", "Bash (make) was called 6 times in a row with the same input"}
	if encode(t, told) != encode(t, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	call(`{"hook_event_name": "UserPromptSubmit", "session_id": "s"}`)
	if s.Loop != "" || len(s.Repeats) > 0 {
		t.Errorf("after a prompt: %+v", s)
	}
	told = nil
	for i := range 3 {
		post("PostToolUseFailure", "try "+fmt.Sprint(i), "")
	}
	if len(told) != 1 || told[0] != "Bash failed 3 times in a row" {
		t.Errorf("told %q", told)
	}
}

func TestAllSessionsOfAProcessAreOneWorker(t *testing.T) {
	a := Session{Program: agentproc.Claude, Session: "one"}
	a.Process.PID, a.Process.Start, a.Process.Boot = 42, 7, "boot"
	b := a
	b.Session = "two"
	if a.ID() != b.ID() || a.Worker() != "claude-42" {
		t.Errorf("%s %s %s", a.ID(), b.ID(), a.Worker())
	}
	c := a
	c.Process.Start = 8
	if c.ID() == a.ID() {
		t.Error("the same pid of another process is the same worker")
	}
	for _, session := range []string{"", "/../x", "0123456789", "é"} {
		s := Session{Program: agentproc.Codex, Session: session}
		if name := s.Worker(); !IsFileNameSafe(name) || s.ID() == a.ID() {
			t.Errorf("%q is called %q", session, name)
		}
	}
}

func FuzzEventsLeaveAConsistentSession(f *testing.F) {
	f.Add("claude", `{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"x"}}`)
	f.Add("codex", `{"hook_event_name":"Stop","session_id":"s","background_tasks":[{"type":"subagent"}]}`)
	f.Add("gemini", `{"hook_event_name":"Notification","session_id":"s","notification_type":"ToolPermission"}`)
	f.Fuzz(func(t *testing.T, program, text string) {
		doc, err := jsontree.Parse([]byte(text))
		if err != nil {
			return
		}
		e := ParseEvent(program, doc.Value())
		s := Session{}
		for range 20 {
			s, _ = Apply(s, e, noon)
		}
		if len(encode(t, s)) > maxDoc && len(text) < 1<<10 {
			t.Errorf("%d bytes", len(encode(t, s)))
		}
		if s.known() && (s.Status == Waiting) != (len(s.Asked) > 0) {
			t.Errorf("%+v", s)
		}
	})
}

func TestASessionSaysItsLastToolCallAndThenItsLastMessage(t *testing.T) {
	for _, c := range []struct {
		steps []step
		want  string
	}{
		{[]step{{`UserPromptSubmit , "prompt": "hi"`, Running}}, ""},
		{[]step{{"PreToolUse" + bash, Running}}, "Bash: make"},
		{[]step{{"PreToolUse" + bash, Running}, {"PostToolUse" + bash, Running}}, "Bash: make"},
		{[]step{{`PreToolUse , "tool_name": "Plan"`, Running}}, "Plan"},
		{[]step{{"PreToolUse" + bash, Running}, {`Stop , "last_assistant_message": "All is\nbuilt."`, Idle}}, "All is built."},
		{[]step{{"PreToolUse" + bash, Running}, {`Stop `, Idle}, {`UserPromptSubmit , "prompt": "again"`, Running}}, ""},
	} {
		if s, _ := play(t, agentproc.Claude, c.steps...); s.Doing != c.want {
			t.Errorf("after %v: %q, want %q", c.steps, s.Doing, c.want)
		}
	}
}
