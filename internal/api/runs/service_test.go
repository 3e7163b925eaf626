package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func TestARunIsSubmittedSeenWorkedOnAndFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		made := f.submit(shop())
		if made.Name != "shop" || made.Project != "web" || made.Status != fleet.Running || made.Counts.Queued != 2 || len(made.Tasks) > 0 {
			t.Errorf("made %+v", made)
		}
		list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{}))(f)
		if len(list) != 1 || list[0].ID != made.ID || list[0].Counts.Total != 2 {
			t.Errorf("runs are %+v", list)
		}
		if list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{Project: "other"}))(f); len(list) != 0 {
			t.Errorf("runs of another project are %+v", list)
		}
		a := f.claim()
		f.finish(a, engine.Finish{Ending: fleet.Ending{Summary: "it is there"}})
		run := must2(f.Runs.Get(f.ctx, made.ID))(f)
		if len(run.Tasks) != 2 || run.Tasks[0].Status != fleet.Complete || run.Tasks[0].Attempt.Summary != "it is there" || run.Tasks[0].Prompt != "" {
			t.Errorf("the run is %+v", run)
		}
		for name, want := range map[string]string{"": made.ID, "-": made.ID, made.ID: made.ID, made.ID[len(made.ID)-8:][:5]: made.ID, "shop": made.ID} {
			if id := must2(f.Runs.Find(f.ctx, "web", name, true))(f); id != want {
				t.Errorf("%q is %s", name, id)
			}
		}
		task := must2(f.Runs.FindTask(f.ctx, "web", "do"))(f)
		if task.ID != "docs" || task.Prompt != "write it down" || task.Run != made.ID {
			t.Errorf("found %+v", task)
		}
		if same := must2(f.Runs.Task(f.ctx, made.ID, "docs"))(f); same.ID != "docs" || same.After[0] != "api" {
			t.Errorf("the task is %+v", same)
		}
		if tries := must2(f.Runs.TaskAttempts(f.ctx, made.ID, "api"))(f); len(tries) != 1 || tries[0].ID != a.Attempt.ID || tries[0].Worker != "w" {
			t.Errorf("attempts are %+v", tries)
		}
		var p plan.Plan
		f.must(json.Unmarshal(must2(f.Runs.Plan(f.ctx, made.ID))(f), &p))
		if len(p.Tasks) != 2 || p.Tasks[0].Prompt != "build the API" {
			t.Errorf("the plan is %+v", p)
		}
		f.finish(f.claim(), engine.Finish{})
		if list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{}))(f); len(list) != 0 {
			t.Errorf("one that has ended is listed: %+v", list)
		}
		if list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{Ended: true, Project: "web"}))(f); len(list) != 1 || list[0].Status != fleet.Complete {
			t.Errorf("runs are %+v", list)
		}
	})
}

func must2[V any](v V, err error) func(f *fixture) V {
	return func(f *fixture) V {
		f.t.Helper()
		f.must(err)
		return v
	}
}

func TestOnlyAWorkerOfTheProjectTakesATask(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.submit(shop())
	run, err := f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", On: "den", Plan: text(plan.Plan{Tasks: []plan.Task{{ID: "a", Prompt: "x"}}})})
	f.must(err)
	for labels, want := range map[string]string{
		"gpu": "", "gpu project:other": "", "project:web": "", "gpu project:web": "api", "project:web @den": run.ID, "project:web @bath": "",
	} {
		a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w", Labels: strings.Fields(labels)})
		got := a.Task.Task
		if want == run.ID {
			got = a.Task.Run
		}
		if got != want {
			t.Errorf("with %s: got %q, %v", labels, got, err)
		}
	}
}

func TestTheSameKeyReturnsTheSameRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		n := coordinator.NewRun{Project: "web", Key: "k", Plan: text(shop())}
		first := must2(f.Runs.Submit(f.ctx, n))(f)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if again, err := f.Runs.Submit(f.ctx, n); err != nil || again.ID != first.ID {
					t.Errorf("again: %s, %v; want %s", again.ID, err, first.ID)
				}
			})
		}
		wg.Wait()
		if other := must2(f.as[credential.Admin].Runs.Submit(f.ctx, n))(f); other.ID == first.ID {
			t.Error("another's key gives the run of the first")
		}
	})
}

