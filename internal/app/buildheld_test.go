package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/flow/buildrun"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

// withState writes a workflow state as another program would.
func (p testProject) withState(text string) testProject {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, ".fctry", "state.json"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func wildState(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "workflow", "testdata", "wild", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// statuses returns the statuses of the build's chunks, in order, as one text.
func (p testProject) statuses() string {
	p.t.Helper()
	state, _ := p.state()
	if state.BuildRun == nil {
		return ""
	}
	var list []string
	for _, c := range state.BuildRun.Chunks {
		list = append(list, string(c.ID)+" "+string(c.Status))
	}
	return strings.Join(list, ", ")
}

func TestAChunkThatWaitsForTheUserAndItsDependentsAreNotBuilt(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withSpec(specText).withState(wildState(t, "dependencies-in-words.json"))
	a := p.open()
	defer a.Close()
	given := readPlan(t, `
agent: fake
chunks:
  - {id: 1, name: Base}
  - {id: 2, name: Pages}
  - {id: 3, name: Polish, prompt: "fake: say ok"}
  - {id: KEYS, name: Keys, prompt: "fake: say ok"}
  - {id: 5, name: Release, dependsOn: [3, KEYS], prompt: "fake: say ok"}
`)
	resume := func() {
		t.Helper()
		run, err := a.Builds.Resume(t.Context(), buildrun.Resumption{Plan: &given})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := a.Runs.Work(t.Context(), run); err != nil || len(r.Tasks) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	resume()
	if got, want := p.statuses(), "1 completed, 2 completed, 3 completed, KEYS awaiting-user, 5 planned"; got != want {
		t.Errorf("the chunks are %s, want %s", got, want)
	}
	if state, _ := p.state(); !strings.Contains(state.NextStep, "Create the API keys in the console") || !strings.Contains(state.NextStep, "gaffer build done KEYS") {
		t.Errorf("the next step is %q", state.NextStep)
	}
	_, err := a.Builds.Resume(t.Context(), buildrun.Resumption{Plan: &given})
	held := (*buildrun.HeldError)(nil)
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "Create the API keys") || !strings.Contains(held.Hint(), "gaffer build done KEYS") {
		t.Errorf("resumed with nothing left for an agent: %v", err)
	}
	if f, err := a.Builds.Find(t.Context()); err != nil || f.Resumable || !f.Incomplete {
		t.Errorf("found %+v, %v", f, err)
	}
	if _, err := a.Builds.CompleteChunk(t.Context(), "KEYS"); err != nil {
		t.Fatal(err)
	}
	resume()
	if state, _ := p.state(); state.BuildRun != nil {
		t.Errorf("the build is not done: %s", p.statuses())
	}
}

func TestAChunkThatTheUserMarksDoneStaysDoneWhileTheBuildContinues(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withSpec(specText).withState(wildState(t, "dependencies-in-words.json"))
	a := p.open()
	defer a.Close()
	given := readPlan(t, "agent: fake\nchunks:\n  - {id: 1, name: Base}\n  - {id: 2, name: Pages}\n  - {id: 3, name: Polish, prompt: 'fake: say ok'}\n  - {id: KEYS, name: Keys}\n  - {id: 5, name: Release, dependsOn: [KEYS]}\n")
	run, err := a.Builds.Resume(t.Context(), buildrun.Resumption{Plan: &given})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Builds.CompleteChunk(t.Context(), "KEYS"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Builds.CompleteChunk(t.Context(), "3"); err == nil {
		t.Error("a chunk that an agent builds was marked done")
	}
	if _, err := a.Runs.Work(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got, want := p.statuses(), "1 completed, 2 completed, 3 completed, KEYS completed, 5 planned"; got != want {
		t.Errorf("the chunks are %s, want %s", got, want)
	}
}

func TestABuildThatIsPartlyDoneIsReplacedOnlyOnRequestAndKept(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"running", "partial", "paused"} {
		p := newPlace(t).withSpec(specText).withState(`{"buildRun": {"runId": "run-9", "status": "` + status + `", "mine": "kept",
 "chunks": [{"id": 1, "status": "completed"}, {"id": 2, "status": "failed"}, {"id": 2, "status": "planned"}]}}`)
		a := p.open()
		defer a.Close()
		plan := readPlan(t, "agent: fake\nchunks:\n  - {id: 1, name: One, prompt: 'fake: say ok'}\n")
		_, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: plan})
		if incomplete := (*buildrun.IncompleteError)(nil); !errors.As(err, &incomplete) {
			t.Errorf("%s: a build was begun over another: %v", status, err)
		}
		if _, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: plan, Fresh: true}); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(filepath.Join(p.root, ".fctry", workflow.BuildsFolder, "run-9.json"))
		if err != nil || !strings.Contains(string(kept), `"mine": "kept"`) {
			t.Errorf("%s: the build before is %s, %v", status, kept, err)
		}
	}
}

func TestAStateThatIsEmptiedDuringABuildGetsBackAllThatTheBuildOwns(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withSpec(specText)
	a := p.open()
	defer a.Close()
	plan := readPlan(t, `
agent: fake
chunks:
  - {id: 1, name: One, prompt: "fake: say ok"}
  - {id: 2, name: Two, dependsOn: [1], sections: ["#rules"], prompt: "fake: tool printf '{}' > .fctry/state.json; touch emptied\nfake: tool until test -f go; do sleep 0.05; done\nfake: say ok"}
`)
	run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := a.Runs.Work(t.Context(), run)
		ended <- err
	}()
	var state workflow.State
	restored := func() bool {
		state, _ = p.state()
		return state.BuildRun != nil && state.BuildRun.Chunks[1].Status == workflow.Active && state.WorkflowStep == workflow.ExecutorBuild &&
			state.CurrentCommand == workflow.Execute && state.ActiveSection == "#rules"
	}
	testenv.Wait(t, "the agent to empty the state", func() error {
		_, err := os.Stat(filepath.Join(p.root, "emptied"))
		return err
	})
	testenv.Wait(t, "the state to be restored", func() error {
		if !restored() {
			return fmt.Errorf("the state is %+v", state)
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(p.root, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	whole, err := a.Builds.Feed(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tellable(whole), tellable(p.feed())); diff != "" {
		t.Errorf("the feed is not whole: %s", diff)
	}
	state, _ = p.state()
	if state.NextStep != "Run /fctry:review to confirm the build" || state.WorkflowStep != "" || state.CurrentCommand != "" {
		t.Errorf("at the end the state is %+v", state)
	}
}
