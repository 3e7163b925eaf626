package workflow_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func build(t *testing.T, chunks ...workflow.Chunk) *project {
	t.Helper()
	p := newProject(t, workflow.Options{})
	p.must(func(root *jsontree.Node) error {
		_, err := workflow.StartRun(root, workflow.NewRun{Chunks: chunks, SpecVersion: "2.4"}, noon)
		return err
	})
	return p
}

func (p *project) move(id workflow.ID, to workflow.ChunkStatus) error {
	return p.edit(func(root *jsontree.Node) error {
		return workflow.SetChunk(root, workflow.ChunkUpdate{ID: id, To: to}, noon)
	})
}

func TestANewRunHasThePlansChunksInTheProtocolsForm(t *testing.T) {
	p := build(t, workflow.Chunk{Name: "One"}, workflow.Chunk{Name: "Two", DependsOn: []workflow.ID{"1"}})
	want := `{
  "buildRun": {
    "runId": "run-1771329600000",
    "status": "running",
    "startedAt": "2026-02-17T12:00:00Z",
    "plan": {
      "totalChunks": 2,
      "priorities": [],
      "prioritySource": "",
      "specVersion": "2.4"
    },
    "chunks": [
      {
        "id": 1,
        "name": "One",
        "status": "planned",
        "sections": [],
        "scenarios": [],
        "dependsOn": []
      },
      {
        "id": 2,
        "name": "Two",
        "status": "planned",
        "sections": [],
        "scenarios": [],
        "dependsOn": [
          1
        ]
      }
    ]
  },
  "lastUpdated": "2026-02-17T12:00:00Z"
}
`
	if got := p.read("state.json"); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got := p.names(); len(got) > 0 {
		t.Errorf("it is irregular: %v", got)
	}
}

func TestAnInvalidPlanIsRefused(t *testing.T) {
	p := newProject(t, workflow.Options{})
	for _, chunks := range [][]workflow.Chunk{
		{{ID: "a"}, {ID: "a"}},
		{{ID: "1", DependsOn: []workflow.ID{"9"}}},
	} {
		err := p.edit(func(root *jsontree.Node) error {
			_, err := workflow.StartRun(root, workflow.NewRun{Chunks: chunks}, noon)
			return err
		})
		if says(err) != "usage" {
			t.Errorf("%v: %v", chunks, err)
		}
	}
}

func TestARunThatCanBeResumedIsReplacedOnlyOnPurpose(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "seed", "build-run.json"))
	start := func(fresh bool) error {
		return p.edit(func(root *jsontree.Node) error {
			_, err := workflow.StartRun(root, workflow.NewRun{Chunks: []workflow.Chunk{{}}, Fresh: fresh}, noon)
			return err
		})
	}
	if err := start(false); says(err) != "conflict" {
		t.Errorf("got %v", err)
	}
	if err := start(true); err != nil {
		t.Error(err)
	}
}

