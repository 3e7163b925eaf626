package workflow_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// stateExamples are the protocol's examples of state.json.
var stateExamples = []string{"state.json", "build-run.json", "cleared.json"}

func TestAnUpdateThatChangesNothingLeavesTheProtocolsExamplesAsTheyAre(t *testing.T) {
	for _, name := range stateExamples {
		t.Run(name, func(t *testing.T) {
			before := fixture(t, "seed", name)
			p := newProject(t, workflow.Options{}).with("state.json", before)
			p.must(func(*jsontree.Node) error { return nil })
			if after := p.read("state.json"); after != before {
				t.Error(cmp.Diff(before, after))
			}
		})
	}
}

func TestAnUpdateChangesOnlyTheBytesOfItsFields(t *testing.T) {
	before := fixture(t, "seed", "state.json")
	p := newProject(t, workflow.Options{}).with("state.json", before)
	p.must(func(root *jsontree.Node) error {
		return workflow.DoneStep(root, workflow.Interviewer, "Captured 6 decisions")
	})
	want := strings.NewReplacer(
		`"workflowStep": "interviewer"`, `"workflowStep": null`,
		`["state-owner-scan"]`, `["state-owner-scan", "interviewer"]`,
		`Captured 5 decisions, 2 ASSUMED, 1 MISSING...`, `Captured 6 decisions`,
		`2026-02-12T15:23:45Z`, `2026-02-17T12:00:00Z`,
	).Replace(before)
	if after := p.read("state.json"); after != want {
		t.Error(cmp.Diff(want, after))
	}
}

func TestAChunksCompletionChangesOnlyTheBytesOfItsFields(t *testing.T) {
	before := fixture(t, "seed", "build-run.json")
	p := newProject(t, workflow.Options{}).with("state.json", before)
	p.must(func(root *jsontree.Node) error {
		return workflow.SetChunk(root, workflow.ChunkUpdate{ID: "2", To: workflow.Completed}, noon)
	})
	want := strings.NewReplacer(
		`"status": "active"`, `"status": "completed"`,
		`"startedAt": "2026-02-17T04:13:00Z"`, `"startedAt": "2026-02-17T04:13:00Z",
        "specVersionAtBuild": "2.4",
        "completedAt": "2026-02-17T12:00:00Z"`,
		`"lastCheckpoint": "2026-02-17T04:12:00Z"
  }`, `"lastCheckpoint": "2026-02-17T12:00:00Z"
  },
  "chunkProgress": {
    "current": 2,
    "total": 7
  },
  "lastUpdated": "2026-02-17T12:00:00Z"`,
	).Replace(before)
	if after := p.read("state.json"); after != want {
		t.Error(cmp.Diff(want, after))
	}
}

func TestAClearedFieldIsSetAgainInItsPlace(t *testing.T) {
	before := fixture(t, "seed", "cleared.json")
	p := newProject(t, workflow.Options{}).with("state.json", before)
	p.must(func(root *jsontree.Node) error { return workflow.Set(root, "activeSection", parse(t, `"#core-flow"`)) })
	want := strings.NewReplacer(
		`"activeSection": null`, `"activeSection": "#core-flow"`, `2026-02-12T15:30:00Z`, `2026-02-17T12:00:00Z`,
	).Replace(before)
	if after := p.read("state.json"); after != want {
		t.Error(cmp.Diff(want, after))
	}
}

func TestAnItemThatIsDoneChangesOnlyItsStatus(t *testing.T) {
	before := fixture(t, "seed", "inbox.json")
	p := newProject(t, workflow.Options{}).with("inbox.json", before)
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Inbox().Done(t.Context(), "inbox-1708012345678-a1b2c3", ""); err != nil {
		t.Fatal(err)
	}
	if got, want := p.read("inbox.json"), strings.Replace(before, "pending", "processed", 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAnEventOfTheProtocolKeepsItsBytesWhenOthersFollow(t *testing.T) {
	for _, name := range []string{"chunk-verified.json", "context-checkpointed.json"} {
		example := strings.TrimSpace(fixture(t, "seed", name))
		p := newProject(t, workflow.Options{}).with("state.json", `{"buildEvents": [`+example+`]}`)
		if got := p.places(); !slices.Equal(got, []string{"missing-last-updated lastUpdated"}) {
			t.Errorf("%s: %v", name, got)
		}
		if _, err := p.Emit(t.Context(), workflow.Compacted("Chunk 3", "half of it")); err != nil {
			t.Fatal(err)
		}
		if got := p.read("state.json"); !strings.HasPrefix(got, `{"buildEvents": [`+example+`,`) {
			t.Errorf("%s: now %s", name, got)
		}
	}
}

func TestTheProtocolsExamplesAreRegular(t *testing.T) {
	for _, name := range []string{"state.json", "cleared.json"} {
		p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", name))
		if got := p.names(); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "seed", "inbox.json"))
	if got := p.names(); len(got) > 0 {
		t.Errorf("inbox: %v", got)
	}
	// This example contains only the field buildRun, so the other fields of a state are missing.
	p = newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "build-run.json"))
	if got, want := p.names(), []string{"missing-last-updated"}; !cmp.Equal(got, want) {
		t.Errorf("build run: %v, want %v", got, want)
	}
}

