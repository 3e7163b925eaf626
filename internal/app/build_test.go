package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// seven is a build of seven chunks that produces every kind of event. The third chunk fails its
// check and is retried, the fourth asks a question, and the fifth compacts its context. The seventh
// fails until the user retries it.
const seven = `
name: seven
priorities: [speed, reliability]
prioritySource: project
agent: fake
parallel: 2
retries: 0
convergence:
  - {phase: ground, chunks: [1, 2]}
  - {phase: walls, chunks: [3, 4, 5, 6, 7]}
chunks:
  - {id: 1, name: One, sections: ["#entities"], scenarios: [First], prompt: "fake: work 300ms\nfake: tool echo 1 > one", verify: [test -f one, {file: one}]}
  - {id: 2, name: Two, sections: ["#rules"], prompt: "fake: work 300ms\nfake: say two", verify: ["true"]}
  - {id: 3, name: Three, dependsOn: [1], retries: 1, prompt: "fake: work 300ms\nfake: unless-attempt 1 tool touch three", verify: [{name: the third file, file: three}]}
  - {id: 4, name: Four, dependsOn: [1], prompt: "fake: ask Blue? | yes | no\nfake: work 300ms"}
  - {id: 5, name: Five, dependsOn: [2, 3], prompt: "fake: compact\nfake: work 300ms"}
  - {id: 6, name: Six, sections: ["#entities", "#rules"], dependsOn: [4, 5], prompt: "fake: work 300ms", verify: [{file: one}]}
  - {id: 7, name: Seven, dependsOn: [2], prompt: "fake: work 300ms\nfake: unless-attempt 2 fail it broke"}
`

const specText = "---\nspec-version: 2.4\n---\n# Shop\n## 1 Entities {#entities version=2.4}\n## 2 Rules {#rules version=2.1}\n"

func (p testProject) withSpec(text string) testProject {
	p.t.Helper()
	dir := filepath.Join(p.root, ".fctry")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spec.md"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func readPlan(t *testing.T, text string) build.Plan {
	t.Helper()
	p, err := build.Read("chunks.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p testProject) state() (workflow.State, jsontree.Value) {
	p.t.Helper()
	v, err := workflow.Open(filepath.Join(p.root, ".fctry"), workflow.Options{}).Load()
	if err != nil {
		p.t.Fatal(err)
	}
	state, _ := workflow.Read(v)
	return state, v
}

// feed returns all events of the build so far: first those in the archive, then those in the state.
func (p testProject) feed() (list []workflow.Event) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.root, ".fctry", workflow.ArchiveFolder, "*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			p.t.Fatal(err)
		}
		var values []jsontree.Value
		for _, v := range doc.Value().Items() {
			values = append(values, v)
		}
		list = append(list, workflow.Events(values)...)
	}
	state, _ := p.state()
	return append(list, workflow.Events(state.BuildEvents)...)
}

// tellable returns one line for each event, without its time, for comparison.
func tellable(events []workflow.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Kind+" "+e.Chunk)
	}
	return list
}

func TestABuildKilledAfterEveryKindOfEventCompletesAndReportsEachEventOnce(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t).withSpec(specText)
	a := p.open()
	defer a.Close()
	run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, seven)})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	kills := p.untilPartial(a, run, seen)
	if state, _ := p.state(); state.BuildRun == nil || state.BuildRun.Status != workflow.Partial {
		t.Fatalf("the build is %+v", state.BuildRun)
	}
	if err := a.Fleet.Retry(t.Context(), run, "chunk-7"); err != nil {
		t.Fatal(err)
	}
	kills += p.untilPartial(a, run, seen)
	state, value := p.state()
	if r, err := a.Fleet.Run(t.Context(), run); err != nil || r.Status != fleet.Complete || state.BuildRun != nil || value.Get("buildRun").Kind() != jsontree.Null {
		t.Errorf("the run is %s, %v, the build %+v", r.Status, err, state.BuildRun)
	}
	for _, kind := range []string{
		workflow.ChunkStarted, workflow.ChunkCompleted, workflow.ChunkFailed, workflow.ChunkRetrying, workflow.SectionStarted,
		workflow.SectionCompleted, workflow.ChunkVerified, workflow.VerificationFailed, workflow.ContextCheckpointed,
		workflow.ContextBoundary, workflow.ContextCompacted, workflow.CheckpointSaved, workflow.EscalationEmitted,
	} {
		if !seen[kind] {
			t.Errorf("no %s", kind)
		}
	}
	if kills < len(seen) {
		t.Errorf("killed %d times for %d kinds", kills, len(seen))
	}
	want, err := a.Builds.Feed(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tellable(want), tellable(p.feed())); diff != "" {
		t.Errorf("the feed is not the story, told once (-want +got)\n%s", diff)
	}
	for _, f := range workflow.CheckState("state.json", value) {
		if f.Severity == statefile.Invalid {
			t.Error(f)
		}
	}
}

