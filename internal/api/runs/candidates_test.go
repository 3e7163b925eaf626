package runs_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan"
)

func TestTheCandidatesOfATaskAreCompared(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	api := plan.Task{ID: "api", Prompt: "Do it.", CandidateKeys: plan.CandidateKeys{Candidates: []string{"claude", "codex:small"}}}
	p := plan.Plan{Name: "shop", Tasks: []plan.Task{api, {ID: "docs", Prompt: "Write.", After: []string{"api"}}}}.ExpandCandidates()
	run := must2(f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", On: "w", Plan: text(p)}))(f).ID
	compare := func(task string) (c fleet.Comparison) {
		t.Helper()
		status, body := f.read(credential.Viewer, "/v1/runs/"+run+"/tasks/"+task+"/candidates")
		answer := struct{ Comparison *fleet.Comparison }{&c}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return c
	}
	if c := compare("api"); c.Status != fleet.Queued || len(c.Candidates) != 2 || c.Question != nil || c.Picked != "" {
		t.Errorf("at first: %+v", c)
	}
	f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Summary: "oh"}})
	f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Summary: "It works.", Checks: json.RawMessage(`[{"ok":true},{"ok":false}]`), Diff: json.RawMessage(`{"changed":2,"added":7,"removed":1}`)}})
	pick := f.claim()
	q, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: pick.Attempt.ID, Token: pick.Attempt.Token, Ref: "r", Text: "Which?"})
	f.must(err)
	c := compare("api.claude") // the request names a candidate instead of its task
	if c.Run != run || c.Task != "api" || c.Question == nil || c.Question.ID != q {
		t.Errorf("while it asks: %+v", c)
	}
	if one := c.Candidates[0]; one.Status != fleet.Failed || one.Outcome != string(failure.Crashed) {
		t.Errorf("the candidate that failed is %+v", one)
	}
	if one := c.Candidates[1]; one.Agent != "codex" || one.Model != "small" || one.Passed != 1 || one.Checks != 2 || one.Files != 2 || one.Added != 7 || one.Removed != 1 || one.Summary != "It works." || one.Picked {
		t.Errorf("the complete candidate is %+v", one)
	}
	f.finish(pick, engine.Finish{Ending: fleet.Ending{Summary: fleet.PickedPrefix + "api.codex-small: the user has picked it"}})
	if c := compare("api"); c.Picked != "api.codex-small" || c.Why != "the user has picked it" || c.Question != nil || !c.Candidates[1].Picked {
		t.Errorf("afterwards: %+v", c)
	}
	for path, code := range map[string]string{run + "/tasks/docs": "no_candidates", run + "/tasks/none": "not_found", "none/tasks/api": "run_not_found"} {
		status, body := f.read(credential.Viewer, "/v1/runs/"+path+"/candidates")
		var answer struct{ Error struct{ Code string } }
		f.must(json.Unmarshal([]byte(body), &answer))
		if status != http.StatusNotFound || answer.Error.Code != code {
			t.Errorf("%s: %d %s, want %s", path, status, body, code)
		}
	}
}
