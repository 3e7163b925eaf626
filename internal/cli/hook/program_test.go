package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

// fixture is a user's machine with a project and gaffer's state folder.
type fixture struct {
	*testing.T
	root, state string
	vars        map[string]string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := &fixture{T: t, root: newProject(t), state: t.TempDir()}
	d.vars = map[string]string{"XDG_STATE_HOME": d.state, "XDG_CONFIG_HOME": d.state}
	return d
}

func (d *fixture) env(in string, out, talk *bytes.Buffer) *env.Env {
	getenv := func(name string) string { return d.vars[name] }
	return &env.Env{In: strings.NewReader(in), Out: out, Err: talk, Getenv: getenv, Dir: "/", Now: time.Now}
}

// event returns the JSON of an event. members are further members of the object.
func (d *fixture) event(session, name, members string) string {
	return fmt.Sprintf(`{"hook_event_name": %q, "session_id": %q, "cwd": %q%s}`, name, session, d.root, members)
}

// hook calls a hook as an agent program does. It fails the test if the hook fails.
func (d *fixture) hook(program, event string, args ...string) (out, talk string) {
	d.Helper()
	var o, t bytes.Buffer
	if code, ok := Main(d.env(event, &o, &t), append([]string{program}, args...)); code != 0 || !ok {
		d.Errorf("%s: %d, %v", event, code, ok)
	}
	return o.String(), t.String()
}

// send calls a hook and fails the test if the hook prints anything.
func (d *fixture) send(program, session, name, rest string) {
	d.Helper()
	if out, talk := d.hook(program, d.event(session, name, rest)); out != "" || talk != "" {
		d.Errorf("%s: printed %q, said %q", name, out, talk)
	}
}

func (d *fixture) session(program, session string) hookevents.Session {
	return hookevents.NewFolder(filepath.Join(d.state, "gaffer")).Load(program, session)
}

// feed returns the events in the activity feed, each as "kind | chunk | summary".
func (d *fixture) feed() (all []string) {
	d.Helper()
	s, err := workflow.Open(filepath.Join(d.root, ".fctry"), workflow.Options{}).State()
	if err != nil {
		d.Fatal(err)
	}
	for _, e := range workflow.Events(s.BuildEvents) {
		all = append(all, strings.Join([]string{e.Kind, e.Chunk, e.Summary}, " | "))
	}
	return all
}

const bash = `, "tool_name": "Bash", "tool_input": {"command": "make"}`

func TestWhatAnAgentDoesIsNoted(t *testing.T) {
	d := newFixture(t)
	for _, program := range agentproc.Programs() {
		d.send(program, "s", "SessionStart", "")
		d.send(program, "s", "PermissionRequest", bash)
		got := d.session(program, "s")
		if got.Status != hookevents.Waiting || got.WaitsFor() != "Bash: make" || got.Dir != d.root || got.Attempt != "" {
			t.Errorf("%s: %+v", program, got)
		}
	}
	d.vars["GAFFER_ATTEMPT"] = "a1"
	d.send("claude", "s", "Stop", "")
	if got := d.session("claude", "s"); got.Status != hookevents.Idle || got.Attempt != "a1" {
		t.Errorf("%+v", got)
	}
}

func TestCodexNotifiesByAWord(t *testing.T) {
	d := newFixture(t)
	const word = `{"type": "agent-turn-complete", "thread-id": "s"}`
	d.hook("codex", "", word)
	if got := d.session("codex", "s"); got.Status != "" {
		t.Errorf("an unknown thread: %+v", got)
	}
	d.send("codex", "s", "UserPromptSubmit", "")
	d.hook("codex", "", word)
	if got := d.session("codex", "s"); got.Status != hookevents.Idle {
		t.Errorf("%+v", got)
	}
}