func TestAPlanThatCannotRunIsRefusedAndSaysWhy(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	one := func(change func(p *plan.Plan)) json.RawMessage {
		p := shop()
		change(&p)
		return text(p)
	}
	for want, n := range map[string]coordinator.NewRun{
		"project: is missing":         {Plan: text(shop())},
		"has an @ or a comma":         {Project: "a,b", Plan: text(shop())},
		"plan: is missing":            {Project: "web"},
		"want a list":                 {Project: "web", Plan: json.RawMessage(`{"Tasks":{}}`)},
		"wait for each other":         {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].After = []string{"docs"} })},
		"has a slash":                 {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].ID = "../x" })},
		"the worktree of task api is": {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].Worktree = true })},
		"a workflow is on one":        {Project: "web", Plan: one(func(p *plan.Plan) { p.Workflow = &plan.Workflow{ID: "w", Branch: "b"} })},
		"bead bd-1 is on":             {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].Dispatch = &plan.Dispatch{Bead: "bd-1"} })},
		"a team or a build":           {Project: "web", On: "den", Plan: one(func(p *plan.Plan) { p.Team = json.RawMessage(`{}`) })},
		"a step of something":         {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].Step = json.RawMessage(`{}`) })},
		"given by the coordinator":    {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].Labels = []string{"project:other"} })},
		"zero byte":                   {Project: "web", Plan: one(func(p *plan.Plan) { p.Tasks[0].Prompt = "a\x00b" })},
		"too many":                    {Project: "web", Plan: json.RawMessage(`{"Tasks":[` + strings.Repeat("{},", 100_000) + `{}]}`)},
		"found 20001":                 {Project: "web", Plan: json.RawMessage(`{"Tasks":[` + strings.Repeat("{},", 20_000) + `{}]}`)},
	} {
		_, err := f.Runs.Submit(f.ctx, n)
		f.refused(want, err, 400, want)
	}
	if list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{Ended: true}))(f); len(list) > 0 {
		t.Errorf("there are runs: %+v", list)
	}
	_, err := f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", On: "den", Plan: one(func(p *plan.Plan) { p.Tasks[0].Worktree = true })})
	f.must(err)
	odd := shop()
	odd.Tasks[0].Prompt = `a backslash: \u0000`
	f.submit(odd)
}

func TestALargePlanIsTakenAndAHugeOneIsNot(t *testing.T) {
	testenv.Integration(t)
	f := inMemory(t)
	p := plan.Plan{}
	for i := range 3000 {
		p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint("t", i), Prompt: strings.Repeat("x", 1000)})
	}
	if run := f.submit(p); run.Counts.Total != 3000 {
		t.Errorf("the run has %+v", run.Counts)
	}
	for i := range p.Tasks {
		p.Tasks[i].Prompt = strings.Repeat("x", 20_000)
	}
	_, err := f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", Plan: text(p)})
	f.refused("60 MB", err, 413, "longer than 33554432 bytes")
}

func TestATaskIsCancelledAndRetriedByWhoSaidSo(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		f.must(f.Runs.Cancel(f.ctx, run.ID, "api", "not needed"))
		if v := must2(f.Runs.Get(f.ctx, run.ID))(f); v.Status != fleet.Cancelled {
			t.Fatalf("the run is %s", v.Status)
		}
		f.refused("again", f.Runs.Cancel(f.ctx, run.ID, "", ""), 409, "already")
		f.must(f.Runs.Retry(f.ctx, run.ID, "api"))
		if v := must2(f.Runs.Get(f.ctx, run.ID))(f); v.Status != fleet.Running || v.Counts.Queued != 2 {
			t.Errorf("the run is %+v", v)
		}
		f.refused("a task that is queued", f.Runs.Retry(f.ctx, run.ID, "api"), 409, "cannot be retried")
		f.refused("no task", f.Runs.Retry(f.ctx, run.ID, "x"), 404, "not found")
		f.refused("no run", f.Runs.Cancel(f.ctx, "x", "", ""), 404, "run x: not found")
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			events, err := r.Events(0, 100)
			for _, e := range events {
				if e.Run == run.ID && e.Who != "the operator" {
					t.Errorf("%s was done by %q", e.Kind, e.Who)
				}
			}
			return err
		}))
	})
}

func TestTheSecondAnswerToAQuestionIsRefusedWithTheNameOfTheFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		a := f.claim()
		id, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "may I?", Options: []string{"yes", "no"}})
		f.must(err)
		open := must2(f.Questions.List(f.ctx, run.ID))(f)
		if len(open) != 1 || open[0].ID != id || open[0].Task != "api" || len(open[0].Options) != 2 {
			t.Errorf("open are %+v", open)
		}
		f.refused("without a text", f.Questions.Answer(f.ctx, id, "", false), 400, "text: is missing")
		won := 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, c := range []*coordinator.Client{f.as[credential.Admin], f.as[credential.Operator]} {
			for range 3 {
				wg.Go(func() {
					err := c.Questions.Answer(f.ctx, id, "yes", false)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
						return
					}
					f.refused("late", err, 409, "has answered it at 2026-02-06T12:00:00Z")
				})
			}
		}
		wg.Wait()
		if open := must2(f.Questions.List(f.ctx, ""))(f); won != 1 || len(open) != 0 {
			t.Errorf("%d have answered, open are %+v", won, open)
		}
		f.refused("no question", f.Questions.Answer(f.ctx, "x", "y", false), 404, "not found")
		second, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "and now?"})
		f.must(err)
		f.finish(a, engine.Finish{Ending: fleet.Ending{Class: failure.Crashed}})
		f.refused("after the end", f.Questions.Answer(f.ctx, second, "y", false), 409, "no agent waits")
	})
}

