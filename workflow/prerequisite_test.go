package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// table is the protocol's table, with one row per agent's step and one column per command. In a
// cell, | separates steps of which one is enough. All needs of a cell must be met; - means that
// there are none. The protocol does not say what the spec writer needs for execute and without a
// command; gaffer then requires the scan.
const table = `
step               init                          evolve                        ref                                             review            execute           (none)
state-owner-scan   -                             -                             -                                               -                 -                 -
observer           -                             -                             -                                               -                 -                 -
interviewer        state-owner-scan              state-owner-scan              state-owner-scan                                state-owner-scan  state-owner-scan  state-owner-scan
researcher         state-owner-scan              state-owner-scan              -                                               state-owner-scan  state-owner-scan  state-owner-scan
visual-translator  state-owner-scan              state-owner-scan              -                                               state-owner-scan  state-owner-scan  state-owner-scan
scenario-crafter   interviewer                   interviewer                   interviewer                                     interviewer       interviewer       interviewer
spec-writer        interviewer+scenario-crafter  interviewer+scenario-crafter  state-owner-scan+researcher|visual-translator   state-owner-scan  state-owner-scan  state-owner-scan
executor-plan      state-owner-scan              state-owner-scan              state-owner-scan                                state-owner-scan  state-owner-scan  state-owner-scan
executor-build     state-owner-scan              state-owner-scan              state-owner-scan                                state-owner-scan  state-owner-scan  state-owner-scan
`

type cell struct {
	command workflow.Command
	step    workflow.Step
	needs   []workflow.Need
}

func cells(t *testing.T) []cell {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	commands := strings.Fields(lines[0])[1:]
	var all []cell
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		for i, name := range commands {
			c := cell{command: workflow.Command(strings.Trim(name, "()")), step: workflow.Step(row[0])}
			if name == "(none)" {
				c.command = ""
			}
			if row[i+1] != "-" {
				for _, either := range strings.Split(row[i+1], "+") {
					var need workflow.Need
					for _, step := range strings.Split(either, "|") {
						need = append(need, workflow.Step(step))
					}
					c.needs = append(c.needs, need)
				}
			}
			all = append(all, c)
		}
	}
	if want := len(workflow.Steps()) * (len(workflow.Commands()) + 1); len(all) != want {
		t.Fatalf("the table has %d cells, want %d", len(all), want)
	}
	return all
}

