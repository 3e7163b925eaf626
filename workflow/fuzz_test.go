package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func addFixtures(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzState(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		workflow.CheckState("state.json", doc.Value())
		s, _ := workflow.Read(doc.Value())
		events := workflow.Events(s.BuildEvents)
		workflow.ContextHealth(events, s.BuildRun, 50)
		if s.BuildRun != nil {
			resume, _ := s.BuildRun.Resume(workflow.Spec{Version: s.SpecVersion})
			_ = resume.Text(noon)
			_, _ = s.BuildRun.Outcome(), s.BuildRun.Progress()
		}
		if doc.Root().Kind() == jsontree.Object {
			everyEdit(doc.Root())
		}
		if doc.Err() == nil && !jsontree.Valid(doc.Bytes()) {
			t.Errorf("an edit broke the document: %s", doc.Bytes())
		}
	})
}

// everyEdit tries every kind of edit. An edit may return an error, but must not panic.
func everyEdit(root *jsontree.Node) {
	workflow.StartSession(root)
	_ = workflow.BeginStep(root, workflow.SpecWriter, false)
	_ = workflow.DoneStep(root, workflow.Interviewer, "summary")
	_ = workflow.AddUntracked(root, workflow.UntrackedChange{File: "a", Section: "b"})
	_ = workflow.ClearUntracked(root, "core-flow")
	for _, id := range []workflow.ID{"1", "2", "11a"} {
		_ = workflow.SetChunk(root, workflow.ChunkUpdate{ID: id, To: workflow.Active}, noon)
		_ = workflow.SetChunk(root, workflow.ChunkUpdate{ID: id, To: workflow.Completed}, noon)
	}
	_ = workflow.SetText(root, "buildRun.chunks[0].name", "x")
	_ = workflow.Clear(root, "readinessSummary.draft")
}

func FuzzInbox(f *testing.F) {
	addFixtures(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		workflow.CheckInbox("inbox.json", doc.Value())
		p := newProject(t, workflow.Options{}).with("inbox.json", string(data))
		before, err := p.Inbox().List()
		if err != nil {
			return
		}
		if _, err := p.Inbox().Add(t.Context(), workflow.EvolveItem, "x"); err != nil {
			t.Fatal(err)
		}
		after, err := p.Inbox().List()
		if err != nil || len(after) != len(before)+1 {
			t.Fatalf("%d items became %d, %v", len(before), len(after), err)
		}
		taken, err := p.Inbox().Take(t.Context(), workflow.Claim{})
		if err != nil || taken.ID == "" {
			return
		}
		_, _ = p.Inbox().Done(t.Context(), taken.ID, "")
		_, _ = p.Inbox().Dismiss(t.Context(), taken.ID)
	})
}

func FuzzSetText(f *testing.F) {
	f.Add("buildRun.chunks[0].status", "blocked")
	f.Add(`sectionReadiness.2\.1`, "1.2")
	f.Add("a..b", "[[]]")
	f.Fuzz(func(t *testing.T, path, text string) {
		doc, err := jsontree.Parse([]byte(`{"buildRun": {"chunks": [{"id": 1}]}, "a": null}`))
		if err != nil {
			t.Fatal(err)
		}
		if workflow.SetText(doc.Root(), path, text) != nil {
			return
		}
		if doc.Err() != nil || !jsontree.Valid(doc.Bytes()) {
			t.Fatalf("%q=%q: %v %s", path, text, doc.Err(), doc.Bytes())
		}
		if got, err := workflow.Get(doc.Value(), path); err == nil && strings.TrimSpace(text) == "null" {
			t.Fatalf("%q=null is %s", path, got)
		}
	})
}

func FuzzEvent(f *testing.F) {
	f.Add("chunk-verified", "checks", `[{"name":"x","result":"pass"}]`)
	f.Add("tick", "n", "1")
	f.Fuzz(func(t *testing.T, kind, name, text string) {
		field, err := workflow.TextField(kind, name, text)
		if err != nil {
			return
		}
		event, err := workflow.Draft{Kind: kind, Fields: []workflow.Field{field}}.Event(noon)
		if err == nil && !jsontree.Valid(event.Raw()) {
			t.Fatalf("%s", event)
		}
	})
}
