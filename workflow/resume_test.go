package workflow_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/workflow"
)

func TestTheResumePromptShowsWhatIsDoneAndWhatRemains(t *testing.T) {
	run := workflow.BuildRun{
		Status: workflow.Running, StartedAt: "2026-02-17T09:59:00Z",
		Plan: workflow.Plan{SpecVersion: "2.4"},
		Chunks: []workflow.Chunk{
			{ID: "1", Name: "Schema", Status: workflow.Completed},
			{ID: "2", Name: "History", Status: workflow.Active},
			{ID: "3", Name: "Filtering", Status: workflow.Planned, DependsOn: []workflow.ID{"1", "2"}},
			{ID: "MANUAL", Name: "By hand", Status: "awaiting-user", Note: "plug it in"},
		},
	}
	resume, ok := run.Resume(workflow.Spec{Version: "2.4"})
	if !ok || len(resume.Stale) > 0 {
		t.Errorf("%v, stale %v", ok, resume.Stale)
	}
	want := `Found incomplete build (1/4 chunks done, started 2 hours ago).

Completed:
  Chunk 1: Schema

Remaining:
  Chunk 2: History (active)
  Chunk 3: Filtering (depends on Chunk 2)
  Chunk MANUAL: By hand (awaiting-user)

Left as they are:
  Chunk MANUAL: By hand is awaiting-user: plug it in
    'gaffer build done MANUAL' marks it done

(1) Resume from Chunk 2 (recommended)
(2) Start fresh with a new plan
(3) Cancel
`
	if diff := cmp.Diff(want, resume.Text(noon)); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyAnIncompleteBuildWithSomethingDoneIsResumed(t *testing.T) {
	done, todo := workflow.Chunk{ID: "1", Status: workflow.Completed}, workflow.Chunk{ID: "2"}
	for _, row := range []struct {
		status workflow.RunStatus
		chunks []workflow.Chunk
		want   bool
	}{
		{workflow.Running, []workflow.Chunk{done, todo}, true},
		{"", []workflow.Chunk{done, todo}, true},
		{"paused", []workflow.Chunk{done, todo}, true},
		{workflow.Partial, []workflow.Chunk{done, todo}, false},
		{workflow.RunCompleted, []workflow.Chunk{done, todo}, false},
		{workflow.Running, []workflow.Chunk{todo}, false},
		{workflow.Running, []workflow.Chunk{done}, false},
		{workflow.Running, nil, false},
	} {
		if _, ok := (workflow.BuildRun{Status: row.status, Chunks: row.chunks}).Resume(workflow.Spec{}); ok != row.want {
			t.Errorf("%s %v: %v", row.status, row.chunks, ok)
		}
	}
}

func TestACompletedChunkIsStaleIfItsSpecChanged(t *testing.T) {
	sections := map[string]string{"core-flow": "2.4", "#viewer": "2.10"}
	for _, row := range []struct {
		what    string
		built   string
		covers  []string
		spec    workflow.Spec
		section string
		stale   bool
	}{
		{"the whole spec is the same", "2.4", []string{"#a"}, workflow.Spec{Version: "2.4"}, "", false},
		{"the whole spec changed", "2.4", []string{"#a"}, workflow.Spec{Version: "2.5"}, "", true},
		{"the section did not change", "2.4", []string{"#core-flow"}, workflow.Spec{Version: "2.10", Sections: sections}, "", false},
		{"the section changed", "2.4", []string{"#core-flow", "viewer"}, workflow.Spec{Version: "2.10", Sections: sections}, "viewer", true},
		{"2.10 is newer than 2.9", "2.9", []string{"viewer"}, workflow.Spec{Version: "2.10", Sections: sections}, "viewer", true},
		{"the section is not named", "2.4", []string{"#other"}, workflow.Spec{Version: "2.10", Sections: sections}, "", true},
		{"the chunk covers no section", "2.4", nil, workflow.Spec{Version: "2.10", Sections: sections}, "", true},
		{"the plan's version counts", "", []string{"#a"}, workflow.Spec{Version: "2.4"}, "", true},
		{"the spec's version is not known", "2.4", []string{"#a"}, workflow.Spec{}, "", false},
		{"versions that are no numbers", "draft-1", []string{"x"}, workflow.Spec{Sections: map[string]string{"x": "draft-2"}}, "x", true},
	} {
		run := workflow.BuildRun{
			Plan:   workflow.Plan{SpecVersion: "2.3"},
			Chunks: []workflow.Chunk{{ID: "1", Status: workflow.Completed, SpecVersionAtBuild: row.built, Sections: row.covers}, {ID: "2"}},
		}
		resume, _ := run.Resume(row.spec)
		if (len(resume.Stale) == 1) != row.stale || len(resume.Stale) > 1 {
			t.Errorf("%s: %+v", row.what, resume.Stale)
		} else if row.stale && resume.Stale[0].Section != row.section {
			t.Errorf("%s: section %q", row.what, resume.Stale[0].Section)
		}
	}
}

func TestAStaleChunkIsRebuiltOrKept(t *testing.T) {
	chunk := workflow.Chunk{ID: "1", Name: "Schema"}
	want := `Chunk 1: Schema was built against spec 2.4, and section #entities changed in 2.5.
(1) Rebuild Chunk 1 (recommended)
(2) Keep old result
`
	if got := (workflow.Stale{Chunk: chunk, Section: "#entities", Built: "2.4", Now: "2.5"}).Text(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestADependencyCycleHasNoNextChunk(t *testing.T) {
	run := workflow.BuildRun{Chunks: []workflow.Chunk{
		{ID: "1", Status: workflow.Completed},
		{ID: "2", DependsOn: []workflow.ID{"3"}},
		{ID: "3", DependsOn: []workflow.ID{"2"}},
	}}
	resume, ok := run.Resume(workflow.Spec{})
	if !ok || resume.Next != nil {
		t.Errorf("%v %v", ok, resume.Next)
	}
	_ = resume.Text(time.Time{}) // must not panic if there is no next chunk and no start time
}

func TestDependenciesInWordsAreTheChunksTheyName(t *testing.T) {
	for text, want := range map[string][]workflow.ID{
		"chunks 1-3": {"1", "2", "3"}, "Chunk 2": {"2"}, "1, 3 and 11a": {"1", "3", "11a"}, "chunk 1 and chunk 2": {"1", "2"},
		"1 to 2": {"1", "2"}, "chunks 2–3": {"2", "3"}, "3-1": {"3-1"}, "chunks 1-9": {"chunks 1-9"}, "the design review": {"the design review"},
		"none": {"none"}, "": {""},
	} {
		state, _ := workflow.Read(parse(t, `{"buildRun": {"chunks": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": "11a"}, {"id": 5, "deps": [`+strconv.Quote(text)+`]}]}}`))
		if got := state.BuildRun.Chunks[4].DependsOn; !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestABuildIsResumedFromTheChunkThatIsRunning(t *testing.T) {
	for _, status := range []workflow.ChunkStatus{"running", workflow.Active, workflow.Retrying} {
		run := workflow.BuildRun{Status: workflow.Running, Chunks: []workflow.Chunk{
			{ID: "3", Status: workflow.Completed}, {ID: "4", Status: workflow.Failed}, {ID: "5", Status: status}, {ID: "6"},
		}}
		resume, _ := run.Resume(workflow.Spec{})
		if resume.Next == nil || resume.Next.ID != "5" || len(resume.Held) > 0 {
			t.Errorf("%s: next is %+v, held are %v", status, resume.Next, resume.Held)
		}
	}
}

func TestAChunkThatTheUserMustDoHoldsItsDependents(t *testing.T) {
	run := workflow.BuildRun{Status: workflow.Running, Chunks: []workflow.Chunk{
		{ID: "1", Status: workflow.Completed, DependsOn: []workflow.ID{"whatever"}},
		{ID: "2", Status: "awaiting-user"},
		{ID: "3", DependsOn: []workflow.ID{"4"}},
		{ID: "4", DependsOn: []workflow.ID{"2"}},
		{ID: "5", DependsOn: []workflow.ID{"the review"}},
		{ID: "6", DependsOn: []workflow.ID{"1"}},
		{ID: "7", Status: "blocked"},
	}}
	resume, _ := run.Resume(workflow.Spec{})
	var held []string
	for _, h := range resume.Held {
		held = append(held, string(h.ID)+" "+h.Why)
	}
	want := []string{"2 is awaiting-user", "3 waits for Chunk 4", "4 waits for Chunk 2", `5 depends on "the review", which names no chunk`, "7 is blocked"}
	if diff := cmp.Diff(want, held); diff != "" || resume.Next == nil || resume.Next.ID != "6" {
		t.Errorf("next is %+v\n%s", resume.Next, diff)
	}
}
