package workflow_test

import (
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestAFieldIsSetByItsPath(t *testing.T) {
	for _, row := range []struct{ path, text, want string }{
		{"specVersion", "1.2", `{"specVersion":"1.2"}`},
		{"activeSectionNumber", "2", `{"activeSectionNumber":"2"}`},
		{"nextStep", "true", `{"nextStep":"true"}`},
		{"custom", "1.20", `{"custom":1.20}`},
		{"custom", `{"a":[1]}`, `{"custom":{"a":[1]}}`},
		{"custom", `say "hi" <now>`, `{"custom":"say \"hi\" <now>"}`},
		{"scenarioScore.satisfied", "5", `{"scenarioScore":{"satisfied":5}}`},
		{"agentOutputs.researcher.summary", "Found 3", `{"agentOutputs":{"researcher":{"summary":"Found 3"}}}`},
		{`sectionReadiness.2\.1`, "aligned", `{"sectionReadiness":{"2.1":"aligned"}}`},
		{"currentCommand", "deploy", `{"currentCommand":"deploy"}`},
		{"buildEvents", `[{"kind":"x"}]`, `{"buildEvents":[{"kind":"x"}]}`},
		{"activeSection", "null", `{"activeSection":null}`},
	} {
		doc, _ := jsontree.Parse([]byte("{}"))
		if err := workflow.SetText(doc.Root(), row.path, row.text); err != nil {
			t.Errorf("%s=%s: %v", row.path, row.text, err)
		}
		if got := strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(string(doc.Bytes())); got != row.want {
			t.Errorf("%s=%s: got %s, want %s", row.path, row.text, got, row.want)
		}
	}
}

func TestAFieldOfTheProtocolTakesOnlyItsType(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "build-run.json"))
	before := p.read("state.json")
	for _, row := range []struct{ path, text, want string }{
		{"completedSteps", "interviewer", "an array"},
		{"completedSteps", "[1]", "a string"},
		{"scenarioScore", "5/8", "an object"},
		{"scenarioScore.total", "many", "a whole number"},
		{"readinessSummary.aligned", "many", "a count"},
		{"activeSection", "{}", "a string"},
		{"buildRun.chunks[0].attempt", "first", "a whole number"},
		{"buildRun.chunks[0].id", "11a", "a number"},
		{"buildRun.chunks.0.deps", "[1]", "dependsOn"},
		{"buildRun.startedAt", "yesterday", "not a time"},
		{"buildRun.status.x", "1", "has no fields"},
		{"buildRun.chunks[9].name", "x", "no fields"},
		{"buildRun.chunks[9]", "{}", "3 items"},
		{"a..b", "1", "empty name"},
		{"", "1", "empty name"},
		{"a[x]", "1", "bracket"},
		{strings.Repeat("a.", 5000) + "a", "1", "more than 50 names"},
		{"deep", strings.Repeat("[", 150) + strings.Repeat("]", 150), "deeper"},
		{"custom", "\xff", "UTF-8"},
	} {
		err := p.edit(func(root *jsontree.Node) error { return workflow.SetText(root, row.path, row.text) })
		if err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 400 {
			t.Errorf("%.40s=%.40s: got %v, want %q", row.path, row.text, err, row.want)
		}
	}
	if p.read("state.json") != before {
		t.Error("a refused value was written")
	}
}

func TestExistingProblemsDoNotPreventOtherEdits(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", "wrong-types.json"))
	p.must(func(root *jsontree.Node) error { return workflow.SetText(root, "nextStep", "go") })
	p.must(func(root *jsontree.Node) error { return workflow.SetText(root, "activeSection", "#core-flow") })
}

func TestAWordThatTheProtocolDoesNotKnowIsTaken(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "build-run.json"))
	p.must(func(root *jsontree.Node) error { return workflow.SetText(root, "buildRun.chunks[1].status", "blocked") })
	if got := p.state().BuildRun.Chunks[1].Status; got != "blocked" {
		t.Errorf("status %q", got)
	}
}

func TestClearingSetsNullAndAddsNothing(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", `{"a": {"b": 1}, "c": [1], "lastUpdated": "2026-02-17T12:00:00Z"}`)
	for _, path := range []string{"a.b", "not.there", "nothing"} {
		p.must(func(root *jsontree.Node) error { return workflow.Clear(root, path) })
	}
	if got, want := p.read("state.json"), `{"a": {"b": null}, "c": [1], "lastUpdated": "2026-02-17T12:00:00Z"}`; got != want {
		t.Errorf("got %s", got)
	}
	if err := p.edit(func(root *jsontree.Node) error { return workflow.Clear(root, "c[0]") }); says(err) != "usage" {
		t.Errorf("an item was cleared: %v", err)
	}
}

func TestAnAbsentFieldIsNotFound(t *testing.T) {
	v := parse(t, fixture(t, "seed", "state.json"))
	for _, path := range []string{"nothing", "scenarioScore.nothing", "untrackedChanges[7]", "specVersion.x", "untrackedChanges.x"} {
		if _, err := workflow.Get(v, path); says(err) != "not found" {
			t.Errorf("%s: %v", path, err)
		}
	}
	got, err := workflow.Get(v, "untrackedChanges[0].sectionNumber")
	if err != nil || got.Text() != "2.12" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestChangesNameTheFieldsThatDiffer(t *testing.T) {
	before := parse(t, `{"a": 1, "b": 2, "gone": 3, "null": null, "same": {"x": 1}}`)
	after := parse(t, `{"a": 1, "b": 3, "new": 4, "null": null, "same": {"x": 1}}`)
	var got []string
	for _, c := range workflow.Changes(before, after) {
		got = append(got, c.Field+"="+c.Value.String())
	}
	if want := "b=3 new=4 gone="; strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
}