func TestTheStartOfASessionDeletesNothing(t *testing.T) {
	d := newFixture(t)
	state := `{"currentCommand": "execute", "completedSteps": ["state-owner-scan"], "untrackedChanges": [{"file": "a"}], "x": 1.50,
  "buildRun": {"runId": "r", "status": "running", "chunks": [{"id": 1, "name": "One", "status": "completed"}, {"id": 2, "name": "Two", "status": "active"}]}}`
	put(t, d.root, ".fctry/state.json", state)
	for _, source := range []string{"startup", "resume", "clear", "compact"} {
		d.send("claude", "s", "SessionStart", fmt.Sprintf(`, "source": %q`, source))
		d.send("claude", "s", "SessionEnd", `, "reason": "clear"`)
	}
	if data, err := os.ReadFile(filepath.Join(d.root, ".fctry/state.json")); err != nil || string(data) != state {
		t.Errorf("%s, %v", data, err)
	}
}

func TestFilesWrittenByAToolAreRecorded(t *testing.T) {
	d := newFixture(t)
	d.send("claude", "s", "PostToolUse", `, "tool_name": "Write", "tool_input": {"file_path": "src/statusline/a.js"}`)
	d.send("claude", "s", "PreToolUse", `, "tool_name": "Write", "tool_input": {"file_path": "src/statusline/b.js"}`)
	if got := untracked(t, d.root); len(got) != 1 || got[0] != "src/statusline/a.js status-line 2.12" {
		t.Errorf("%q", got)
	}
}

func TestALoopAndACompactionAreAddedToTheFeed(t *testing.T) {
	d := newFixture(t)
	for range 4 {
		d.send("claude", "12345678", "PostToolUse", bash)
	}
	put(t, d.root, ".fctry/state.json", `{"buildEvents": `+feedOf(t, d.root)+`, "buildRun": {"chunks": [{"id": 1, "name": "Chunk 1", "status": "active"}]}}`)
	d.send("claude", "12345678", "PreCompact", `, "trigger": "auto"`)
	want := []string{
		"escalation-emitted |  | claude-12345678 may be in a loop: Bash (make) was called 3 times in a row with the same input",
		"context-compacted | Chunk 1 | claude-12345678 summarizes its context because it is full; the build's state is kept",
	}
	if got := d.feed(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	if got := d.session("claude", "12345678"); got.Loop == "" {
		t.Errorf("%+v", got)
	}
	if err := os.RemoveAll(filepath.Join(d.root, ".fctry")); err != nil {
		t.Fatal(err)
	}
	d.send("claude", "12345678", "PreCompact", "")
	if _, err := os.Stat(filepath.Join(d.root, ".fctry")); err == nil {
		t.Error("a project without a workflow has got one")
	}
}

func feedOf(t *testing.T, root string) string {
	t.Helper()
	s, err := workflow.Open(filepath.Join(root, ".fctry"), workflow.Options{}).State()
	if err != nil || len(s.BuildEvents) != 1 {
		t.Fatalf("%d events, %v", len(s.BuildEvents), err)
	}
	return "[" + string(s.BuildEvents[0].Raw()) + "]"
}

func TestInvalidHookInputIsIgnored(t *testing.T) {
	d := newFixture(t)
	for _, in := range []string{
		"", "{", "\xff\x00", "[]", "7", `{"hook_event_name": "Stop", "session_id": 7}`, `{"hook_event_name": "Stop", "session_id": "../../../x"}`,
		`{"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Write", "tool_input": {"file_path": "\u0000"}, "cwd": "\u0000"}`,
		`{"hook_event_name": "PermissionRequest", "session_id": "s", "cwd": "/absent/x", "tool_name": "Bash"}`, strings.Repeat("[", 1<<20),
	} {
		for _, program := range agentproc.Programs() {
			if out, _ := d.hook(program, in); out != "" {
				t.Errorf("%.60q: printed %q", in, out)
			}
		}
	}
	d.vars = map[string]string{}
	if out, talk := d.hook("claude", d.event("s", "Stop", "")); out != "" || !strings.Contains(talk, "gaffer: hook claude: ") {
		t.Errorf("without a home: printed %q, said %q", out, talk)
	}
	d.vars = map[string]string{"XDG_STATE_HOME": "/proc/nowhere"}
	d.hook("claude", d.event("s", "PostToolUse", `, "tool_name": "Write", "tool_input": {"file_path": "src/statusline/a.js"}`))
	if got := untracked(t, d.root); len(got) != 1 {
		t.Errorf("a state that cannot be written keeps the rest from being done: %q", got)
	}
}

// answered runs a hook that asks the user, and calls user with the id of the open question.
func (d *fixture) answered(program, event string, user func(context.Context, openfleet.Fleet, string)) (out, talk string) {
	d.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		out, talk = d.hook(program, event)
	}()
	var o, t bytes.Buffer
	e := d.env("", &o, &t)
	e.Dir = d.root
	err := openfleet.WithFleet(d.Context(), e, func(f openfleet.Fleet) error {
		id := ""
		testenv.Wait(d, "a question, or the end of the hook", func() error {
			select {
			case <-done:
				return nil
			default:
			}
			list, err := f.Questions(d.Context())
			if err == nil && len(list) != 1 {
				err = fmt.Errorf("%d questions: %+v", len(list), list)
			}
			if err == nil {
				id = list[0].ID
			}
			return err
		})
		user(d.Context(), f, id)
		<-done
		if list, err := f.Questions(d.Context()); err != nil || len(list) > 0 {
			d.Errorf("still open: %+v, %v", list, err)
		}
		return nil
	})
	if err != nil {
		d.Error(err)
	}
	<-done
	return out, talk
}

