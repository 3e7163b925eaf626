package runs_test

import (
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

func TestTheProgressOfAttemptsIsStreamed(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		if list := must2(f.runs.RunningAttempts(f.ctx))(f); len(list) > 0 {
			t.Errorf("before anything runs: %+v", list)
		}
		a := f.claim()
		must2(f.engine.Beat(f.ctx, store.Worker{ID: "w"}, []engine.HeldAttempt{{
			Attempt: a.Attempt.ID, Token: a.Attempt.Token, Now: fleet.Progress{Activity: fleet.Activity{State: "running", Doing: "reads files", Source: "control", Said: f.clock()}},
		}}))(f)
		list := must2(f.runs.RunningAttempts(f.ctx))(f)
		if len(list) != 1 || list[0].Run != run.ID || list[0].Task != "api" || list[0].Doing != "reads files" || list[0].Source != "control" {
			t.Errorf("while it runs: %+v", list)
		}
		live := must2(f.as[credential.Viewer].Runs.Live(f.ctx))(f)
		if len(live) != 1 || live[0].ID != a.Attempt.ID || live[0].Doing != "reads files" || live[0].RunName != run.Name || live[0].Agent == "" {
			t.Errorf("a viewer gets %+v", live)
		}
		f.finish(a, engine.Finish{})
		if list := must2(f.runs.RunningAttempts(f.ctx))(f); len(list) > 0 {
			t.Errorf("after its end: %+v", list)
		}
	})
}

func TestARunningAttemptNamesItsTaskAndItsBranch(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	p := shop()
	p.Tasks[0].Name, p.Tasks[0].Agent, p.Tasks[0].Model = "Build the API", "codex", "o9"
	p.Tasks[0].Worktree = true
	must2(f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", On: "w", Plan: text(p)}))(f)
	f.claim()
	for range 2 { // the second time, the task is remembered
		list := must2(f.runs.RunningAttempts(f.ctx))(f)
		if len(list) != 1 || list[0].TaskName != "Build the API" || list[0].Agent != "codex" || list[0].Model != "o9" || list[0].Branch != "gaffer/"+list[0].Run+"/api" {
			t.Errorf("%+v", list)
		}
	}
}
