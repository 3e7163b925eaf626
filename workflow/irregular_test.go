package workflow_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// wildStates lists the irregular forms of state.json that other programs write, with the findings
// for each.
var wildStates = map[string][]string{
	"empty.json":             {"missing-last-updated lastUpdated"},
	"null.json":              {"not-an-object"},
	"array.json":             {"not-an-object"},
	"no-last-updated.json":   {"missing-last-updated lastUpdated"},
	"chunk-id-string.json":   {"chunk-id-string buildRun.chunks[0].id", "chunk-id-string buildRun.chunks[1].id"},
	"chunk-id-missing.json":  {"chunk-id-missing buildRun.chunks[0]", "chunk-id-missing buildRun.chunks[1]"},
	"chunks-under-plan.json": {"chunks-under-plan buildRun.plan.chunks"},
	"deps.json":              {"deps-for-depends-on buildRun.chunks[1].deps"},
	"blocked-by.json":        {"blocked-by-for-depends-on buildRun.chunks[1].blockedBy"},
	"dependencies-in-words.json": {
		"missing-last-updated lastUpdated", "dangling-dependency buildRun.chunks[0]",
		"chunk-id-string buildRun.chunks[2].id", "deps-for-depends-on buildRun.chunks[2].deps", "chunk-id-string buildRun.chunks[3].id",
		"unknown-chunk-status buildRun.chunks[3].status", "blocked-by-for-depends-on buildRun.chunks[4].blockedBy",
	},
	"chunk-statuses.json": {
		"unknown-chunk-status buildRun.chunks[1].status", "unknown-chunk-status buildRun.chunks[2].status",
		"unknown-chunk-status buildRun.chunks[3].status", "unknown-chunk-status buildRun.chunks[4].status",
	},
	"run-status-paused.json":        {"unknown-run-status buildRun.status"},
	"run-status-awaiting-user.json": {"unknown-run-status buildRun.status"},
	"run-id-as-id.json":             {"run-id-as-id buildRun.id"},
	"readiness-values.json": {
		"readiness-value-form readinessSummary.aligned", "readiness-value-form readinessSummary.spec-ahead",
		"readiness-value-form readinessSummary.draft", "readiness-value-form readinessSummary.deferred",
		"readiness-value-form readinessSummary.unclear",
	},
	"readiness-summary-string.json": {"wrong-type readinessSummary"},
	"section-readiness-words.json":  {"section-readiness-in-state sectionReadiness"},
	"section-readiness.json": {
		"section-readiness-in-state sectionReadiness", "section-readiness-form sectionReadiness.spec-viewer",
	},
	"chunk-progress-string.json": {"chunk-progress-in-build-run buildRun.chunkProgress"},
	"chunk-progress-object.json": {"chunk-progress-in-build-run buildRun.chunkProgress"},
	"build-events.json": {
		"event-field-form buildEvents[0].chunk",
		"unknown-event-kind buildEvents[1].kind", "event-kind-missing buildEvents[2]",
	},
	"wrong-types.json": {
		"wrong-type activeSection", "wrong-type completedSteps", "wrong-type scenarioScore", "wrong-type agentOutputs",
		"wrong-type buildRun.status", "wrong-type buildRun.plan", "wrong-type buildRun.chunks", "bad-timestamp lastUpdated",
	},
	"legacy-times.json": {"legacy-timestamp lastUpdated", "legacy-timestamp untrackedChanges[0].timestamp"},
}