func TestEveryFieldOfTheStateExampleIsRead(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "state.json"))
	s := p.state()
	if s.ReadinessSummary["aligned"].Count != 28 || !s.ReadinessSummary["draft"].Known {
		t.Errorf("readiness %v", s.ReadinessSummary)
	}
	s.ReadinessSummary = nil
	want := workflow.State{
		ActiveSection: "#core-flow", ActiveSectionNumber: "2.2",
		CurrentCommand: workflow.Evolve, WorkflowStep: workflow.Interviewer,
		CompletedSteps: []workflow.Step{workflow.StateOwnerScan},
		NextStep:       "Run /fctry:execute to build the new behavior",
		ScenarioScore:  &workflow.Score{Satisfied: 5, Total: 8},
		ChunkProgress:  &workflow.Progress{Current: 2, Total: 4},
		UntrackedChanges: []workflow.UntrackedChange{{
			File: "src/statusline/fctry-statusline.js", Section: "status-line",
			SectionNumber: "2.12", Timestamp: "2026-02-13T10:05:00Z",
		}},
		SpecVersion: "1.2",
		AgentOutputs: map[string]workflow.AgentOutput{
			"state-owner": {
				Summary:           "Project has spec v1.2, 3 sections spec-ahead...",
				RelevanceManifest: []string{"src/viewer/server.js", ".fctry/spec.md#core-flow"},
			},
			"interviewer": {Summary: "Captured 5 decisions, 2 ASSUMED, 1 MISSING..."},
			"researcher":  {Summary: "Found 3 patterns relevant to #async-inbox..."},
		},
		LastUpdated: "2026-02-12T15:23:45Z",
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFieldOfTheBuildRunExampleIsRead(t *testing.T) {
	s, mismatches := workflow.Read(parse(t, fixture(t, "seed", "build-run.json")))
	if len(mismatches) > 0 {
		t.Error(mismatches)
	}
	run := *s.BuildRun
	first, second := run.Chunks[0], run.Chunks[1]
	run.Chunks = nil
	want := workflow.BuildRun{
		RunID: "run-1708012345678", Status: workflow.Running, StartedAt: "2026-02-17T04:00:00Z",
		Plan: workflow.Plan{
			TotalChunks: 7, Priorities: []string{"speed", "reliability", "token-efficiency"},
			PrioritySource: "global", SpecVersion: "2.4",
		},
		ConvergencePhase: "viewer-mission-control", LastCheckpoint: "2026-02-17T04:12:00Z",
	}
	if diff := cmp.Diff(want, run, cmp.AllowUnexported(jsontree.Value{})); diff != "" {
		t.Error(diff)
	}
	chunks := []workflow.Chunk{{
		ID: "1", Name: "Glossary Fix + State Protocol Schema", Status: workflow.Completed,
		Sections: []string{"#entities", "#rules"}, Scenarios: []string{"Build Resume After Session Death"},
		DependsOn: []workflow.ID{}, SpecVersionAtBuild: "2.4", CompletedAt: "2026-02-17T04:12:00Z",
	}, {
		ID: "2", Name: "Event History on Reconnect", Status: workflow.Active,
		Sections: []string{"#spec-viewer"}, Scenarios: []string{"Viewer as Live Mission Control During Builds"},
		DependsOn: []workflow.ID{}, Attempt: 1, StartedAt: "2026-02-17T04:13:00Z",
	}}
	if diff := cmp.Diff(chunks, []workflow.Chunk{first, second}); diff != "" {
		t.Error(diff)
	}
}

func TestANewItemHasTheFormOfTheInboxExample(t *testing.T) {
	p := newProject(t, workflow.Options{
		Rand: repeating("\xa1\xb2\xc3"),
		Now:  func() time.Time { return time.UnixMilli(1708012345678) },
	})
	if _, err := p.Inbox().Add(t.Context(), workflow.EvolveItem, "Make onboarding faster"); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(fixture(t, "seed", "inbox.json"), "2026-02-16T10:00:00Z", "2024-02-15T15:52:25Z", 1)
	if got := p.read("inbox.json"); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAnEventHasTheFormOfTheProtocolsExamples(t *testing.T) {
	drafts := map[string]workflow.Draft{
		"chunk-verified.json": workflow.Verified("Chunk 3: DAG Visualization", "", []workflow.Check{
			{Name: "DAG container exists", Result: workflow.Pass},
			{Name: "6 nodes visible", Result: workflow.Pass},
			{Name: "Completed nodes show green", Result: workflow.Pass, Retried: true},
			{Name: "Edge connections present", Result: workflow.Pass},
		}, workflow.Full, ".fctry/verification/chunk-3-dag.png"),
		"context-checkpointed.json": workflow.Checkpointed("Chunk 3: Spec Viewer Layout", "Build state checkpointed before context boundary"),
	}
	for name, draft := range drafts {
		want := parse(t, fixture(t, "seed", name))
		now, err := time.Parse(time.RFC3339, want.Get("timestamp").Text())
		if err != nil {
			t.Fatal(err)
		}
		event, err := draft.Event(now)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := format(t, event), format(t, want); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
}

func format(t *testing.T, v jsontree.Value) string {
	t.Helper()
	text, err := jsontree.Format(v.Raw())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
