package runs_test

import (
	"testing"

	"gaffer/fleet"

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
		f.finish(a, engine.Finish{})
		if list := must2(f.runs.RunningAttempts(f.ctx))(f); len(list) > 0 {
			t.Errorf("after its end: %+v", list)
		}
	})
}