func TestEveryWildStateIsReportedByName(t *testing.T) {
	for name, want := range wildStates {
		p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", name))
		if diff := cmp.Diff(want, p.places()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The test changes the fields that the update has set back to their old values. Then the document
// must be the same, byte for byte.
func TestEveryWildStateIsWrittenBackWithNothingDropped(t *testing.T) {
	for name := range wildStates {
		t.Run(name, func(t *testing.T) {
			before := fixture(t, "wild", name)
			p := newProject(t, workflow.Options{}).with("state.json", before)
			p.must(func(root *jsontree.Node) error { return workflow.Set(root, "nextStep", parse(t, `"go on"`)) })
			after := parse(t, p.read("state.json"))
			if after.Get("nextStep").Text() != "go on" || after.Get("lastUpdated").Text() != "2026-02-17T12:00:00Z" {
				t.Errorf("after: %s", after)
			}
			if slices.Contains([]string{"empty.json", "null.json", "array.json"}, name) {
				return // the document was empty
			}
			if got := without(t, p.read("state.json"), before, "nextStep", "lastUpdated"); got != before {
				t.Error(cmp.Diff(before, got))
			}
		})
	}
}

// without returns the document current with the given fields reset to their values in old.
func without(t *testing.T, current, old string, fields ...string) string {
	t.Helper()
	doc, err := jsontree.Parse([]byte(current))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fields {
		if was := parse(t, old).Get(name); was.Kind() != jsontree.Missing {
			doc.Root().Set(name, was)
		} else {
			doc.Root().Delete(name)
		}
	}
	return string(doc.Bytes())
}

func TestEveryFixtureIsTested(t *testing.T) {
	elsewhere := []string{
		"half-written.json", "array-with-content.json", "string.json",
		"inbox-statuses.json", "inbox-oddities.json", "inbox-left-processing.json",
	}
	entries, err := os.ReadDir("testdata/wild")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := wildStates[e.Name()]; !ok && !slices.Contains(elsewhere, e.Name()) {
			t.Errorf("%s is in no test", e.Name())
		}
	}
}

func TestWildChunksAreReadAsMeant(t *testing.T) {
	for _, name := range []string{
		"chunk-id-string.json", "chunk-id-missing.json", "chunks-under-plan.json", "deps.json", "blocked-by.json",
		"run-status-paused.json", "run-status-awaiting-user.json", "run-id-as-id.json",
	} {
		s, _ := workflow.Read(parse(t, fixture(t, "wild", name)))
		if s.BuildRun.RunID != "run-1708012345678" {
			t.Errorf("%s: run id %q", name, s.BuildRun.RunID)
		}
		resume, ok := s.BuildRun.Resume(workflow.Spec{})
		if !ok || len(resume.Done) != 1 || len(resume.Remaining) != 1 || resume.Next == nil {
			t.Errorf("%s: %v %+v", name, ok, resume)
			continue
		}
		if len(resume.Remaining[0].For) > 0 {
			t.Errorf("%s: still waits for %v", name, resume.Remaining[0].For)
		}
	}
}

func TestWildDependenciesAreThoseOfTheProtocol(t *testing.T) {
	for name, want := range map[string]workflow.ID{
		"chunk-id-string.json": "11a", "chunk-id-missing.json": "1", "chunks-under-plan.json": "1", "deps.json": "1", "blocked-by.json": "1",
	} {
		s, _ := workflow.Read(parse(t, fixture(t, "wild", name)))
		if got := s.BuildRun.Chunks[1].DependsOn; !slices.Equal(got, []workflow.ID{want}) {
			t.Errorf("%s: depends on %v", name, got)
		}
	}
}

func TestWordsOfOtherProgramsAreShownAsTheyAre(t *testing.T) {
	s, _ := workflow.Read(parse(t, fixture(t, "wild", "chunk-statuses.json")))
	want := []workflow.ChunkStatus{"completed", "running", "completed-partial", "awaiting-user", "blocked"}
	for i, c := range s.BuildRun.Chunks {
		if c.Status != want[i] {
			t.Errorf("chunk %s is %q", c.ID, c.Status)
		}
	}
	if done := s.BuildRun.Count(workflow.Completed); done != 1 || s.BuildRun.Outcome() != workflow.Running {
		t.Errorf("%d are done, the build is %s", done, s.BuildRun.Outcome())
	}
	for _, word := range []workflow.RunStatus{"paused", "awaiting-user"} {
		s, _ := workflow.Read(parse(t, fixture(t, "wild", "run-status-"+string(word)+".json")))
		if s.BuildRun.Status != word {
			t.Errorf("the run is %q", s.BuildRun.Status)
		}
	}
	for form, want := range map[string]string{"string": `"2/4"`, "object": `{ "current": 2, "total": 4 }`} {
		s, _ := workflow.Read(parse(t, fixture(t, "wild", "chunk-progress-"+form+".json")))
		if got := string(s.BuildRun.ChunkProgress.Raw()); got != want || s.BuildRun.Progress().Current != 1 {
			t.Errorf("progress is %s and %+v", got, s.BuildRun.Progress())
		}
	}
}

func TestWildEventsAreReadAndShownAsTheyAre(t *testing.T) {
	s, _ := workflow.Read(parse(t, fixture(t, "wild", "build-events.json")))
	var got []string
	for _, e := range workflow.Events(s.BuildEvents) {
		got = append(got, e.Kind+"|"+e.Chunk+"|"+e.Timestamp)
	}
	want := []string{"chunk-started|3|2026-02-17T14:30:00Z", "something-new||", "|Chunk 3|2026-02-17T14:31:00+00:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A write keeps the irregular form of a document: it renames no key, moves no list, and rewrites no
// id or status.
func TestAChunkIsMovedInTheFormThatItHas(t *testing.T) {
	const moved = `, "attempt": 1, "startedAt": "2026-02-17T12:00:00Z"`
	for name, c := range map[string]struct {
		id       workflow.ID
		to       workflow.ChunkStatus
		was, now string
	}{
		"chunk-id-string.json":          {"MANUAL", workflow.Active, `"planned", "dependsOn": ["11a"]`, `"active", "dependsOn": ["11a"]` + moved},
		"chunk-id-missing.json":         {"2", workflow.Active, `"planned", "dependsOn": [1]`, `"active", "dependsOn": [1]` + moved},
		"chunks-under-plan.json":        {"2", workflow.Active, `"planned", "dependsOn": [1]`, `"active", "dependsOn": [1]` + moved},
		"deps.json":                     {"2", workflow.Active, `"planned", "deps": [1]`, `"active", "deps": [1]` + moved},
		"blocked-by.json":               {"2", workflow.Active, `"planned", "blockedBy": [1]`, `"active", "blockedBy": [1]` + moved},
		"run-status-paused.json":        {"2", workflow.Active, `"planned"`, `"active"` + moved},
		"run-status-awaiting-user.json": {"2", workflow.Active, `"planned"`, `"active"` + moved},
		"run-id-as-id.json":             {"2", workflow.Active, `"planned"`, `"active"` + moved},
		"chunk-progress-string.json":    {"1", workflow.Retrying, `"active", "attempt": 1`, `"retrying", "attempt": 2, "startedAt": "2026-02-17T12:00:00Z"`},
		"chunk-progress-object.json":    {"1", workflow.Retrying, `"active", "attempt": 1`, `"retrying", "attempt": 2, "startedAt": "2026-02-17T12:00:00Z"`},
	} {
		t.Run(name, func(t *testing.T) {
			before := fixture(t, "wild", name)
			p := newProject(t, workflow.Options{}).with("state.json", before)
			if err := p.move(c.id, c.to); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(before, c.was, c.now, 1)
			if got := without(t, p.read("state.json"), before, "chunkProgress", "lastUpdated"); got != want {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

func TestAnEventIsAddedToAWildFeedThatStaysAsItWas(t *testing.T) {
	before := fixture(t, "wild", "build-events.json")
	p := newProject(t, workflow.Options{}).with("state.json", before)
	if _, err := p.Emit(t.Context(), workflow.Draft{Kind: workflow.CheckpointSaved}); err != nil {
		t.Fatal(err)
	}
	kept, _, _ := strings.Cut(before, "\n  ],")
	if after := p.read("state.json"); !strings.HasPrefix(after, kept+",\n") || !strings.Contains(after, workflow.CheckpointSaved) {
		t.Error(after)
	}
}

func TestWildReadinessIsCountedWhereItCanBe(t *testing.T) {
	s, mismatches := workflow.Read(parse(t, fixture(t, "wild", "readiness-values.json")))
	if len(mismatches) > 0 {
		t.Error(mismatches)
	}
	got := map[string]int{}
	for name, tally := range s.ReadinessSummary {
		if tally.Known {
			got[name] = tally.Count
		}
	}
	want := map[string]int{"aligned": 28, "spec-ahead": 5, "deferred": 2, "satisfied": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s, _ = workflow.Read(parse(t, fixture(t, "wild", "section-readiness.json")))
	if r := s.SectionReadiness["spec-viewer"]; r.Readiness != "spec-ahead" || r.Notes == "" || s.SectionReadiness["core-flow"].Readiness != "aligned" {
		t.Errorf("section readiness %v", s.SectionReadiness)
	}
	s, _ = workflow.Read(parse(t, fixture(t, "wild", "section-readiness-words.json")))
	if s.SectionReadiness["spec-viewer"].Readiness != "spec-ahead" {
		t.Errorf("section readiness %v", s.SectionReadiness)
	}
}

func TestAHalfWrittenStateIsKeptAsideAndStartedOver(t *testing.T) {
	half := fixture(t, "wild", "half-written.json")
	p := newProject(t, workflow.Options{}).with("state.json", half)
	if got, want := p.names(), []string{"not-json"}; !cmp.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	if _, err := p.State(); says(err) != "invalid" {
		t.Errorf("a reader gets %v", err)
	}
	p.must(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.StateOwnerScan, false) })
	entries, err := os.ReadDir(p.root)
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.IndexFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "state.json.corrupt-") })
	if kept < 0 || p.read(entries[kept].Name()) != half {
		t.Errorf("the bytes are not kept: %v", entries)
	}
	if got := p.state().WorkflowStep; got != workflow.StateOwnerScan {
		t.Errorf("step %q", got)
	}
}

func TestAStateThatIsNoObjectButHoldsSomethingIsRefused(t *testing.T) {
	for _, name := range []string{"array-with-content.json", "string.json"} {
		before := fixture(t, "wild", name)
		p := newProject(t, workflow.Options{}).with("state.json", before)
		if got, want := p.names(), []string{"not-an-object"}; !cmp.Equal(got, want) {
			t.Errorf("reported %v, want %v", got, want)
		}
		err := p.edit(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.StateOwnerScan, false) })
		if says(err) != "invalid" || p.read("state.json") != before {
			t.Errorf("%s: %v, now %s", name, err, p.read("state.json"))
		}
	}
}

func TestAWrongTypeFailsOnlyOperationsThatNeedTheMember(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("state.json", fixture(t, "wild", "wrong-types.json"))
	if err := p.edit(func(root *jsontree.Node) error { return workflow.DoneStep(root, workflow.Observer, "") }); says(err) != "invalid" {
		t.Errorf("done step: %v", err)
	}
	if err := p.edit(func(root *jsontree.Node) error {
		return workflow.SetChunk(root, workflow.ChunkUpdate{ID: "1", To: workflow.Active}, noon)
	}); says(err) != "not found" {
		t.Errorf("set chunk: %v", err)
	}
	p.must(func(root *jsontree.Node) error { return workflow.BeginStep(root, workflow.Observer, false) })
}

// wildInboxes lists the irregular forms of inbox.json that other programs write, with the findings
// for each.
var wildInboxes = map[string][]string{
	"inbox-statuses.json": {
		"unknown-item-status [0].status", "unknown-item-status [1].status",
	},
	"inbox-oddities.json": {
		"wrong-type [0]", "wrong-type [1]", "item-id-missing [2]", "unknown-item-type [2].type",
		"wrong-type [3].content", "duplicate-item-id [4].id", "bad-timestamp [4].timestamp",
	},
	"inbox-left-processing.json": {"item-left-processing [0].status"},
	"null.json":                  {"not-an-array"},
	"empty.json":                 {"not-an-array"},
	"half-written.json":          {"not-json line 4, column 21"},
}

func TestEveryWildInboxIsReportedByName(t *testing.T) {
	for name, want := range wildInboxes {
		p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "wild", name))
		if diff := cmp.Diff(want, p.places()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnItemIsAddedToAWildInboxThatStaysAsItWas(t *testing.T) {
	for name := range wildInboxes {
		before := fixture(t, "wild", name)
		p := newProject(t, workflow.Options{}).with("inbox.json", before)
		_, err := p.Inbox().Add(t.Context(), workflow.FeatureItem, "More")
		if name == "half-written.json" {
			if says(err) != "invalid" || p.read("inbox.json") != before {
				t.Errorf("half written: %v", err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		kept := strings.TrimSuffix(before, "\n]\n")
		if strings.HasPrefix(name, "inbox") && !strings.HasPrefix(p.read("inbox.json"), kept+",\n") {
			t.Errorf("%s: now %s", name, p.read("inbox.json"))
		}
		if items, err := p.Inbox().List(); err != nil || items[len(items)-1].Content != "More" {
			t.Errorf("%s: %+v, %v", name, items, err)
		}
	}
}

func TestItemsOfOtherProgramsAreReadAsMeant(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "wild", "inbox-statuses.json"))
	items, err := p.Inbox().List()
	if err != nil || len(items) != 2 {
		t.Fatal(items, err)
	}
	first := items[0]
	if first.Status != "incorporated" || first.ConsumedBy.Text() != "evolve" || items[1].Status != "approved" {
		t.Errorf("%+v", items)
	}
	if diff := cmp.Diff(&workflow.Analysis{AffectedSections: []string{"#core-flow"}, Summary: "one section"}, first.Analysis); diff != "" {
		t.Error(diff)
	}
}

func TestAnAbandonedItemIsTakenAgainAndKeepsItsMembers(t *testing.T) {
	before := fixture(t, "wild", "inbox-left-processing.json")
	p := newProject(t, workflow.Options{}).with("inbox.json", before)
	item, err := p.Inbox().Take(t.Context(), workflow.Claim{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.places(); len(got) > 0 {
		t.Errorf("it is taken, and still reported: %v", got)
	}
	if _, err := p.Inbox().Done(t.Context(), item.ID, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := p.read("inbox.json"), strings.Replace(before, "processing", "processed", 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestItemsWithUnusableIDsAreNoDuplicates(t *testing.T) {
	doc, err := jsontree.Parse([]byte(`[{"content":"a"},{"id":7,"content":"b"},{"id":8,"content":"c"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range workflow.CheckInbox("inbox.json", doc.Value()) {
		if f.Name == "duplicate-item-id" {
			t.Errorf("%+v", f)
		}
	}
}