// untilPartial repeatedly starts a process that works on the run, and kills it when the feed has a
// new kind of event. It returns the number of kills when the run has ended.
func (p testProject) untilPartial(a *app.App, run string, seen map[string]bool) (kills int) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		g := p.gaffer(run)
		fresh := p.awaitNews(a, run, seen, deadline)
		if fresh == "" {
			if out, err := g.output(); err != nil {
				p.t.Fatalf("%v\n%s", err, out)
			}
			return kills
		}
		seen[fresh] = true
		kills++
		_ = g.Process.Kill()
		_ = g.Wait()
	}
}

// awaitNews waits for an event of a kind that is not in seen, and returns the kind. It returns ""
// when the run has ended.
func (p testProject) awaitNews(a *app.App, run string, seen map[string]bool, deadline time.Time) string {
	p.t.Helper()
	for ; time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		for _, e := range p.feed() {
			if !seen[e.Kind] {
				return e.Kind
			}
		}
		r, err := a.Fleet.Run(context.Background(), run)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, t := range r.Tasks {
			if t.Question != nil {
				_ = a.Fleet.Answer(context.Background(), t.Question.ID, fleet.Reply{Text: "yes"}) // ignore the error: the question may be answered already
			}
		}
		if r.Status.Final() {
			return ""
		}
	}
	p.t.Fatal("the build does not end")
	return ""
}

func TestASpecThatChangedNamesTheChunkAndBothChoicesWork(t *testing.T) {
	t.Parallel()
	const two = `
agent: fake
retries: 0
chunks:
  - {id: 1, name: One, sections: ["#entities"], prompt: "fake: tool echo x >> ones\nfake: say one"}
  - {id: 2, name: Two, sections: ["#rules"], dependsOn: [1], prompt: "fake: file-once stop exit 1\nfake: say two"}
`
	for name, rebuild := range map[string][]workflow.ID{"rebuild": {"1"}, "keep": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t).withSpec(specText)
			a := p.open()
			defer a.Close()
			run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, two)})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := a.Runs.Work(t.Context(), run); err != nil || r.Status != fleet.Failed {
				t.Fatalf("%s, %v", r.Status, err)
			}
			p.withSpec(strings.ReplaceAll(specText, "2.4", "2.5"))
			f, err := a.Builds.Find(t.Context())
			if err != nil || len(f.Resume.Stale) != 1 || f.Resume.Stale[0].Chunk.ID != "1" || f.Resume.Stale[0].Built != "2.4" || f.Resume.Stale[0].Now != "2.5" {
				t.Fatalf("%+v, %v", f.Resume.Stale, err)
			}
			if section := f.Resume.Stale[0].Section; section != "#entities" {
				t.Errorf("section %q", section)
			}
			again, err := a.Builds.Resume(t.Context(), buildrun.Resumption{Rebuild: rebuild})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := a.Runs.Work(t.Context(), again); err != nil || r.Status != fleet.Complete {
				t.Fatalf("%s, %v", r.Status, err)
			}
			ones, err := os.ReadFile(filepath.Join(p.root, "ones"))
			if err != nil || strings.Count(string(ones), "x") != 1+len(rebuild) {
				t.Errorf("chunk 1 was built %q, %v", ones, err)
			}
			if state, _ := p.state(); state.BuildRun != nil {
				t.Errorf("the build is %+v", state.BuildRun)
			}
		})
	}
}

