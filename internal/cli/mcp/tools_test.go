package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/byhand/mcp"
)

var update = flag.Bool("update", false, "write the golden list of tools")

const golden = "../../byhand/mcp/testdata/tools.golden.json"

func TestTheListOfToolsIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	c := newProject(t).serve(nil)
	var tools []*sdk.Tool
	for tool, err := range c.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tools); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the list differs from %s; -update writes it:\n%s", golden, got.Bytes())
	}
}

func TestThePageNamesEveryToolAndEveryRole(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range newProject(t).serve(nil).names() {
		if !bytes.Contains(page, []byte("\n| `"+name+"` | ")) {
			t.Errorf("%s has no row", name)
		}
	}
	for _, r := range mcp.Roles() {
		if !bytes.Contains(page, []byte("`"+string(r)+"`")) {
			t.Errorf("the role %s is not there", r)
		}
	}
}

// schema parses a tool's schema in the form that the client received.
func schema(t *testing.T, published any) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	data, err := json.Marshal(published)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &s, resolved
}

func TestEveryToolIsCalledWithItsExampleAndAnswersByItsSchema(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	prepare(t, p)
	called := 0
	for tool, err := range c.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		in, args := schema(t, tool.InputSchema)
		_, out := schema(t, tool.OutputSchema)
		if len(in.Examples) != 1 || len(tool.Description) < 80 || tool.Annotations == nil {
			t.Errorf("%s: no example, description or annotations", tool.Name)
			continue
		}
		if err := args.Validate(in.Examples[0]); err != nil {
			t.Errorf("%s: its example: %v", tool.Name, err)
		}
		example, err := json.Marshal(in.Examples[0])
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.try(tool.Name, string(example))
		if err != nil || r.IsError {
			t.Errorf("%s %s: %v, %+v", tool.Name, example, err, r)
			continue
		}
		if err := out.Validate(r.StructuredContent); err != nil {
			t.Errorf("%s: its result: %v", tool.Name, err)
		}
		called++
	}
	if called != 16 {
		t.Errorf("%d tools were called", called)
	}
}

// prepare writes the files that the examples of all tools need.
func prepare(t *testing.T, p project) {
	t.Helper()
	p.run("team", "init", "Requirements")
	p.run("state", "set", "workflowStep=interviewer", `completedSteps=["state-owner-scan"]`)
	p.write("plan.yaml", "tasks: [{id: bad, shell: 'exit 3'}]")
	if err := p.gaffer("run", "plan.yaml").Run(); err == nil {
		t.Error("what fails succeeds")
	}
	item := `[{"id":"inbox-1708012345678-a1b2c3","type":"evolve","content":"x","timestamp":"2024-02-15T12:00:00Z","status":"pending"},
		{"id":"inbox-1","type":"evolve","content":"y","timestamp":"2024-02-15T13:00:00Z","status":"pending"}]`
	p.write(".fctry/inbox.json", item)
	p.answer("test-client", "yes")
}

func TestARoleHasOnlyItsTools(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("team", "init", "Requirements")
	everyone := []string{"inbox_list", "message_read", "run_list", "run_status", "session_list", "session_read", "state_read"}
	notes := []string{"event_emit", "inbox_add", "person_ask"}
	takes := []string{"inbox_finish", "inbox_take"}
	steps := []string{"step_begin", "step_finish"}
	attempt := []string{"GAFFER_ATTEMPT=a", "GAFFER_RUN=r", "GAFFER_TASK=t"}
	for name, c := range map[string]struct {
		env  []string
		args []string
		want [][]string
	}{
		"the user's own agent":         {nil, nil, [][]string{notes, takes, steps, {"message_send", "plan_submit"}}},
		"a reader":                     {nil, []string{"--role", "reader"}, nil},
		"a task's agent":               {attempt, nil, [][]string{notes, takes, steps}},
		"a task's agent that reads":    {attempt, []string{"--role", "reader"}, nil},
		"a project manager":            {nil, []string{"--role", "pm"}, [][]string{notes, takes, {"plan_submit"}}},
		"a project manager in a task":  {append(attempt, "GAFFER_ROLE=pm"), nil, [][]string{notes, takes}},
		"a developer in a task":        {append(attempt, "GAFFER_ROLE=developer"), nil, [][]string{notes, {"message_send"}}},
		"a QA expert":                  {nil, []string{"--role", "qa_expert"}, [][]string{notes, {"message_send"}}},
		"a tech lead by its variables": {[]string{"GAFFER_ROLE=tech_lead"}, []string{"--role", "tech_lead"}, [][]string{notes, {"message_send"}}},
	} {
		want := slices.Concat(append(c.want, everyone)...)
		slices.Sort(want)
		if got := p.serve(c.env, c.args...).names(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestAForbiddenToolIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("team", "init", "Requirements")
	plan := `{"text": "tasks: [{id: a, agent: claude, prompt: x}]"}`
	qa := p.serve([]string{"GAFFER_ATTEMPT=a", "GAFFER_ROLE=qa_expert"})
	qa.refused("plan_submit", plan, "conflict: role qa_expert may not use plan_submit", "next: ")
	qa.refused("step_begin", `{"step": "observer"}`, "only person or worker may work on the steps")
	qa.refused("message_send", `{"from": "tech_lead", "group": "A", "subject": "s"}`, "role qa_expert may not use message_send as tech_lead", "a role cannot send messages for another role")
	qa.refused("message_read", `{"to": "developer", "mark_read": true}`, "messages are marked by whom they are for")
	qa.call("message_send", `{"group": "A", "subject": "s", "body": {"result": "PASS"}}`, nil)

	outside := p.serve(nil, "--role", "qa_expert")
	outside.refused("plan_submit", plan, "only person or pm may submit a plan")

	reader := p.serve(nil, "--role", "reader")
	reader.refused("inbox_add", `{"type": "evolve", "content": "x"}`, "role reader may not use inbox_add", "only to look")
	reader.refused("message_read", `{"mark_read": true}`, "role reader may not use message_read with mark_read")

	worker := p.serve([]string{"GAFFER_ATTEMPT=a"})
	worker.refused("message_send", `{"from": "developer", "group": "A", "subject": "s"}`, "role worker may not use message_send", "GAFFER_ROLE")
	if _, err := worker.try("no_such_tool", `{}`); err == nil {
		t.Error("a tool that there is not was called")
	}
}

func TestAnAgentCannotTakeAnotherRoleThanItWasGiven(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{[]string{"GAFFER_ATTEMPT=a", "GAFFER_ROLE=developer"}, []string{"--role", "pm"}},
		{[]string{"GAFFER_ATTEMPT=a"}, []string{"--role", "person"}},
		{[]string{"GAFFER_ROLE=king"}, nil},
		{nil, []string{"--role", "devloper"}},
	} {
		cmd := p.gaffer(append([]string{"mcp"}, c.args...)...)
		cmd.Env = append(cmd.Env, c.env...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !bytes.Contains(out, []byte("role")) {
			t.Errorf("%v %v: exit code %d: %s", c.env, c.args, code, out)
		}
	}
}
