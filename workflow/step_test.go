package workflow_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestPrerequisitesAreThoseOfTheProtocol(t *testing.T) {
	scan := workflow.Need{workflow.StateOwnerScan}
	every := workflow.Commands()
	for _, row := range []struct {
		step     workflow.Step
		commands []workflow.Command
		want     []workflow.Need
	}{
		{workflow.StateOwnerScan, every, nil},
		{workflow.Observer, every, nil},
		{workflow.Interviewer, every, []workflow.Need{scan}},
		{workflow.Researcher, []workflow.Command{workflow.Init, workflow.Evolve, workflow.Review, workflow.Execute, ""}, []workflow.Need{scan}},
		{workflow.Researcher, []workflow.Command{workflow.Ref}, nil},
		{workflow.VisualTranslator, []workflow.Command{workflow.Evolve, ""}, []workflow.Need{scan}},
		{workflow.VisualTranslator, []workflow.Command{workflow.Ref}, nil},
		{workflow.ScenarioCrafter, every, []workflow.Need{{workflow.Interviewer}}},
		{workflow.SpecWriter, []workflow.Command{workflow.Init, workflow.Evolve}, []workflow.Need{{workflow.Interviewer}, {workflow.ScenarioCrafter}}},
		{workflow.SpecWriter, []workflow.Command{workflow.Ref}, []workflow.Need{scan, {workflow.Researcher, workflow.VisualTranslator}}},
		{workflow.SpecWriter, []workflow.Command{workflow.Review, workflow.Execute, ""}, []workflow.Need{scan}},
		{workflow.ExecutorPlan, every, []workflow.Need{scan}},
		{workflow.ExecutorBuild, every, []workflow.Need{scan}},
	} {
		for _, command := range row.commands {
			if diff := cmp.Diff(row.want, workflow.Missing(command, row.step, nil)); diff != "" {
				t.Errorf("%s of %q: %s", row.step, command, diff)
			}
		}
	}
}

func TestAnyOneOfTheAlternativesMeetsANeed(t *testing.T) {
	for _, step := range []workflow.Step{workflow.Researcher, workflow.VisualTranslator} {
		missing := workflow.Missing(workflow.Ref, workflow.SpecWriter, []workflow.Step{workflow.StateOwnerScan, step})
		if len(missing) > 0 {
			t.Errorf("with %s: %v", step, missing)
		}
	}
}

func TestAMissingPrerequisiteIsTheNumberedErrorOfTheProtocol(t *testing.T) {
	p := newProject(t, workflow.Options{})
	err := p.edit(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.Interviewer, false) })
	want := `Workflow error: State Owner must run before Interviewer can proceed.
(1) Run State Owner scan now (recommended)
(2) Skip (not recommended — may produce inaccurate results)
(3) Abort this command`
	if err == nil || err.Error() != want || says(err) != "conflict" {
		t.Errorf("got %v", err)
	}
	missing, ok := errors.AsType[*workflow.PrerequisiteError](err)
	if !ok || missing.Next != workflow.StateOwnerScan || len(missing.Choices()) != 3 {
		t.Errorf("got %#v", missing)
	}
	if _, err := os.Stat(p.root); err == nil {
		t.Error("a refused step left a folder")
	}
}

func TestSeveralMissingPrerequisitesAreNamedTogether(t *testing.T) {
	for command, want := range map[workflow.Command]string{
		workflow.Evolve: "Workflow error: Interviewer and Scenario Crafter must run before Spec Writer can proceed.\n(1) Run State Owner scan now",
		workflow.Ref:    "Workflow error: State Owner and Researcher or Visual Translator must run before Spec Writer can proceed.\n(1) Run State Owner scan now",
	} {
		p := newProject(t, workflow.Options{})
		p.must(func(root *jsontree.Node) error { _, err := workflow.BeginCommand(root, command); return err })
		err := p.edit(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.SpecWriter, false) })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestSkipStartsAStepWithoutItsPrerequisite(t *testing.T) {
	p := newProject(t, workflow.Options{})
	p.must(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.Interviewer, true) })
	if got := p.state().WorkflowStep; got != workflow.Interviewer {
		t.Errorf("step %q", got)
	}
}