func TestAChunkChangesStatusOnlyByTheTable(t *testing.T) {
	all := []workflow.ChunkStatus{workflow.Planned, workflow.Active, workflow.Retrying, workflow.Completed, workflow.Failed}
	allowed := map[string]bool{
		"planned active":  true,
		"active retrying": true, "active completed": true, "active failed": true, "active planned": true,
		"retrying retrying": true, "retrying completed": true, "retrying failed": true, "retrying planned": true,
		"completed planned": true,
		"failed retrying":   true, "failed planned": true,
	}
	for _, from := range append(all, "blocked", "running") {
		for _, to := range append(all, "paused") {
			p := newProject(t, workflow.Options{}).with("state.json", fmt.Sprintf(`{"buildRun":{"chunks":[{"id":1,"status":%q}]}}`, from))
			err := p.move("1", to)
			if ok := err == nil; ok != allowed[string(from)+" "+string(to)] {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && says(err) != "conflict" {
				t.Errorf("%s to %s: %v is no conflict", from, to, err)
			}
		}
	}
}

func TestARefusedTransitionNamesItsSuccessors(t *testing.T) {
	p := build(t, workflow.Chunk{})
	want := "chunk 1: cannot go from planned to completed: planned may be followed by active"
	if err := p.move("1", workflow.Completed); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := p.move("7", workflow.Active); says(err) != "not found" {
		t.Errorf("got %v", err)
	}
}

func TestStatusChangesSetTimesAndAttemptsOfAChunk(t *testing.T) {
	p := build(t, workflow.Chunk{}, workflow.Chunk{DependsOn: []workflow.ID{"1"}})
	for _, step := range []struct {
		id       workflow.ID
		to       workflow.ChunkStatus
		attempt  int
		progress workflow.Progress
		run      workflow.RunStatus
	}{
		{"1", workflow.Active, 1, workflow.Progress{Current: 1, Total: 2}, workflow.Running},
		{"1", workflow.Retrying, 2, workflow.Progress{Current: 1, Total: 2}, workflow.Running},
		{"1", workflow.Failed, 2, workflow.Progress{}, workflow.Partial},
		{"1", workflow.Retrying, 3, workflow.Progress{Current: 1, Total: 2}, workflow.Running},
		{"1", workflow.Completed, 3, workflow.Progress{Current: 1, Total: 2}, workflow.Running},
		{"2", workflow.Active, 1, workflow.Progress{Current: 2, Total: 2}, workflow.Running},
		{"2", workflow.Planned, 0, workflow.Progress{Current: 1, Total: 2}, workflow.Running},
		{"2", workflow.Active, 1, workflow.Progress{Current: 2, Total: 2}, workflow.Running},
		{"2", workflow.Completed, 1, workflow.Progress{}, workflow.RunCompleted},
	} {
		if err := p.move(step.id, step.to); err != nil {
			t.Fatal(err)
		}
		s := p.state()
		var c workflow.Chunk
		for _, each := range s.BuildRun.Chunks {
			if each.ID == step.id {
				c = each
			}
		}
		var progress workflow.Progress
		if s.ChunkProgress != nil {
			progress = *s.ChunkProgress
		}
		if c.Status != step.to || c.Attempt != step.attempt || progress != step.progress || s.BuildRun.Status != step.run {
			t.Errorf("%s %s: %+v, %+v, %s", step.id, step.to, c, progress, s.BuildRun.Status)
		}
		if (c.CompletedAt != "") != (step.to == workflow.Completed) || (c.FailedAt != "") != (step.to == workflow.Failed) {
			t.Errorf("%s %s: completed %q, failed %q", step.id, step.to, c.CompletedAt, c.FailedAt)
		}
	}
	s := p.state()
	if s.BuildRun.Chunks[0].SpecVersionAtBuild != "2.4" || s.BuildRun.LastCheckpoint != "2026-02-17T12:00:00Z" {
		t.Errorf("%+v", s.BuildRun)
	}
	p.must(func(root *jsontree.Node) error { workflow.ClearRun(root); return nil })
	if s := p.state(); s.BuildRun != nil || s.ChunkProgress != nil {
		t.Errorf("not cleared: %+v", s)
	}
}

func TestAnUnknownRunStatusIsNotRewritten(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", "run-status-paused.json"))
	if err := p.move("2", workflow.Active); err != nil {
		t.Fatal(err)
	}
	if got := p.state().BuildRun.Status; got != "paused" {
		t.Errorf("status %q", got)
	}
}

func TestChunksAreUpdatedInBothLists(t *testing.T) {
	for name, id := range map[string]workflow.ID{
		"chunks-under-plan.json": "2", "chunk-id-missing.json": "2", "chunk-id-string.json": "MANUAL",
	} {
		p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", name))
		if err := p.move(id, workflow.Active); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.state().BuildRun.Chunks[1].Status; got != workflow.Active {
			t.Errorf("%s: status %q", name, got)
		}
	}
}

func TestTwoChunksWithOneIDAreNotChanged(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", `{"buildRun":{"chunks":[{"id":1},{"id":"1"}]}}`)
	if err := p.move("1", workflow.Active); says(err) != "invalid" {
		t.Errorf("got %v", err)
	}
}

func TestALongChainThatWaitsForAFailedChunkIsPartial(t *testing.T) {
	const length = 100_000
	run := workflow.BuildRun{}
	for i := length; i > 1; i-- {
		run.Chunks = append(run.Chunks, workflow.Chunk{
			ID: workflow.ID(fmt.Sprint(i)), DependsOn: []workflow.ID{workflow.ID(fmt.Sprint(i - 1))},
		})
	}
	run.Chunks = append(run.Chunks, workflow.Chunk{ID: "1", Status: workflow.Failed})
	if got := run.Outcome(); got != workflow.Partial {
		t.Errorf("outcome %q", got)
	}
	if got := (workflow.BuildRun{Chunks: []workflow.Chunk{{ID: "1", Status: workflow.Failed}, {ID: "2"}}}).Outcome(); got != workflow.Running {
		t.Errorf("with one that can still run: %q", got)
	}
}