func TestAnIncompleteBuildIsNotGivenUpInSilence(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withSpec(specText)
	a := p.open()
	defer a.Close()
	const text = "agent: fake\nchunks:\n  - {id: 1, name: One, prompt: 'fake: say one'}\n  - {id: 2, name: Two, dependsOn: [1], prompt: 'fake: hang'}\n"
	run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	working, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := a.Runs.Work(working, run); left <- err }()
	testenv.WaitFor(t, "one completed and one active chunk", func() *workflow.BuildRun {
		state, _ := p.state()
		return state.BuildRun
	}, func(b *workflow.BuildRun) bool {
		return b != nil && b.Count(workflow.Completed) == 1 && b.Count(workflow.Active) == 1
	})
	leave()
	<-left
	found := (*buildrun.IncompleteError)(nil)
	if _, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, text)}); !errors.As(err, &found) || len(found.Found.Resume.Done) != 1 {
		t.Fatalf("%v", err)
	}
	if same, err := a.Builds.Resume(t.Context(), buildrun.Resumption{}); err != nil || same != run {
		t.Errorf("%s, %v, want %s", same, err, run)
	}
	fresh, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, strings.ReplaceAll(text, "fake: hang", "fake: say two")), Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if old, err := a.Fleet.Run(t.Context(), run); err != nil || old.Status != fleet.Cancelled {
		t.Errorf("the old run is %s, %v", old.Status, err)
	}
	if left := marked(run); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if r, err := a.Runs.Work(t.Context(), fresh); err != nil || r.Status != fleet.Complete {
		t.Errorf("the new run is %s, %v", r.Status, err)
	}
}

func TestABuildOfAnotherProgramIsGoneOnWith(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t).withSpec(specText)
	state := `{"buildRun": {"runId": "run-7", "status": "running", "mine": "kept", "startedAt": "2026-02-17T04:00:00Z",
	 "plan": {"totalChunks": 2, "priorities": [], "prioritySource": "global", "specVersion": "2.4"},
	 "chunks": [{"id": 1, "name": "One", "status": "completed", "sections": [], "scenarios": [], "dependsOn": [], "specVersionAtBuild": "2.4", "completedAt": "2026-02-17T04:12:00Z"},
	  {"id": 2, "name": "Two", "status": "active", "sections": ["#rules"], "scenarios": [], "dependsOn": [1], "note": "kept", "attempt": 1}]}}`
	if err := os.WriteFile(filepath.Join(p.root, ".fctry", "state.json"), []byte(state), 0o644); err != nil {
		t.Fatal(err)
	}
	a := p.open()
	defer a.Close()
	given := readPlan(t, "agent: fake\nchunks:\n  - {id: 1, name: One}\n  - {id: 2, name: Two, dependsOn: [1], prompt: 'fake: fail no'}\n")
	run, err := a.Builds.Resume(t.Context(), buildrun.Resumption{Plan: &given})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Runs.Work(t.Context(), run)
	if err != nil || r.Status != fleet.Failed || len(r.Tasks) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	now, value := p.state()
	if now.BuildRun.RunID != "run-7" || now.BuildRun.Chunks[1].Status != workflow.Failed || value.Get("buildRun").Get("mine").Text() != "kept" {
		t.Errorf("the state is %s", value.Raw())
	}
	if chunks := string(value.Get("buildRun").Get("chunks").Raw()); !strings.Contains(chunks, `"note": "kept"`) {
		t.Errorf("the chunks are %s", chunks)
	}
}

// owned lists the members of the workflow state that a build may change.
var owned = []string{
	"buildRun", "chunkProgress", "currentCommand", "workflowStep", "completedSteps", "agentOutputs", "activeSection",
	"activeSectionNumber", "nextStep", "lastUpdated", "gaffer", "buildEvents",
}

