package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
)

type submitted struct {
	Tasks     []string
	Warnings  []string
	Submitted *struct{ Run, Where string }
}

type run struct {
	Run struct {
		ID, Status string
		Counts     struct{ Complete int }
	}
	Tasks []struct{ ID, Status, Outcome, Summary string }
}

func TestAPlanIsSubmittedAndRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	const text = `"text": "name: two\ntasks:\n  - {id: one, shell: 'echo hello > out'}\n  - {id: two, shell: 'cat out', after: [one]}\n"`
	var got submitted
	c.call("plan_submit", `{`+text+`, "check_only": true}`, &got)
	if len(got.Tasks) != 2 || got.Submitted != nil {
		t.Errorf("checked: %+v", got)
	}
	c.call("plan_submit", `{`+text+`}`, &got)
	if got.Submitted == nil {
		t.Fatalf("submitted: %+v", got)
	}
	var r run
	testenv.Wait(t, "a complete run", func() error {
		if c.call("run_status", fmt.Sprintf(`{"run": %q}`, got.Submitted.Run), &r); r.Run.Status != "complete" {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	if r.Run.Counts.Complete != 2 || len(r.Tasks) != 2 || r.Tasks[1].ID != "two" {
		t.Errorf("the run: %+v", r)
	}
	var list struct{ Runs []struct{ ID string } }
	c.call("run_list", `{"ended": true}`, &list)
	if len(list.Runs) != 1 || list.Runs[0].ID != got.Submitted.Run {
		t.Errorf("the runs: %+v", list)
	}
	testenv.Wait(t, "the end of the gaffer in the background, without a zombie", func() error {
		if list := children(t, c.process.Pid); list != "" {
			return fmt.Errorf("the children are %s", list)
		}
		return nil
	})
}

// children returns the ids of a process's living child processes.
func children(t *testing.T, pid int) string {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Fatalf("the children of %d cannot be listed: %v", pid, err)
	}
	var all strings.Builder
	for _, list := range lists {
		data, _ := os.ReadFile(list) // ignore the error: the thread may have just ended, and its file with it
		all.Write(data)
	}
	return strings.TrimSpace(all.String())
}

func TestAPlanIsReadFromTheProject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	p.write("plan.yaml", "tasks: [{id: a, agent: claude, prompt_file: a.md}]")
	p.write("a.md", "Say hello.")
	var got submitted
	c.call("plan_submit", `{"file": "plan.yaml", "check_only": true}`, &got)
	c.call("plan_submit", `{"text": "tasks: [{id: b, agent: claude, prompt_file: a.md}]", "check_only": true}`, &got)
	if len(got.Tasks) != 1 || got.Tasks[0] != "b" {
		t.Errorf("read: %+v", got)
	}
	p.write("wrong.yaml", "tasks: [{id: a, agnt: claude}]")
	c.refused("plan_submit", `{"file": "wrong.yaml"}`, "invalid: ", `wrong.yaml:1:`, `did you mean "agent"`, "next: ")
	c.refused("plan_submit", `{"file": "none.yaml"}`, "not_found: ")
}

func TestTakenItemsAreFreeAfterTheirServerHasEnded(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	type taken struct {
		Taken bool
		Item  struct{ ID string }
	}
	first, second := p.serve(nil), p.serve(nil)
	first.call("inbox_add", `{"type": "evolve", "content": "x"}`, nil)
	var a, b taken
	first.call("inbox_take", `{}`, &a)
	second.call("inbox_take", `{}`, &b)
	if !a.Taken || b.Taken {
		t.Fatalf("taken by %+v and %+v", a, b)
	}
	if err := first.session.Close(); err != nil {
		t.Fatal(err)
	}
	second.call("inbox_take", `{}`, &b)
	if b.Item.ID != a.Item.ID {
		t.Errorf("taken %+v, then %+v", a, b)
	}
	second.call("inbox_finish", fmt.Sprintf(`{"id": %q, "error": "no time"}`, b.Item.ID), nil)
	var box []struct{ Status, Error string }
	p.document(".fctry/inbox.json", &box)
	if len(box) != 1 || box[0].Status != "error" || box[0].Error != "no time" {
		t.Errorf("the inbox: %+v", box)
	}
}

func TestStepsContinueAsTheUserHasChosen(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	var begun struct{ Outcome, Step string }
	p.run("command", "begin", "evolve")
	c.refused("step_begin", `{"step": "scenario-crafter"}`, "conflict: ", "Interviewer must run before", "(1) Run State Owner scan now")
	c.call("step_begin", `{"step": "scenario-crafter", "if_missing": "run"}`, &begun)
	if begun.Outcome != "missing" || begun.Step != "state-owner-scan" {
		t.Errorf("begun: %+v", begun)
	}
	c.call("step_finish", `{"step": "state-owner-scan", "summary": "3 sections"}`, nil)
	c.call("step_begin", `{"step": "scenario-crafter", "if_missing": "skip"}`, &begun)
	if begun.Outcome != "begun" || begun.Step != "scenario-crafter" {
		t.Errorf("begun: %+v", begun)
	}
	var state struct {
		Value struct {
			WorkflowStep string
			AgentOutputs map[string]struct{ Summary string }
		}
	}
	c.call("state_read", `{}`, &state)
	if state.Value.WorkflowStep != "scenario-crafter" || state.Value.AgentOutputs["state-owner"].Summary != "3 sections" {
		t.Errorf("the state: %+v", state)
	}
	c.call("step_begin", `{"step": "spec-writer", "if_missing": "abort"}`, &begun)
	c.refused("state_read", `{"path": "currentCommand"}`, "not_found: ")
}

func TestANumberStaysAsItIsWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	c := p.serve(nil)
	c.call("event_emit", `{"kind": "own", "fields": {"size": 12345678901234567890, "rate": 1.10}}`, nil)
	data, err := os.ReadFile(filepath.Join(p.root, ".fctry", "state.json"))
	if err != nil || !strings.Contains(string(data), "12345678901234567890") || !strings.Contains(string(data), "1.10") {
		t.Errorf("%s, %v", data, err)
	}
}

func TestMessagesAreReadByTheirReceiver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("team", "init", "Requirements")
	developer, qa := p.serve(nil, "--role", "developer"), p.serve(nil, "--role", "qa_expert")
	developer.call("message_send", `{"group": "A", "subject": "Ready", "body": {"status": "READY_FOR_QA", "context": {"files_modified": ["a.go", "b.go"], "notes": "n"}, "unit_tests_status": "3 pass"}}`, nil)
	developer.refused("message_send", `{"group": "A", "subject": "s", "body": {"decision": "approved"}}`, `no field "decision"`)
	var mail struct {
		Messages []struct {
			Subject string
			Context struct {
				Files []string `json:"files_modified"`
				Tests string   `json:"unit_tests_status"`
			}
		}
	}
	developer.call("message_read", `{}`, &mail)
	if len(mail.Messages) != 0 {
		t.Errorf("the developer reads %+v", mail)
	}
	qa.call("message_read", `{"mark_read": true}`, &mail)
	if len(mail.Messages) != 1 || len(mail.Messages[0].Context.Files) != 2 || mail.Messages[0].Context.Tests != "3 pass" {
		t.Errorf("QA reads %+v", mail)
	}
	qa.call("message_read", `{}`, &mail)
	if len(mail.Messages) != 0 {
		t.Errorf("QA reads again %+v", mail)
	}
	qa.call("message_read", `{"all": true, "group": "A"}`, &mail)
	if len(mail.Messages) != 1 {
		t.Errorf("QA reads of all %+v", mail)
	}
}