// decision parses the decision that the hook prints for the agent.
func (d *fixture) decision(out string) (behavior, message string, input map[string]any) {
	d.Helper()
	var v struct {
		Output struct {
			Name     string `json:"hookEventName"`
			Decision struct {
				Behavior string         `json:"behavior"`
				Message  string         `json:"message"`
				Input    map[string]any `json:"updatedInput"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Output.Name != "PermissionRequest" {
		d.Fatalf("%q: %v", out, err)
	}
	return v.Output.Decision.Behavior, v.Output.Decision.Message, v.Output.Decision.Input
}

func TestTheUserAnswersForTheAgentElsewhere(t *testing.T) {
	d := newFixture(t)
	d.vars["GAFFER_HOOKS_ANSWER_WITHIN"] = "60s"
	out, talk := d.answered("claude", d.event("s", "PermissionRequest", bash), func(ctx context.Context, f openfleet.Fleet, id string) {
		if list, err := f.Questions(ctx); err != nil || len(list) != 1 || list[0].Task != "claude-s" || list[0].Text != "Bash: make" {
			t.Errorf("%+v, %v", list, err)
		}
		if err := f.Answer(ctx, id, fleet.Reply{Text: "Allow"}); err != nil {
			t.Error(err)
		}
	})
	if behavior, _, _ := d.decision(out); behavior != "allow" || talk != "" {
		t.Errorf("%s, said %q", out, talk)
	}
	out, _ = d.answered("codex", d.event("s", "PermissionRequest", bash), func(ctx context.Context, f openfleet.Fleet, id string) {
		if err := f.Answer(ctx, id, fleet.Reply{Text: "not before lunch", Deny: true}); err != nil {
			t.Error(err)
		}
	})
	if behavior, message, _ := d.decision(out); behavior != "deny" || message != "not before lunch" {
		t.Errorf("%s", out)
	}
}

func TestTheUsersRulesAnswerForTheAgentAtOnce(t *testing.T) {
	d := newFixture(t)
	d.vars["GAFFER_HOOKS_ANSWER_WITHIN"] = "60s"
	d.vars["GAFFER_PERMISSIONS_ALLOW"], d.vars["GAFFER_PERMISSIONS_DENY"] = `["Bash(make)"]`, `["Bash(make deploy)"]`
	for _, program := range []string{"claude", "codex"} {
		out, talk := d.hook(program, d.event("s", "PermissionRequest", bash))
		if behavior, _, _ := d.decision(out); behavior != "allow" || talk != "" {
			t.Errorf("%s: %s, said %q", program, out, talk)
		}
		out, _ = d.hook(program, d.event("s", "PermissionRequest", strings.ReplaceAll(bash, `"make"`, `"make deploy"`)))
		if behavior, message, _ := d.decision(out); behavior != "deny" || !strings.Contains(message, "Bash(make deploy)") {
			t.Errorf("%s: %s", program, out)
		}
	}
	d.vars["GAFFER_PERMISSIONS_ASK"] = `["Bash(make:*)"]`
	out, _ := d.answered("claude", d.event("s", "PermissionRequest", bash), func(ctx context.Context, f openfleet.Fleet, id string) {
		if err := f.Answer(ctx, id, fleet.Reply{Text: "Deny"}); err != nil {
			t.Error(err)
		}
	})
	if behavior, _, _ := d.decision(out); behavior != "deny" {
		t.Errorf("a rule says ask: %s", out)
	}
}

func TestAQuestionWithOptionsIsAnsweredInTheWordsOfItsTool(t *testing.T) {
	d := newFixture(t)
	d.vars["GAFFER_HOOKS_ANSWER_WITHIN"] = "60s"
	const one = `{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}`
	ask := func(questions string) string {
		return d.event("s", "PermissionRequest", `, "tool_name": "AskUserQuestion", "tool_input": {"questions": [`+questions+`], "kept": 1}`)
	}
	out, _ := d.answered("claude", ask(one), func(ctx context.Context, f openfleet.Fleet, id string) {
		if list, err := f.Questions(ctx); err != nil || strings.Join(list[0].Options, " ") != "Red Blue" || list[0].Text != "Which colour?" {
			t.Errorf("%+v, %v", list, err)
		}
		if err := f.Answer(ctx, id, fleet.Reply{Text: "Blue"}); err != nil {
			t.Error(err)
		}
	})
	behavior, _, input := d.decision(out)
	if answers, _ := input["answers"].(map[string]any); behavior != "allow" || answers["Which colour?"] != "Blue" || input["kept"] != 1.0 {
		t.Errorf("%s", out)
	}
	for _, several := range []string{one + "," + one, `{"question": "Free?"}`, `{"question": "Many?", "multiSelect": true, "options": [{"label": "a"}]}`} {
		if out, talk := d.hook("claude", ask(several)); out != "" || talk != "" {
			t.Errorf("%s: printed %q, said %q", several, out, talk)
		}
	}
}

func TestWithoutAnAnswerTheAgentAsksAtItsOwnPrompt(t *testing.T) {
	testenv.Integration(t)
	d := newFixture(t)
	ask := d.event("s", "PermissionRequest", bash)
	if out, talk := d.hook("claude", ask); out != "" || talk != "" {
		t.Errorf("by default: printed %q, said %q", out, talk)
	}
	d.vars["GAFFER_HOOKS_ANSWER_WITHIN"] = "1us" // shorter than opening the store, which does not count as waiting
	if out, talk := d.hook("claude", ask); out != "" || talk != "" {
		t.Errorf("without an answer: printed %q, said %q", out, talk)
	}
	d.vars["GAFFER_HOOKS_ANSWER_WITHIN"] = "5m"
	began := time.Now()
	out, talk := d.answered("claude", ask, func(context.Context, openfleet.Fleet, string) { d.send("claude", "s", "PostToolUse", bash) })
	if took := time.Since(began); out != "" || talk != "" || took > testenv.Patience {
		t.Errorf("answered at the prompt: printed %q, said %q after %s", out, talk, took)
	}
	d.vars["GAFFER_DB"] = d.root + "/.git/HEAD"
	if out, talk := d.hook("claude", ask); out != "" || talk == "" {
		t.Errorf("a store that cannot be opened: printed %q, said %q", out, talk)
	}
	delete(d.vars, "GAFFER_DB")
	d.vars["GAFFER_ATTEMPT"] = "a1"
	if out, talk := d.hook("claude", ask); out != "" || talk != "" {
		t.Errorf("gaffer's own: printed %q, said %q", out, talk)
	}
}

// The name of the variable is a constant in two packages, because package caller does not import
// package supervisor.
func TestTheVariableOfAnAttemptHasOneName(t *testing.T) {
	if caller.AttemptVar != supervisor.Mark {
		t.Errorf("%s and %s", caller.AttemptVar, supervisor.Mark)
	}
}