func TestAClientWithoutPermissionChangesNothing(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop())
	a := f.claim()
	question, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "may I?"})
	f.must(err)
	before := must2(f.Runs.Get(f.ctx, run.ID))(f)
	for _, role := range []credential.Role{credential.Viewer, credential.Worker} {
		c := f.as[role]
		_, err := c.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", Plan: text(shop())})
		f.refused("submit", err, 403, "")
		f.refused("cancel", c.Runs.Cancel(f.ctx, run.ID, "", ""), 403, "")
		f.refused("retry", c.Runs.Retry(f.ctx, run.ID, "api"), 403, "")
		f.refused("answer", c.Questions.Answer(f.ctx, question, "yes", false), 403, "")
		by := credential.Identity{ID: "x", Role: role} // called directly, in case a route lets the role through
		for _, err := range []error{
			f.runs.Cancel(f.ctx, by, run.ID, "", ""), f.runs.Retry(f.ctx, by, run.ID, "api", fleet.Cost{}), f.runs.Answer(f.ctx, by, question, fleet.Reply{Text: "yes"}),
		} {
			if d, ok := err.(interface{ Denied() bool }); !ok || !d.Denied() {
				t.Errorf("%s: %v", role, err)
			}
		}
		if _, err := c.Runs.Get(f.ctx, run.ID); err != nil {
			t.Errorf("%s may not look: %v", role, err)
		}
	}
	after := must2(f.Runs.Get(f.ctx, run.ID))(f)
	if x, y := fmt.Sprintf("%+v", before.Counts), fmt.Sprintf("%+v", after.Counts); x != y || after.Status != fleet.Running {
		t.Errorf("the run went from %s to %s", x, y)
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop())
	f.submit(shop())
	_, err := f.Runs.Get(f.ctx, "x")
	f.refused("run", err, 404, "run x: not found")
	_, err = f.Runs.Task(f.ctx, run.ID, "x")
	f.refused("task", err, 404, "not found")
	_, err = f.Runs.TaskAttempts(f.ctx, run.ID, "x")
	f.refused("attempts", err, 404, "not found")
	_, err = f.Runs.Plan(f.ctx, "x")
	f.refused("plan", err, 404, "not found")
	_, err = f.Runs.Find(f.ctx, "web", run.ID[:4], false)
	f.refused("find", err, 409, "could be")
	_, err = f.Runs.FindTask(f.ctx, "web", "nothing")
	f.refused("find", err, 404, "not found")
	_, err = f.Runs.Find(f.ctx, "other", "", false)
	f.refused("find", err, 404, "not found")
	_, err = f.Sessions.Document(f.ctx, "x", "status.json")
	f.refused("document", err, 404, "not found")
	_, err = f.Sessions.Document(f.ctx, run.ID, "passwd")
	f.refused("another document", err, 404, "no such path")
	_, err = f.Runs.Records(f.ctx, "x")
	f.refused("records", err, 404, "not found")
	_, _, err = f.Runs.Log(f.ctx, run.ID, "x", coordinator.LogQuery{})
	f.refused("log", err, 404, "not found")
	_, err = f.Questions.List(f.ctx, "x")
	f.refused("questions", err, 404, "not found")
}

func TestTheRunsOfChannelsAreHidden(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c, err := f.Channels.Add(f.ctx, "build", "")
	f.must(err)
	id := "ch-" + c.ID
	_, err = f.Runs.Get(f.ctx, id)
	f.refused("run", err, 404, "not found")
	f.refused("cancel", f.Runs.Cancel(f.ctx, id, "", ""), 404, "not found")
	_, err = f.Runs.Find(f.ctx, "", id, false)
	f.refused("find", err, 404, "not found")
	_, err = f.Sessions.Document(f.ctx, id, "status.json")
	f.refused("document", err, 404, "not found")
	if list := must2(f.Runs.List(f.ctx, coordinator.RunQuery{Ended: true}))(f); len(list) > 0 {
		t.Errorf("runs are %+v", list)
	}
}

func TestTheStreamCanBeLimitedToOneRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		other := f.submit(shop())
		run := must2(f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "app", Plan: text(shop())}))(f)
		f.must(f.Runs.Cancel(f.ctx, other.ID, "", ""))
		f.must(f.Runs.Cancel(f.ctx, run.ID, "", ""))
		for _, from := range []coordinator.StreamQuery{{After: "0", Run: run.ID}, {After: "0", Project: "app"}} {
			var types []string
			end := fmt.Errorf("enough")
			err := f.Stream(f.ctx, from, func(c coordinator.Change) error {
				types = append(types, c.Type)
				if strings.Contains(string(c.Change), other.ID) || strings.Contains(string(c.Change), "build the API") {
					t.Errorf("told %s", c.Change)
				}
				var v fleet.Run
				if c.Type == "runs" && json.Unmarshal(c.Change, &v) == nil && v.Status.Final() {
					return end
				}
				return nil
			})
			if !errors.Is(err, end) || types[0] != "runs" || !strings.Contains(strings.Join(types, " "), "tasks tasks") {
				t.Errorf("%+v: %v, %v", from, types, err)
			}
		}
	})
}
