package build

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const chunks = `
name: mission control
priorities: [speed, reliability, token-efficiency]
prioritySource: global
convergence:
  - {phase: ground, chunks: [1]}
  - {phase: viewer-mission-control, chunks: [2, "3b"]}
chunks:
  - id: 1
    name: Glossary Fix
    sections: ["#entities", "#rules"]
    scenarios: [Build Resume After Session Death]
    verify: [go vet ./...]
  - id: 2
    name: Event History
    sections: ["#spec-viewer"]
    dependsOn: [1]
    prompt: Keep the history.
    retries: 3
    timeout: 30m
    agent: codex
  - id: 3b
    name: Feed
    dependsOn: [1, 2]
`

var began = time.Date(2026, 2, 17, 4, 0, 0, 0, time.UTC)

func read(t *testing.T, text string) Plan {
	t.Helper()
	p, err := Read("plan.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newBuild(t *testing.T, s Start) (Build, plan.Plan) {
	t.Helper()
	s.RunID, s.Now, s.SpecVersion = "run-1", began, "2.4"
	s.VerifyCommand = func(c Chunk) string { return "check " + string(c.ID) }
	b, p, err := New(read(t, chunks), s)
	if err != nil {
		t.Fatal(err)
	}
	return b, p
}

func TestChunksAreTasksOfTheEngine(t *testing.T) {
	b, p := newBuild(t, Start{})
	if b.Run.ConvergencePhase != "ground" || b.Run.Plan.SpecVersion != "2.4" || b.Run.Plan.TotalChunks != 3 || b.Run.Chunks[2].ID != "3b" {
		t.Errorf("the build is %+v", b.Run)
	}
	two := p.Tasks[1]
	if p.Tasks[0].Verify[0] != "check 1" || two.ID != "chunk-2" || two.After[0] != "chunk-1" || two.Retries != 3 || two.Timeout != 30*time.Minute || two.Agent != "codex" {
		t.Errorf("the tasks are %+v", p.Tasks)
	}
	want := "Build Chunk 1: Glossary Fix.\n\nIt covers these sections of .fctry/spec.md: #entities, #rules.\n\nWhen it is done these scenarios hold:\n- Build Resume After Session Death\n\nPriorities, the first counts most: speed, reliability, token-efficiency.\n"
	if p.Tasks[0].Prompt != want {
		t.Errorf("the prompt is %q", p.Tasks[0].Prompt)
	}
	again, err := Of(p.Build)
	if err != nil || again.Run.Chunks[1].Name != "Event History" || again.Source.Chunks[1].Timeout != 30*time.Minute {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestKeptChunksAreNotBuiltAgain(t *testing.T) {
	done := workflow.Chunk{ID: "1", Name: "Glossary Fix", Status: workflow.Completed, SpecVersionAtBuild: "2.3"}
	b, p := newBuild(t, Start{Done: map[workflow.ID]workflow.Chunk{"1": done}})
	if len(p.Tasks) != 2 || len(p.Tasks[0].After) != 0 || strings.Join(p.Tasks[1].After, " ") != "chunk-2" || b.Run.Chunks[0].SpecVersionAtBuild != "2.3" {
		t.Errorf("%+v, %+v", p.Tasks, b.Run.Chunks)
	}
	if b.Run.ConvergencePhase != "viewer-mission-control" {
		t.Errorf("the phase is %s", b.Run.ConvergencePhase)
	}
}

// eventWriter applies events to a document, one at a time, as the writer of a build does.
type eventWriter struct {
	t       *testing.T
	story   *Progress
	doc     *jsontree.Doc
	seq     int64
	now     time.Time
	entries []FeedEntry // feed entries of all events so far
	feed    []workflow.Event
}

func newTeller(t *testing.T) *eventWriter {
	b, _ := newBuild(t, Start{})
	doc, err := jsontree.Parse([]byte(`{"mine": 1, "currentCommand": "execute", "workflowStep": "executor-build"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &eventWriter{t: t, story: NewProgress(b), doc: doc, now: began}
}

func outcome(task string, attempt int) (Outcome, bool) {
	checks := []workflow.Check{{Name: "go vet ./...", Result: workflow.Pass}}
	if attempt == 1 {
		checks[0].Result = workflow.Fail
	}
	return Outcome{Checks: checks, Mode: workflow.Full}, task == "chunk-1"
}

func (n *eventWriter) event(kind, task, to string, tried *store.Attempt) {
	n.t.Helper()
	n.seq++
	n.now = n.now.Add(time.Minute)
	e := store.Event{Seq: n.seq, At: n.now, Kind: kind, Run: "r", Task: task, To: to}
	if tried != nil {
		tried.Task = task
		e.AttemptRow, _ = json.Marshal(tried)
	}
	entries, err := n.story.Apply(e, outcome)
	if err != nil {
		n.t.Fatal(err)
	}
	n.entries = append(n.entries, entries...)
	n.write()
}

func (n *eventWriter) write() {
	n.t.Helper()
	feed, err := n.story.Write(n.doc.Root(), "r", n.entries, n.seq, SpecInfo{Version: "2.5", Number: func(string) string { return "2.9" }})
	if err != nil {
		n.t.Fatal(err)
	}
	n.feed = append(n.feed, workflow.Events(feed)...)
}

func (n *eventWriter) run() *workflow.BuildRun {
	state, _ := workflow.Read(n.doc.Value())
	return state.BuildRun
}

func (n *eventWriter) kinds() string {
	var list []string
	for _, e := range n.feed {
		list = append(list, e.Kind)
	}
	n.feed = nil
	return strings.Join(list, " ")
}

func (n *eventWriter) expect(what, got, want string) {
	n.t.Helper()
	if got != want {
		n.t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

func TestABuildIsReportedOnceInTheFeed(t *testing.T) {
	n := newTeller(t)
	checks := json.RawMessage(`[{"command":"x","ok":false}]`)
	n.event("task.running", "chunk-1", "running", &store.Attempt{Number: 1})
	n.expect("start", n.kinds(), "context-checkpointed context-boundary chunk-started section-started section-started")
	if c := n.run().Chunks[0]; c.Status != workflow.Active || c.Attempt != 1 || c.StartedAt != "2026-02-17T04:01:00Z" {
		t.Errorf("chunk 1 is %+v", c)
	}
	n.expect("section", n.doc.Value().Get("activeSection").Text()+n.doc.Value().Get("activeSectionNumber").Text(), "#entities2.9")
	n.event("task.queued", "chunk-1", "queued", &store.Attempt{Number: 1, Status: store.Failed, Ending: fleet.Ending{Class: "verify_failed", Summary: "vet: bad\nmore", Checks: checks}})
	n.expect("failed check", n.kinds(), "verification-failed")
	n.event("task.running", "chunk-1", "running", &store.Attempt{Number: 2})
	n.expect("retry", n.kinds(), "context-checkpointed context-boundary chunk-retrying")
	n.event("attempt.compacted", "chunk-1", "", nil)
	n.event("question.asked", "chunk-1", "", nil)
	n.expect("question", n.feed[len(n.feed)-1].Summary, "The user is asked: ")
	n.expect("in between", n.kinds(), "context-compacted escalation-emitted")
	if c := n.run().Chunks[0]; c.Status != workflow.Retrying || c.Attempt != 2 || n.doc.Value().Get("chunkProgress").Get("current").String() != "1" {
		t.Errorf("chunk 1 is %+v", c)
	}
	n.event("task.complete", "chunk-1", "complete", &store.Attempt{Number: 2, Status: store.Complete, Ending: fleet.Ending{Checks: checks}})
	n.expect("end", n.kinds(), "chunk-verified section-completed section-completed chunk-completed checkpoint-saved")
	if c := n.run().Chunks[0]; c.Status != workflow.Completed || c.SpecVersionAtBuild != "2.5" || c.CompletedAt == "" || n.run().LastCheckpoint != c.CompletedAt || n.run().ConvergencePhase != "viewer-mission-control" {
		t.Errorf("chunk 1 is %+v of %+v", c, n.run())
	}
	n.write() // a second write, as by another process, must change nothing
	n.expect("once more", n.kinds(), "")
	n.event("task.running", "chunk-2", "running", &store.Attempt{Number: 1})
	n.event("task.failed", "chunk-2", "failed", &store.Attempt{Number: 1, Status: store.Failed, Ending: fleet.Ending{Class: "denied"}})
	n.kinds()
	n.event("task.cancelled", "chunk-3b", "cancelled", nil)
	n.event("run.failed", "", "failed", nil)
	if run := n.run(); run.Status != workflow.Partial || run.Chunks[1].Status != workflow.Failed || run.Chunks[1].FailedAt == "" || run.Chunks[2].Status != workflow.Planned {
		t.Errorf("the build is %+v", run)
	}
	state, _ := workflow.Read(n.doc.Value())
	if state.CurrentCommand != "" || state.NextStep == "" || state.ActiveSection != "" || n.doc.Value().Get("mine").String() != "1" {
		t.Errorf("the state is %s", n.doc.Bytes())
	}
}

func TestABuildThatIsDoneLeavesNothingBehind(t *testing.T) {
	n := newTeller(t)
	for _, task := range []string{"chunk-1", "chunk-2", "chunk-3b"} {
		n.event("task.running", task, "running", &store.Attempt{Number: 1})
		n.event("task.complete", task, "complete", &store.Attempt{Number: 1, Status: store.Complete})
	}
	n.event("run.complete", "", "complete", nil)
	if v := n.doc.Value(); v.Get("buildRun").Kind() != jsontree.Null || !v.Get("chunkProgress").Absent() && v.Get("chunkProgress").Kind() != jsontree.Null {
		t.Errorf("the state is %s", n.doc.Bytes())
	}
	n.feed = nil
	n.write()
	if n.expect("reported again", n.kinds(), ""); n.run() != nil {
		t.Error("the build came back")
	}
}

func TestALostStateIsWrittenAgainAndAnotherBuildIsNotChanged(t *testing.T) {
	n := newTeller(t)
	n.event("task.running", "chunk-1", "running", &store.Attempt{Number: 1})
	n.doc, _ = jsontree.Parse([]byte(`{}`))
	n.feed = nil
	n.write()
	n.expect("after the loss", n.kinds(), "context-checkpointed context-boundary chunk-started section-started section-started")
	if n.run().Chunks[0].Status != workflow.Active {
		t.Errorf("the state is %s", n.doc.Bytes())
	}
	n.doc.Root().Child("buildRun").Set("runId", "run-other")
	before := string(n.doc.Bytes())
	if _, err := n.story.Write(n.doc.Root(), "r", n.entries, n.seq, SpecInfo{}); err == nil || string(n.doc.Bytes()) != before {
		t.Errorf("%v, %s", err, n.doc.Bytes())
	}
}

func TestInvalidPlansAreReported(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no chunks":      {"name: x", "found no chunks"},
		"a typo":         {"chunks:\n  - {id: 1, name: a, promt: x}", `did you mean "prompt"?`},
		"no name":        {"chunks:\n  - {id: 1}", "chunk 1 needs a name"},
		"twice":          {"chunks:\n  - {id: 1, name: a}\n  - {id: 1, name: b}", "two chunks have the id 1"},
		"unknown":        {"chunks:\n  - {name: a, dependsOn: [7]}", "chunk 1 names chunk 7, which is not in the plan"},
		"a cycle":        {"chunks:\n  - {name: a, dependsOn: [2]}\n  - {name: b, dependsOn: [1]}", "wait for each other: 1 → 2 → 1"},
		"two checks":     {"chunks:\n  - {name: a, verify: [{command: x, file: y}]}", "chunk 1: check 1: want one of command, file and url"},
		"a wrong url":    {"chunks:\n  - {name: a, verify: [{url: ftp://x}]}", "begins with http://"},
		"an odd status":  {"chunks:\n  - {name: a, verify: [{url: 'http://x', status: 7}]}", "want an HTTP status"},
		"an agent":       {"agent: claud\nchunks:\n  - {name: a}", `did you mean "claude"?`},
		"not YAML":       {"chunks: [", "plan.yaml"},
		"a wrong source": {"prioritySource: me\nchunks:\n  - {name: a}", "want global, project or user-prompt"},
	} {
		_, err := Read("plan.yaml", []byte(c.text), nil)
		if problems, ok := errors.AsType[plan.Problems](err); !ok || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Read("p.json", []byte(`{"chunks": [{"id": 1, "name": "a", "verify": ["make", {"file": "x"}]}]}`), nil); err != nil {
		t.Error(err)
	}
}

// shape returns the structure of a value: its keys, and the types of its values.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := map[string]any{}
		for k, item := range v {
			keys[k] = shape(item)
		}
		return keys
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	case string:
		return "text"
	case float64:
		return "number"
	}
	return v
}

func shapeOf(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return shape(v)
}

// exampleChunks is based on the protocol's example. It has a completed, an active and a planned
// chunk.
const exampleChunks = `[
  {"id": 1, "name": "a", "status": "completed", "sections": ["#a"], "scenarios": ["s"], "dependsOn": [], "specVersionAtBuild": "2.4", "completedAt": "t"},
  {"id": 2, "name": "b", "status": "active", "sections": ["#b"], "scenarios": [], "dependsOn": [1], "attempt": 1, "startedAt": "t"},
  {"id": "3b", "name": "c", "status": "planned", "sections": [], "scenarios": [], "dependsOn": [1]}
]`

const exampleRun = `{"runId": "r", "status": "running", "startedAt": "t", "chunks": [],
  "plan": {"totalChunks": 7, "priorities": ["speed"], "prioritySource": "global", "specVersion": "2.4"},
  "convergencePhase": "p", "lastCheckpoint": "t"}`

var exampleEvents = map[string]string{
	workflow.VerificationFailed:  `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s", "checks": [{"name": "n", "result": "fail"}], "mode": "full"}`,
	workflow.ContextCheckpointed: `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s"}`,
	workflow.ContextBoundary:     `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s", "isolationMode": "m"}`,
	workflow.ContextCompacted:    `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s"}`,
	workflow.ChunkStarted:        `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s", "section": "s", "attempt": 1, "chunkNumber": 1, "totalChunks": 3}`,
	workflow.ChunkCompleted:      `{"kind": "k", "chunk": "c", "timestamp": "t", "summary": "s", "scenarios": ["s"]}`,
}

func TestTheDocumentsHaveTheShapesOfTheProtocol(t *testing.T) {
	n := newTeller(t)
	n.event("task.running", "chunk-1", "running", &store.Attempt{Number: 1})
	n.event("attempt.compacted", "chunk-1", "", nil)
	n.event("task.complete", "chunk-1", "complete", &store.Attempt{Number: 1, Status: store.Complete, Ending: fleet.Ending{Checks: json.RawMessage(`[{"ok":false}]`)}})
	n.event("task.running", "chunk-2", "running", &store.Attempt{Number: 1})
	run := n.doc.Value().Get("buildRun")
	var got, want []any
	for text, into := range map[string]*[]any{string(run.Get("chunks").Raw()): &got, exampleChunks: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for i := range want {
		if diff := cmp.Diff(shape(want[i]), shape(got[i])); diff != "" {
			t.Errorf("chunk %d (-want +got)\n%s", i+1, diff)
		}
	}
	whole := shapeOf(t, string(run.Raw())).(map[string]any)
	whole["chunks"] = []any{}
	if diff := cmp.Diff(shapeOf(t, exampleRun), whole); diff != "" {
		t.Errorf("the run (-want +got)\n%s", diff)
	}
	for _, e := range n.feed {
		if example := exampleEvents[e.Kind]; example != "" {
			if diff := cmp.Diff(shapeOf(t, example), shapeOf(t, string(e.Raw.Raw()))); diff != "" {
				t.Errorf("%s (-want +got)\n%s", e.Kind, diff)
			}
		}
	}
	for _, f := range workflow.CheckState("state.json", n.doc.Value()) {
		if f.Severity == statefile.Invalid {
			t.Error(f)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(chunks))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Read("plan.yaml", data, nil); err == nil {
			if _, _, err := New(p, Start{RunID: "r", Now: began}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAChunkWhoseMessageIsWithdrawnIsCompleteAgain(t *testing.T) {
	b, p := newBuild(t, Start{})
	s := NewProgress(b)
	task := p.Tasks[0].ID
	for _, e := range []store.Event{
		{Kind: "task.complete", Task: task, From: "running", To: "complete", AttemptRow: json.RawMessage(`{"id":"a","number":1}`)},
		{Kind: "task.queued", Task: task, From: "complete", To: "queued"},
		{Kind: "task.complete", Task: task, From: "queued", To: "complete", At: began},
	} {
		if _, err := s.Apply(e, func(string, int) (Outcome, bool) { return Outcome{}, false }); err != nil {
			t.Fatal(err)
		}
	}
	if c := s.Build.Run.Chunks[0]; c.Status != workflow.Completed || c.CompletedAt == "" {
		t.Errorf("the chunk is %+v", c)
	}
}

func TestAChunkThatIsCancelledBeforeItsRetryIsPlannedAgain(t *testing.T) {
	n := newTeller(t)
	n.event("task.running", "chunk-1", "running", &store.Attempt{Number: 1})
	n.event("task.queued", "chunk-1", "queued", &store.Attempt{Number: 1, Status: store.Failed, Ending: fleet.Ending{Class: "verify_failed"}})
	n.event("task.cancelled", "chunk-1", "cancelled", nil)
	n.event("run.cancelled", "", "cancelled", nil)
	if c := n.run().Chunks[0]; c.Status != workflow.Planned || c.StartedAt != "" {
		t.Errorf("the chunk is %+v", c)
	}
}
