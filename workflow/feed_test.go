package workflow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestAnEventIsAppendedToTheFeed(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", "build-events.json"))
	draft := workflow.Draft{Kind: "chunk-failed", Fields: []workflow.Field{
		{Name: "reason", Value: "tests"}, {Name: "extra", Value: 1}, {Name: "summary", Value: "s"}, {Name: "chunk", Value: "Chunk 3"},
	}}
	if _, err := p.Emit(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(fixture(t, "wild", "build-events.json"), `+00:00" }
  ],`, `+00:00" },
    {
      "kind": "chunk-failed",
      "chunk": "Chunk 3",
      "timestamp": "2026-02-17T12:00:00Z",
      "summary": "s",
      "reason": "tests",
      "extra": 1
    }
  ],`, 1)
	want = strings.Replace(want, "2026-02-12T15:23:45Z", "2026-02-17T12:00:00Z", 1)
	if got, want := format(t, parse(t, p.read("state.json"))), format(t, parse(t, want)); got != want {
		t.Error(cmp.Diff(want, got))
	}
	events := workflow.Events(p.state().BuildEvents)
	if len(events) != 4 || events[0].Chunk != "3" || events[1].Kind != "something-new" || events[3].Summary != "s" {
		t.Errorf("%+v", events)
	}
}

func TestWrongFieldsOfAKnownKindAreRefusedByName(t *testing.T) {
	for _, row := range []struct {
		kind, field string
		value       any
	}{
		{"chunk-started", "attempt", "second"},
		{"chunk-started", "attempt", 1.5},
		{"chunk-started", "chunk", 3},
		{"chunk-completed", "scenarios", "one"},
		{"chunk-failed", "reason", []int{1}},
		{"chunk-verified", "mode", "fast"},
		{"chunk-verified", "checks", "4/4"},
		{"verification-failed", "checks", []any{map[string]any{"name": "x", "result": "maybe"}}},
		{"verification-failed", "checks", []any{map[string]any{"name": "x", "result": "fail", "retried": "yes"}}},
		{"context-boundary", "isolationMode", true},
		{"something-new", "timestamp", "soon"},
		{"something-new", "kind", "x"},
		{"something-new", "f", func() {}},
		{"something-new", "", "x"},
	} {
		p := newProject(t, workflow.Options{})
		_, err := p.Emit(t.Context(), workflow.Draft{Kind: row.kind, Fields: []workflow.Field{{Name: row.field, Value: row.value}}})
		if says(err) != "usage" || !strings.Contains(err.Error(), fmt.Sprintf("field %q", row.field)) {
			t.Errorf("%s %s=%v: %v", row.kind, row.field, row.value, err)
		}
	}
	for _, kind := range []string{"", "two words", "nul\x00", "\xff", strings.Repeat("x", 300)} {
		if _, err := (workflow.Draft{Kind: kind}).Event(noon); says(err) != "usage" {
			t.Errorf("kind %.10q: %v", kind, err)
		}
	}
	twice := workflow.Draft{Kind: "x", Fields: []workflow.Field{{Name: "a", Value: 1}, {Name: "a", Value: 2}}}
	if _, err := twice.Event(noon); says(err) != "usage" {
		t.Errorf("a field given twice: %v", err)
	}
}

func TestATypedFieldIsJSONOrElseText(t *testing.T) {
	for _, row := range []struct{ kind, name, typed, want string }{
		{"chunk-started", "attempt", "2", `2`},
		{"chunk-started", "chunk", "3", `"3"`},
		{"chunk-started", "note", "3", `3`},
		{"something-new", "x", "true", `true`},
		{"something-new", "x", `"quoted"`, `"\"quoted\""`},
		{"something-new", "x", `[1, 2]`, `[1, 2]`},
		{"something-new", "x", `[1,`, `"[1,"`},
		{"something-new", "x", ``, `""`},
	} {
		field, err := workflow.TextField(row.kind, row.name, row.typed)
		if v, ok := field.Value.(jsontree.Value); err != nil || !ok || string(v.Raw()) != row.want {
			t.Errorf("%s=%s: %v, %v", row.name, row.typed, field.Value, err)
		}
	}
}

func TestAVerificationWithAFailedCheckFailed(t *testing.T) {
	event, err := workflow.Verified("Chunk 1", "", []workflow.Check{{Name: "a", Result: workflow.Pass}, {Name: "b", Result: workflow.Fail}}, workflow.Minimal, "").Event(noon)
	if err != nil || event.Get("kind").Text() != workflow.VerificationFailed || event.Get("summary").Text() != "1/2 checks passed" {
		t.Errorf("%s, %v", event, err)
	}
	if got := workflow.Verified("Chunk 1", "", nil, workflow.Minimal, "").Kind; got != workflow.VerificationFailed {
		t.Errorf("without a check it is %s", got)
	}
	for _, draft := range []workflow.Draft{workflow.Boundary("c", "subagent", "s"), workflow.Compacted("c", "s")} {
		if _, err := draft.Event(noon); err != nil {
			t.Error(err)
		}
	}
}

func TestAFullFeedMovesItsOldestEventsAndLosesNone(t *testing.T) {
	p := newProject(t, workflow.Options{})
	const total = 260
	for i := range total {
		if _, err := p.Emit(t.Context(), workflow.Draft{Kind: "tick", Fields: []workflow.Field{{Name: "n", Value: i}}}); err != nil {
			t.Fatal(err)
		}
	}
	events := p.history()
	if len(events) != total {
		t.Errorf("%d of %d events", len(events), total)
	}
	for i, e := range events {
		if n, _ := e.Get("n").Int(); int(n) != i {
			t.Fatalf("event %d is %s", i, e)
		}
	}
	if n := len(p.state().BuildEvents); n > workflow.FeedCap {
		t.Errorf("the state has %d events", n)
	}
}

// Several events may have identical content. Each must be kept when events are moved to the
// archive.
func TestConcurrentEqualEventsAreAllKept(t *testing.T) {
	p := newProject(t, workflow.Options{})
	const total = 400
	var all sync.WaitGroup
	for range total {
		all.Go(func() {
			if _, err := p.Emit(t.Context(), workflow.Draft{Kind: "tick"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(p.history()); n != total {
		t.Errorf("%d of %d events", n, total)
	}
}

// If a process dies after it has written the archive file, the events are in the file and in the
// feed. The next process finds the file and only removes the events from the feed.
func TestAnInterruptedArchiveMovesItsBatchOnce(t *testing.T) {
	p := newProject(t, workflow.Options{})
	for range workflow.FeedCap {
		if _, err := p.Emit(t.Context(), workflow.Draft{Kind: "tick"}); err != nil {
			t.Fatal(err)
		}
	}
	full := p.read("state.json")
	for range 2 { // the second call: the process that made the first call died before its update
		p.with("state.json", full)
		if _, err := p.Emit(t.Context(), workflow.Draft{Kind: "tick"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.history()); n != workflow.FeedCap+1 {
		t.Errorf("%d events, want %d", n, workflow.FeedCap+1)
	}
}

// history returns all events: first the archived ones, then those in the feed.
func (p *project) history() []jsontree.Value {
	p.t.Helper()
	var events []jsontree.Value
	files, err := filepath.Glob(filepath.Join(p.root, workflow.ArchiveFolder, "*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, v := range parse(p.t, string(data)).Items() {
			events = append(events, v)
		}
	}
	return append(events, p.state().BuildEvents...)
}

func TestAFeedThatIsNoListIsLeftAlone(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", `{"buildEvents": {"last": "x"}}`)
	if _, err := p.Emit(t.Context(), workflow.Draft{Kind: "tick"}); says(err) != "invalid" {
		t.Errorf("got %v", err)
	}
}

func TestContextHealthIsDerivedFromTheFeed(t *testing.T) {
	feed := parse(t, `[
  {"kind": "context-boundary", "isolationMode": "fresh session", "timestamp": "2026-02-17T10:00:00Z"},
  {"kind": "context-checkpointed", "timestamp": "2026-02-17T11:00:00Z"},
  {"kind": "context-boundary", "isolationMode": "subagent", "timestamp": "2026-02-17T09:00:00Z"},
  7
]`)
	var values []jsontree.Value
	for _, v := range feed.Items() {
		values = append(values, v)
	}
	events := workflow.Events(values)
	got := workflow.ContextHealth(events, &workflow.BuildRun{LastCheckpoint: "2026-02-17T10:30:00Z"}, 72)
	want := workflow.Health{Isolation: "subagent", Usage: 72, Level: workflow.Yellow, LastCheckpoint: "2026-02-17T11:00:00Z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = workflow.ContextHealth(nil, &workflow.BuildRun{LastCheckpoint: "2026-02-17T10:30:00Z"}, 0)
	want = workflow.Health{Isolation: "standard", Level: workflow.Green, LastCheckpoint: "2026-02-17T10:30:00Z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for percent, want := range map[float64]workflow.Level{69.9: workflow.Green, 70: workflow.Yellow, 89.9: workflow.Yellow, 90: workflow.Red, 120: workflow.Red} {
		if got := workflow.LevelOf(percent); got != want {
			t.Errorf("%v %%: %s, want %s", percent, got, want)
		}
	}
}

func TestTheFeedDecidesWhatIsMostRecentWhenClocksGoBack(t *testing.T) {
	events := []workflow.Event{
		{Kind: workflow.ContextCheckpointed, Timestamp: "2026-02-17T11:00:00Z"},
		{Kind: workflow.ContextCheckpointed, Timestamp: "2026-02-17T10:00:00Z"},
	}
	if got := workflow.ContextHealth(events, nil, 0).LastCheckpoint; got != "2026-02-17T10:00:00Z" {
		t.Errorf("got %s", got)
	}
}
