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

// wildStates are the forms that state.json has out there, and how they are
// reported.
var wildStates = map[string][]string{
	"empty.json":                    {"missing-last-updated"},
	"null.json":                     {"not-an-object"},
	"array.json":                    {"not-an-object"},
	"no-last-updated.json":          {"missing-last-updated"},
	"chunk-id-string.json":          {"chunk-id-string"},
	"chunk-id-missing.json":         {"chunk-id-missing"},
	"chunks-under-plan.json":        {"chunks-under-plan"},
	"deps.json":                     {"deps-for-depends-on"},
	"blocked-by.json":               {"blocked-by-for-depends-on"},
	"chunk-statuses.json":           {"unknown-chunk-status"},
	"run-status-paused.json":        {"unknown-run-status"},
	"run-status-awaiting-user.json": {"unknown-run-status"},
	"run-id-as-id.json":             {"run-id-as-id"},
	"readiness-values.json":         {"readiness-value-form"},
	"section-readiness.json":        {"section-readiness-form"},
	"chunk-progress-string.json":    {"chunk-progress-in-build-run"},
	"chunk-progress-object.json":    {"chunk-progress-in-build-run"},
	"build-events.json":             {"build-events-in-state", "event-field-form", "event-kind-missing"},
	"wrong-types.json":              {"bad-timestamp", "wrong-type"},
	"legacy-times.json":             {"legacy-timestamp"},
}

func TestEveryWildStateIsReportedByNameAndWrittenBackWithNothingDropped(t *testing.T) {
	for name, want := range wildStates {
		t.Run(name, func(t *testing.T) {
			before := fixture(t, "wild", name)
			p := newProject(t, workflow.Options{}).with("state.json", before)
			if got := p.names(); !cmp.Equal(got, want) {
				t.Errorf("reported %v, want %v", got, want)
			}
			p.must(func(root *jsontree.Node) error { return workflow.Set(root, "nextStep", parse(t, `"go on"`)) })
			after := parse(t, p.read("state.json"))
			for field, v := range parse(t, before).Members() {
				if field != "lastUpdated" && after.Get(field).String() != v.String() {
					t.Errorf("%s: %s became %s", field, v, after.Get(field))
				}
			}
			if after.Get("nextStep").Text() != "go on" || after.Get("lastUpdated").Text() != "2026-02-17T12:00:00Z" {
				t.Errorf("after: %s", after)
			}
		})
	}
}

func TestEveryFixtureIsTested(t *testing.T) {
	elsewhere := []string{
		"half-written.json", "array-with-content.json", "string.json", "inbox-statuses.json", "inbox-oddities.json",
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
		"run-status-paused.json", "run-id-as-id.json",
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

func TestAWrongTypeStopsOnlyWhatNeedsIt(t *testing.T) {
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

func TestWildInboxesAreReportedAndKept(t *testing.T) {
	for name, want := range map[string][]string{
		"inbox-statuses.json": {"extra-item-field", "unknown-item-status"},
		"inbox-oddities.json": {"bad-timestamp", "duplicate-item-id", "item-id-missing", "unknown-item-type", "wrong-type"},
		"null.json":           {"not-an-array"},
		"empty.json":          {"not-an-array"},
		"half-written.json":   {"not-json"},
	} {
		before := fixture(t, "wild", name)
		p := newProject(t, workflow.Options{}).with("inbox.json", before)
		if got := p.names(); !cmp.Equal(got, want) {
			t.Errorf("%s: reported %v, want %v", name, got, want)
		}
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
		items := strings.TrimSuffix(strings.TrimSpace(before), "\n]")
		if strings.HasPrefix(name, "inbox") && !strings.HasPrefix(p.read("inbox.json"), items) {
			t.Errorf("%s: now %s", name, p.read("inbox.json"))
		}
	}
}
