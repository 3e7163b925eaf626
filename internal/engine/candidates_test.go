package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/selection"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// contested returns a plan with a task that three agents do as candidates, and a second task that
// depends on it.
func contested(by plan.PickBy) plan.Plan {
	api := task("api")
	api.Prompt = "Do it."
	api.CandidateKeys = plan.CandidateKeys{Candidates: []string{"claude", "codex", "gemini"}, PickBy: by}
	return plan.Plan{OnFailure: plan.StopNow, Tasks: []plan.Task{api, task("docs", "api")}}.ExpandCandidates()
}

// end claims a task, checks that it is the task with this id, and ends its attempt.
func (f *fixture) end(id string, ending fleet.Ending) {
	f.t.Helper()
	a := f.claim()
	if a.Task.Task != id {
		f.t.Fatalf("%s starts, want %s", a.Task.Task, id)
	}
	_, err := f.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: ending})
	f.must(err)
}

// A message can queue a candidate again while the task that picks is running.
func TestATaskThatPicksIsRetriedAfterACandidateWasQueuedAgain(t *testing.T) {
	for _, class := range []failure.Class{failure.None, failure.Crashed} {
		f := newFixture(t)
		run := f.submit(contested(plan.PickChecks))
		for range 3 {
			f.say(f.claim(), "")
		}
		pick := f.claim()
		f.send(run, "api.codex", "and the tests?")
		again := f.claim()
		f.deliver(again, again.Messages[0].ID)
		f.finish(again, class)
		f.finish(pick, failure.Lost)
		f.sweep(10 * time.Minute)
		if a := f.claim(); a.Task.Task != "api" {
			t.Errorf("after the candidate was %q: %s starts", class, a.Task.Task)
		}
	}
}

func TestATaskThatPicksStartsWhenItsCandidatesHaveEnded(t *testing.T) {
	f := newFixture(t)
	run := f.submit(contested(plan.PickChecks))
	f.end("api.claude", fleet.Ending{Class: failure.Crashed, Summary: "no"})
	f.end("api.codex", fleet.Ending{Summary: "done", Checks: json.RawMessage(`[{"ok":true},{"ok":false}]`), Diff: json.RawMessage(`{"changed":2,"added":7,"removed":1}`)})
	last := f.claim()
	f.nothing() // one candidate is still running, so the pick task cannot start
	f.finish(last, failure.None)
	pick := f.claim()
	spec, err := plan.DecodeTask(pick.Task.Spec)
	f.must(err)
	var step selection.PickInput
	f.must(json.Unmarshal([]byte(spec.Prompt), &step))
	if len(step.Candidates) != 3 || step.Task != "api" || step.Run != run {
		t.Fatalf("the step is %+v", step)
	}
	if c := step.Candidates[0]; c.Status != fleet.Failed || c.Outcome != string(failure.Crashed) {
		t.Errorf("the candidate that failed is %+v", c)
	}
	if c := step.Candidates[1]; c.Status != fleet.Complete || c.Checks != 2 || c.Passed != 1 || c.Files != 2 || c.Added != 7 || c.Removed != 1 || c.Summary != "done" {
		t.Errorf("the result of codex is %+v", c)
	}
	f.nothing() // the task docs waits for the pick task
	_, err = f.Finish(context.Background(), engine.Finish{Attempt: pick.Attempt.ID, Token: pick.Attempt.Token, Ending: fleet.Ending{Answer: "picked api.codex: why not\n"}})
	f.must(err)
	// A pick task has no agent, so comments on it are refused. The error names the picked
	// candidate.
	_, err = f.ActOnReview(context.Background(), store.TaskKey{Run: run, Task: "api"}, "ada", fleet.ReviewAction{Action: fleet.ActComment, Comment: fleet.Comment{Text: "why?"}})
	if !conflict(err) || !strings.Contains(err.Error(), "'gaffer review "+run+"/api.codex'") {
		t.Errorf("a comment on the picked work: %v", err)
	}
	_, err = f.ActOnReview(context.Background(), store.TaskKey{Run: run, Task: "api"}, "ada", fleet.ReviewAction{Action: fleet.ActApprove})
	f.must(err)
	f.end("docs", fleet.Ending{})
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s although its only failure is a candidate", got)
	}
	// A message lets the picked candidate continue its work. Then a retry of the pick task takes
	// the newer work. Complete tasks that depend on the pick task stay complete.
	_, err = f.Send(context.Background(), fleet.Message{Run: run, Task: "api.codex", Text: "more"})
	f.must(err)
	f.end("api.codex", fleet.Ending{})
	f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "api"}, "ada", ""))
	spec, err = plan.DecodeTask(f.claim().Task.Spec)
	f.must(err)
	step = selection.PickInput{}
	f.must(json.Unmarshal([]byte(spec.Prompt), &step))
	if step.Picked != "api.codex" {
		t.Errorf("the candidate that was picked before is %q", step.Picked)
	}
	f.expect(run, map[string]store.Status{"api": store.Running, "docs": store.Complete})
}