func TestNoIrregularStateBreaksABuildOrLosesAnything(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "workflow", "testdata", "irregular", "*.json"))
	if err != nil || len(files) != 64 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newPlace(t).withSpec(specText)
			state := filepath.Join(p.root, ".fctry", "state.json")
			if err := os.WriteFile(state, data, 0o644); err != nil {
				t.Fatal(err)
			}
			a := p.open()
			defer a.Close()
			found, findErr := a.Builds.Find(t.Context())
			if now, err := os.ReadFile(state); err != nil || string(now) != string(data) {
				t.Fatalf("looking at it changed it: %s, %v", now, err)
			}
			run, err := a.Builds.Resume(t.Context(), buildrun.Resumption{})
			if findErr == nil && found.Resumable != (err == nil) {
				t.Errorf("it is said to be resumable: %v; to resume it says %v", found.Resumable, err)
			}
			if err != nil || findErr != nil {
				keeps(t, p, data)
				return
			}
			if err := a.Fleet.Cancel(t.Context(), run, "", "the test is over"); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Runs.Work(t.Context(), run); err != nil {
				t.Error(err)
			}
			keeps(t, p, data)
		})
	}
}

// keeps fails if the build has lost something of the state: a member that it may not write, a
// chunk, or a field of a chunk.
func keeps(t *testing.T, p testProject, data []byte) {
	t.Helper()
	before, err := jsontree.Parse(data)
	if err != nil || before.Value().Kind() != jsontree.Object {
		kept, _ := filepath.Glob(filepath.Join(p.root, ".fctry", "*"))
		for _, file := range kept {
			if text, err := os.ReadFile(file); err == nil && string(text) == string(data) {
				return
			}
		}
		if strings.TrimSpace(string(data)) != "" && before != nil && before.Value().Kind() != jsontree.Null {
			t.Errorf("its bytes are gone; there are %v", kept)
		}
		return
	}
	_, after := p.state()
	for name, v := range before.Value().Members() {
		if !slices.Contains(owned, name) && string(after.Get(name).Raw()) != string(v.Raw()) {
			t.Errorf("%s is %s, was %s", name, after.Get(name).Raw(), v.Raw())
		}
	}
	for name := range before.Value().Get("buildRun").Members() {
		if after.Get("buildRun").Get(name).Kind() == jsontree.Missing {
			t.Errorf("buildRun.%s is gone", name)
		}
	}
}

func TestAPageIsCheckedInARealBrowser(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t).withSpec(specText)
	a := p.open()
	defer a.Close()
	const text = `
agent: fake
retries: 0
chunks:
  - id: 1
    name: Page
    prompt: "fake: write index.html <h1 id=a></h1><script>a.innerText = 'six ' + 'nodes'</script>"
    serve: python3 -m http.server --bind 127.0.0.1 $PORT
    verify:
      - {url: "http://127.0.0.1:{port}/", status: 200}
      - {name: six nodes are shown, url: "http://127.0.0.1:{port}/index.html", contains: six nodes, screenshot: true}
`
	run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.Runs.Work(t.Context(), run); err != nil || r.Status != fleet.Complete {
		t.Fatalf("%s, %+v, %v", r.Status, r.Tasks[0].Attempt, err)
	}
	for _, e := range p.feed() {
		if e.Kind != workflow.ChunkVerified {
			continue
		}
		if e.Mode != workflow.Full || e.Summary != "2/2 checks passed" || len(e.Checks) != 2 || e.Checks[1].Name != "six nodes are shown" {
			t.Errorf("the event is %s", e.Raw.Raw())
		}
		picture, err := os.ReadFile(filepath.Join(p.root, e.Screenshot))
		if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") || !strings.HasPrefix(e.Screenshot, ".fctry/verification/") {
			t.Errorf("the screenshot %s has %d bytes, %v", e.Screenshot, len(picture), err)
		}
		return
	}
	t.Error("the feed has no verification")
}