func TestACommandRunsFromItsFirstStepToItsEnd(t *testing.T) {
	p := newProject(t, workflow.Options{})
	for _, change := range []func(*jsontree.Node) error{
		func(root *jsontree.Node) error { _, err := workflow.BeginCommand(root, workflow.Evolve); return err },
		func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.StateOwnerScan, false) },
		func(root *jsontree.Node) error { return workflow.DoneStep(root, workflow.StateOwnerScan, "3 sections") },
		func(root *jsontree.Node) error { return workflow.DoneStep(root, workflow.StateOwnerScan, "") },
		func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.Interviewer, false) },
	} {
		p.must(change)
	}
	want := `{
  "currentCommand": "evolve",
  "lastUpdated": "2026-02-17T12:00:00Z",
  "workflowStep": "interviewer",
  "completedSteps": [
    "state-owner-scan"
  ],
  "agentOutputs": {
    "state-owner": {
      "summary": "3 sections"
    }
  }
}
`
	if got := p.read("state.json"); got != want {
		t.Error(cmp.Diff(want, got))
	}
	p.must(workflow.EndCommand)
	if s := p.state(); s.CurrentCommand != "" || s.WorkflowStep != "" || len(s.CompletedSteps) != 1 {
		t.Errorf("after the end: %+v", s)
	}
	if err := p.edit(workflow.EndCommand); says(err) != "conflict" {
		t.Errorf("ended twice: %v", err)
	}
}

func TestBeginningACommandClearsTheStepsOfTheLastOne(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "state.json"))
	var unended workflow.Command
	p.must(func(root *jsontree.Node) (err error) {
		unended, err = workflow.BeginCommand(root, workflow.Execute)
		return err
	})
	s := p.state()
	if unended != workflow.Evolve || s.CurrentCommand != workflow.Execute || s.WorkflowStep != "" || s.CompletedSteps != nil || s.AgentOutputs != nil {
		t.Errorf("unended %q, %+v", unended, s)
	}
	if s.ScenarioScore == nil || len(s.UntrackedChanges) != 1 {
		t.Errorf("cleared too much: %+v", s)
	}
}

func TestAStepThatEndsLeavesAnotherInParallelAlone(t *testing.T) {
	p := newProject(t, workflow.Options{})
	p.must(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.StateOwnerScan, false) })
	p.must(func(root *jsontree.Node) error { return workflow.DoneStep(root, workflow.Researcher, "found 3") })
	if got := p.state().WorkflowStep; got != workflow.StateOwnerScan {
		t.Errorf("step %q", got)
	}
}

func TestANewSessionKeepsTheBuildRun(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", `{"buildRun": {"runId": "run-1"}, "currentCommand": "execute", "specVersion": "2.4"}`)
	p.must(func(root *jsontree.Node) error { workflow.StartSession(root); return nil })
	want := `{"buildRun": {"runId": "run-1"}, "currentCommand": null, "specVersion": "2.4", "lastUpdated": "2026-02-17T12:00:00Z"}`
	if got := p.read("state.json"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestUnknownStepsAndCommandsAreRefused(t *testing.T) {
	p := newProject(t, workflow.Options{})
	for what, change := range map[string]func(*jsontree.Node) error{
		"begin step": func(root *jsontree.Node) error { return workflow.BeginStep(root, "../x", true) },
		"done step":  func(root *jsontree.Node) error { return workflow.DoneStep(root, "", "") },
		"command": func(root *jsontree.Node) error {
			_, err := workflow.BeginCommand(root, workflow.Command(strings.Repeat("x", 300)))
			return err
		},
	} {
		if err := p.edit(change); says(err) != "usage" || len(err.Error()) > 300 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