// The cost of a candidate is the sum over all its attempts, also after a retry or a message.
func TestChecksPickByTheCostOfAllAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(contested(plan.PickChecks))
	end := func(a engine.Assignment, usd int64, class failure.Class) {
		t.Helper()
		done := engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: class}}
		done.Spent.MicroUSD = usd * 1e6
		for _, m := range a.Messages {
			done.Delivered = append(done.Delivered, m.ID)
		}
		f.now = f.now.Add(time.Minute)
		_, err := f.Finish(context.Background(), done)
		f.must(err)
	}
	end(f.claim(), 3, failure.None)
	codex := f.claim()
	f.send(run, "api.codex", "smaller")
	end(codex, 2, failure.None)
	a := f.claim()
	for a.Task.Task != "api" {
		class := failure.None
		if a.Task.Task == "api.gemini" {
			class = failure.Crashed
		}
		end(a, 2, class)
		a = f.claim()
	}
	spec, err := plan.DecodeTask(a.Task.Spec)
	f.must(err)
	var step selection.PickInput
	f.must(json.Unmarshal([]byte(spec.Prompt), &step))
	if id, why, _ := step.Decide(); id != "api.claude" || step.Candidates[1].Spent.USD != 4 || step.Candidates[1].WorkedMS != 2*60_000 {
		t.Errorf("picked %s, %s; codex is %+v", id, why, step.Candidates[1])
	}
	row := f.task(run, "api.codex")
	last, err := plan.DecodeTask(row.Spec)
	f.must(err)
	if seen := runquery.TaskOf(row, last); seen.Spent.USD != 4 || seen.WorkedMS != 2*60_000 {
		t.Errorf("the task has spent %v in %d ms", seen.Spent, seen.WorkedMS)
	}
}

func TestATaskThatPicksFailsIfNoCandidateIsComplete(t *testing.T) {
	f := newFixture(t)
	p := contested(plan.PickJudge)
	p.OnFailure = plan.Continue
	run := f.submit(p)
	for _, id := range []string{"api.claude", "api.codex", "api.gemini"} {
		f.end(id, fleet.Ending{Class: failure.Crashed})
	}
	f.nothing()
	f.expect(run, map[string]store.Status{"api": store.Failed, "api.judge": store.Failed, "docs": store.Cancelled})
	if got := f.runStatus(run); got != store.Failed {
		t.Errorf("the run is %s", got)
	}
	// A retry of a candidate also queues the pick task again, and the tasks that depend on it.
	f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "api.codex"}, "ada", ""))
	f.end("api.codex", fleet.Ending{})
	f.end("api.judge", fleet.Ending{Answer: "winner: api.codex"})
	f.end("api", fleet.Ending{})
	f.end("docs", fleet.Ending{})
	if got := f.runStatus(run); got != store.Complete {
		t.Errorf("the run is %s after the retry", got)
	}
}

func TestATaskThatPicksWaitsForACandidateThatIsTriedAgain(t *testing.T) {
	f := newFixture(t)
	run := f.submit(contested(plan.PickUser))
	f.end("api.claude", fleet.Ending{Class: failure.Crashed})
	f.end("api.codex", fleet.Ending{})
	f.end("api.gemini", fleet.Ending{})
	f.must(f.Retry(context.Background(), store.TaskKey{Run: run, Task: "api.claude"}, "ada", "")) // the pick task was ready; now it must wait for the candidate again
	again := f.claim()
	if again.Task.Task != "api.claude" {
		t.Fatalf("%s starts", again.Task.Task)
	}
	f.nothing()
	f.finish(again, failure.None)
	// A candidate that gets a message runs again. The pick task waits until the candidate has
	// ended.
	if _, err := f.Send(context.Background(), fleet.Message{Run: run, Task: "api", Text: "hello"}); !conflict(err) {
		t.Errorf("the task that picks takes a message: %v", err)
	}
	_, err := f.Send(context.Background(), fleet.Message{Run: run, Task: "api.codex", Text: "more"})
	f.must(err)
	f.end("api.codex", fleet.Ending{})
	f.end("api", fleet.Ending{})
	f.end("docs", fleet.Ending{})
}

func TestCancelledCandidatesCancelTheTaskThatPicks(t *testing.T) {
	f := newFixture(t)
	run := f.submit(contested(plan.PickUser))
	for _, id := range []string{"api.claude", "api.codex", "api.gemini"} {
		f.must(f.Cancel(context.Background(), engine.Target{Run: run, Task: id}, "ada", ""))
	}
	f.expect(run, map[string]store.Status{"api": store.Cancelled, "docs": store.Cancelled})
	if got := f.runStatus(run); got != store.Cancelled {
		t.Errorf("the run is %s", got)
	}
}

func TestTheJudgeReadsTheResultsAndTheTaskThatPicksReadsTheJudge(t *testing.T) {
	f := newFixture(t)
	f.submit(contested(plan.PickJudge))
	f.end("api.claude", fleet.Ending{})
	f.end("api.codex", fleet.Ending{Class: failure.Crashed})
	f.end("api.gemini", fleet.Ending{})
	judge := f.claim()
	spec, err := plan.DecodeTask(judge.Task.Spec)
	f.must(err)
	for _, want := range []string{"Do it.", "- api.claude on branch", "- api.gemini on branch", "winner: CANDIDATE"} {
		if !strings.Contains(spec.Prompt, want) {
			t.Errorf("the judge does not read %q in:\n%s", want, spec.Prompt)
		}
	}
	if strings.Contains(spec.Prompt, "api.codex") {
		t.Error("the judge may choose a candidate that failed")
	}
	_, err = f.Finish(context.Background(), engine.Finish{Attempt: judge.Attempt.ID, Token: judge.Attempt.Token, Ending: fleet.Ending{Answer: "Both work.\nwinner: api.gemini"}})
	f.must(err)
	spec, err = plan.DecodeTask(f.claim().Task.Spec)
	f.must(err)
	var step selection.PickInput
	f.must(json.Unmarshal([]byte(spec.Prompt), &step))
	if id, why, ok := step.Decide(); id != "api.gemini" || why != "Both work." || !ok {
		t.Errorf("decided %q because %q, %v", id, why, ok)
	}
}
