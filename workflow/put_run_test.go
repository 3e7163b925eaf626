package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestARunIsWrittenAfterTheUserChangedItsChunks(t *testing.T) {
	const done, active = `{"id":1,"status":"completed"}`, `{"id":2,"status":"active","attempt":1}`
	const added = `{"id":2,"name":"Two","status":"active","sections":[],"scenarios":[],"dependsOn":[],"attempt":1}`
	run := workflow.BuildRun{RunID: "run-1", Status: workflow.Running, StartedAt: "2026-02-17T12:00:00Z", Chunks: []workflow.Chunk{
		{ID: "1", Status: workflow.Completed},
		{ID: "2", Name: "Two", Status: workflow.Active, Attempt: 1, Sections: []string{}, Scenarios: []string{}, DependsOn: []workflow.ID{}},
	}}
	for name, c := range map[string]struct{ before, after string }{
		"one was taken out": {`{"id":1,"status":"active"}`, done + `,` + added},
		"one has another id": {
			`{"id":1,"status":"active"},{"id":"two","note":"mine"}`,
			done + `,{"id":"two","note":"mine"},` + added,
		},
		"one is there twice": {`{"id":1},{"id":2},{"id":2}`, done + `,` + active + `,` + active},
		"one is no object":   {`{"id":1},"two"`, done + `,"two",` + added},
		"one has no id":      {`{"status":"active"},{"id":2}`, `{"status":"completed"},` + active},
	} {
		state := `{"buildRun":{"runId":"run-1","note":"mine","chunks":[`
		doc, err := jsontree.Parse([]byte(state + c.before + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			workflow.PutRun(doc.Root(), run)
		}
		got, _ := workflow.Get(doc.Value(), "buildRun.chunks")
		if diff := cmp.Diff(`[`+c.after+`]`, string(got.Raw())); diff != "" || doc.Value().Get("buildRun").Get("note").Text() != "mine" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeletedChunksOfARunAreRestored(t *testing.T) {
	run := workflow.BuildRun{RunID: "run-1", StartedAt: "2026-02-17T12:00:00Z", Plan: workflow.Plan{TotalChunks: 1}, Chunks: []workflow.Chunk{{ID: "1", Status: workflow.Active, Attempt: 1}}}
	for _, left := range []string{``, `,"chunks":[]`, `,"chunks":null`, `,"chunks":"none"`, `,"plan":{"totalChunks":1}`, `,"plan":3`} {
		doc, err := jsontree.Parse([]byte(`{"buildRun":{"runId":"run-1","note":"mine"` + left + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		workflow.PutRun(doc.Root(), run)
		state, _ := workflow.Read(doc.Value())
		if got := state.BuildRun; len(got.Chunks) != 1 || got.Chunks[0].Status != workflow.Active || got.StartedAt != run.StartedAt || got.Status != workflow.Running {
			t.Errorf("%s: %s", left, doc.Bytes())
		}
		if doc.Value().Get("buildRun").Get("note").Text() != "mine" {
			t.Errorf("%s: %s", left, doc.Bytes())
		}
	}
}