func stateOf(t *testing.T, command workflow.Command, completed []workflow.Step) *jsontree.Doc {
	t.Helper()
	doc, err := jsontree.Parse([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if command != "" {
		doc.Root().Set("currentCommand", command)
	}
	for _, step := range completed {
		doc.Root().Array("completedSteps").Append(step)
	}
	return doc
}

func TestPrerequisitesOfEveryCommandEqualTheProtocolsTable(t *testing.T) {
	for _, c := range cells(t) {
		if diff := cmp.Diff(c.needs, workflow.Needs(c.command, c.step)); diff != "" {
			t.Errorf("%s of %q: %s", c.step, c.command, diff)
		}
	}
}

// TestAStepBeginsExactlyWhenItsPrerequisitesAreComplete tries every set of completed
// steps for every command and agent.
func TestAStepBeginsExactlyWhenItsPrerequisitesAreComplete(t *testing.T) {
	steps := workflow.Steps()
	for _, c := range cells(t) {
		for set := range 1 << len(steps) {
			var completed []workflow.Step
			for i, step := range steps {
				if set>>i&1 == 1 {
					completed = append(completed, step)
				}
			}
			want := c.unmet(completed)
			doc := stateOf(t, c.command, completed)
			err := workflow.BeginStep(doc.Root(), c.step, false)
			began := doc.Value().Get("workflowStep").Text() == string(c.step)
			if began != (len(want) == 0) || (err == nil) != began {
				t.Fatalf("%s of %q with %v: began %v, %v", c.step, c.command, completed, began, err)
			}
			if err != nil {
				c.checkError(t, err, completed, want)
			}
		}
	}
}

func (c cell) unmet(completed []workflow.Step) []workflow.Need {
	var unmet []workflow.Need
	for _, need := range c.needs {
		if !slices.ContainsFunc(need, func(s workflow.Step) bool { return slices.Contains(completed, s) }) {
			unmet = append(unmet, need)
		}
	}
	return unmet
}

func (c cell) checkError(t *testing.T, err error, completed []workflow.Step, unmet []workflow.Need) {
	t.Helper()
	missing, ok := errors.AsType[*workflow.PrerequisiteError](err)
	if !ok || says(err) != "conflict" || missing.Step != c.step || missing.Command != c.command || !cmp.Equal(missing.Missing, unmet) {
		t.Fatalf("%s of %q with %v: %#v", c.step, c.command, completed, err)
	}
	if left := workflow.Missing(c.command, missing.Next, completed); len(left) > 0 || slices.Contains(completed, missing.Next) {
		t.Fatalf("%s of %q with %v: the first choice runs %s, which waits for %v", c.step, c.command, completed, missing.Next, left)
	}
}

// TestTheErrorIsTheTextOfTheProtocol checks the text for every command and every
// agent with a missing prerequisite, with no completed steps.
func TestTheErrorIsTheTextOfTheProtocol(t *testing.T) {
	for _, c := range cells(t) {
		if len(c.needs) == 0 {
			continue
		}
		before := "State Owner"
		switch {
		case c.step == workflow.ScenarioCrafter:
			before = "Interviewer"
		case c.step == workflow.SpecWriter && (c.command == workflow.Init || c.command == workflow.Evolve):
			before = "Interviewer and Scenario Crafter"
		case c.step == workflow.SpecWriter && c.command == workflow.Ref:
			before = "State Owner and Researcher or Visual Translator"
		}
		agent := map[workflow.Step]string{
			workflow.Interviewer: "Interviewer", workflow.Researcher: "Researcher", workflow.VisualTranslator: "Visual Translator",
			workflow.ScenarioCrafter: "Scenario Crafter", workflow.SpecWriter: "Spec Writer",
			workflow.ExecutorPlan: "Executor", workflow.ExecutorBuild: "Executor",
		}[c.step]
		want := fmt.Sprintf(`Workflow error: %s must run before %s can proceed.
(1) Run State Owner scan now (recommended)
(2) Skip (not recommended — may produce inaccurate results)
(3) Abort this command`, before, agent)
		err := workflow.BeginStep(stateOf(t, c.command, nil).Root(), c.step, false)
		if err == nil || err.Error() != want {
			t.Errorf("%s of %q:\n%v\nwant\n%s", c.step, c.command, err, want)
		}
	}
}

func TestTheFirstChoiceNamesTheStepThatCanRunNow(t *testing.T) {
	for want, completed := range map[string][]workflow.Step{
		"(1) Run Interviewer now (recommended)":      {workflow.StateOwnerScan},
		"(1) Run Scenario Crafter now (recommended)": {workflow.StateOwnerScan, workflow.Interviewer},
	} {
		err := workflow.BeginStep(stateOf(t, workflow.Evolve, completed).Root(), workflow.SpecWriter, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %v: %v", completed, err)
		}
	}
}

// TestEachChoiceDoesWhatItSays makes all three choices for every command and every
// agent with a missing prerequisite.
func TestEachChoiceDoesWhatItSays(t *testing.T) {
	for _, c := range cells(t) {
		if len(c.needs) == 0 {
			continue
		}
		for choice, want := range map[int]string{
			workflow.RunMissing: fmt.Sprintf("%s %s", c.command, workflow.StateOwnerScan),
			workflow.Skip:       fmt.Sprintf("%s %s", c.command, c.step),
			workflow.Abort:      " ",
		} {
			doc := stateOf(t, c.command, nil)
			missing, ok := errors.AsType[*workflow.PrerequisiteError](workflow.BeginStep(doc.Root(), c.step, false))
			if !ok {
				t.Fatalf("%s of %q is not refused", c.step, c.command)
			}
			if err := missing.Choose(doc.Root(), choice); err != nil {
				t.Errorf("%s of %q: choice %d: %v", c.step, c.command, choice, err)
			}
			v := doc.Value()
			if got := v.Get("currentCommand").Text() + " " + v.Get("workflowStep").Text(); got != want {
				t.Errorf("%s of %q: choice %d: %q, want %q", c.step, c.command, choice, got, want)
			}
		}
	}
}

func TestAChoiceIsRefusedWhenAnotherCommandHasBegun(t *testing.T) {
	doc := stateOf(t, workflow.Evolve, nil)
	missing, _ := errors.AsType[*workflow.PrerequisiteError](workflow.BeginStep(doc.Root(), workflow.Interviewer, false))
	doc.Root().Set("currentCommand", workflow.Review)
	for _, choice := range []int{workflow.RunMissing, workflow.Skip, workflow.Abort} {
		err := missing.Choose(doc.Root(), choice)
		if says(err) != "conflict" || !strings.Contains(err.Error(), "the command was evolve and is now review") {
			t.Errorf("choice %d: %v", choice, err)
		}
	}
	if v := doc.Value(); v.Len() != 1 || v.Get("currentCommand").Text() != "review" {
		t.Errorf("changed: %s", v)
	}
	doc.Root().Set("currentCommand", workflow.Evolve)
	if err := missing.Choose(doc.Root(), 4); says(err) != "usage" {
		t.Errorf("choice 4: %v", err)
	}
}
