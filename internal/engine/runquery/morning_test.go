package runquery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

// night is a store in which time passes only when the test says so.
type night struct {
	*testing.T
	store  store.Store
	engine *engine.Engine
	now    time.Time
}

func newNight(t *testing.T) *night {
	t.Helper()
	n := &night{T: t, store: memory.New(), now: time.Date(2026, 11, 17, 17, 0, 0, 0, time.UTC)}
	ids := 0
	n.engine = engine.New(n.store, engine.Options{
		Now: func() time.Time { return n.now }, Rand: func() float64 { return 0.5 }, NewID: func() string { ids++; return fmt.Sprintf("id%03d", ids) }, Endless: true, Lease: 1000 * time.Hour,
	})
	return n
}

func (n *night) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *night) submit(p plan.Plan) string {
	n.Helper()
	id, err := n.engine.Submit(context.Background(), engine.Submission{Plan: p})
	n.must(err)
	return id
}

// claim starts an attempt at the task with this id, which must be the next one.
func (n *night) claim(task string) store.Attempt {
	n.Helper()
	a, err := n.engine.Claim(context.Background(), engine.Claim{Worker: "w"})
	n.must(err)
	if a.Task.Task != task {
		n.Fatalf("claimed %s, want %s", a.Task.Task, task)
	}
	return a.Attempt
}

func (n *night) finish(a store.Attempt, f engine.Finish) {
	n.Helper()
	f.Attempt, f.Token = a.ID, a.Token
	_, err := n.engine.Finish(context.Background(), f)
	n.must(err)
}

func (n *night) report(since time.Time) fleet.MorningReport {
	n.Helper()
	fires := func(_ store.Reader, _ string, from time.Time) ([]fleet.MorningFire, error) {
		return []fleet.MorningFire{{Schedule: "nightly", Planned: from, Status: fleet.FireSkipped, Why: "no\nitem"}}, nil
	}
	r, err := runquery.New(n.store, runquery.Options{NotStarted: fires}).Morning(context.Background(), fleet.MorningQuery{Since: since}, n.now)
	n.must(err)
	return r
}

// lists returns the names of the tasks in each list of a report.
func lists(r fleet.MorningReport) map[string]string {
	all := map[string]string{}
	for name, list := range map[string][]fleet.MorningTask{
		"merged": r.Merged, "review": r.Review, "done": r.Done, "failed": r.Failed, "waiting": r.Waiting, "running": r.Running, "skipped": r.Skipped,
	} {
		var tasks []string
		for _, t := range list {
			text := t.Task
			if t.Why != "" {
				text += " (" + t.Why + ")"
			}
			tasks = append(tasks, text)
		}
		if tasks != nil {
			all[name] = strings.Join(tasks, ", ")
		}
	}
	return all
}

func TestAMorningReportSaysWhatHasBecomeOfEachTask(t *testing.T) {
	n := newNight(t)
	ctx := context.Background()
	diff := json.RawMessage(`{"files":[{"path":"a.go","added":3,"removed":1}],"changed":1,"added":3,"removed":1}`)
	tree := plan.Isolation{Worktree: true, Into: "main"}
	ended := n.submit(plan.Plan{Name: "before", Tasks: []plan.Task{{ID: "old", Prompt: "x", Isolation: tree}, {ID: "landed", Prompt: "x", Isolation: tree}}})
	for _, task := range []string{"old", "landed"} {
		n.finish(n.claim(task), engine.Finish{Ending: fleet.Ending{Diff: diff}})
	}
	since := n.now.Add(time.Hour)
	n.now = since.Add(time.Hour)
	n.must(n.engine.ChangeReview(ctx, store.TaskKey{Run: ended, Task: "landed"}, "ada", func(r *fleet.Review) error {
		r.State, r.Landing = fleet.ReviewMerged, &fleet.Landing{Into: "main", At: n.now}
		return nil
	}))

	run := n.submit(plan.Plan{Name: "night", Tasks: []plan.Task{
		{ID: "change", Prompt: "x", Isolation: tree, Item: plan.SourceItem{Source: "gh:ada/shop", ID: "42", URL: "https://example.org/42", Title: "Crash at start"}},
		{ID: "look", Prompt: "x"},
		{ID: "role", Prompt: "x"},
		{ID: "check", Prompt: "x", Verify: []string{"make test"}},
		{ID: "after", Prompt: "x", After: []string{"check"}},
		{ID: "ask", Prompt: "x"},
		{ID: "work", Prompt: "x"},
		{ID: "later", Prompt: "x"},
	}})
	n.finish(n.claim("change"), engine.Finish{Ending: fleet.Ending{Diff: diff}, Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 250_000}}})
	n.finish(n.claim("look"), engine.Finish{Ending: fleet.Ending{Summary: "nothing to do\n"}, Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 500_000}}})
	n.finish(n.claim("role"), engine.Finish{Ending: fleet.Ending{Summary: `{"status": "READY", "summary": "the page\nis there", "groups": []}`}})
	n.finish(n.claim("check"), engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed, Summary: "a check failed", Checks: json.RawMessage(`[{"command":"make test","ok":false,"exit":2}]`)}})
	asking := n.claim("ask")
	_, err := n.engine.Ask(ctx, engine.Ask{Attempt: asking.ID, Token: asking.Token, Ref: "1", Text: "May I\nuse the network?"})
	n.must(err)
	n.claim("work")
	n.finish(n.claim("later"), engine.Finish{Ending: fleet.Ending{Class: failure.RateLimited}, Reset: n.now.Add(48 * time.Hour)})
	n.must(n.store.Write(ctx, func(tx *store.Tx) error {
		for i := range 3 {
			tx.PutQuestion(store.Question{ID: fmt.Sprint("q", i), Attempt: asking.ID, Run: run, Task: "ask", Text: fmt.Sprint("go test ", i), Tool: "Bash", By: "rule Bash(go test:*)", Asked: n.now.Add(-time.Duration(i) * time.Second), Answered: n.now, Closed: true})
		}
		tx.PutQuestion(store.Question{ID: "early", Attempt: asking.ID, Run: run, Task: "ask", Text: "long ago", By: "ada", Asked: since.Add(-time.Hour), Closed: true})
		return nil
	}))

	r := n.report(since)
	want := map[string]string{
		"merged": "landed", "review": "change", "done": "look (nothing to do), role (the page is there)", "failed": "check (make test (exit 2))", "skipped": "after (a task that it needs did not complete)",
		"waiting": "ask (May I use the network?)",
		"running": "work, later (claude is paused until 2026-11-19T19:00:00Z: rate_limited)",
	}
	if diff := cmp.Diff(want, lists(r)); diff != "" {
		t.Errorf("lists of tasks (-want +got):\n%s", diff)
	}
	if c := r.Review[0]; c.Added != 3 || c.Removed != 1 || c.Into != "main" || c.Item == nil || c.Item.Title != "Crash at start" || c.Item.URL != "https://example.org/42" {
		t.Errorf("the change to review is %+v", c)
	}
	if r.Cost.USD == nil || *r.Cost.USD != 0.75 {
		t.Errorf("the total cost is %+v", r.Cost)
	}
	if len(r.Runs) != 2 || r.Runs[0].ID != run || r.Runs[0].Cost.USD == nil || *r.Runs[0].Cost.USD != 0.75 || r.Runs[0].Counts.Failed != 1 || r.Runs[1].ID != ended || r.Runs[1].Cost.USD != nil {
		t.Errorf("the runs are %+v", r.Runs)
	}
	if diff := cmp.Diff([]fleet.MorningQuestion{
		{By: "rule Bash(go test:*)", Tool: "Bash", Count: 3, Example: "go test 0", Run: run, Task: "ask"},
		{Open: true, Count: 1, Example: "May I use the network?", Run: run, Task: "ask"},
	}, r.Questions); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]fleet.MorningFire{{Schedule: "nightly", Planned: since, Status: fleet.FireSkipped, Why: "no item"}}, r.NotStarted); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
	usd := 0.75
	if diff := cmp.Diff([]fleet.MorningAccount{{Name: "claude", Attempts: 7, USD: &usd, Limited: 1, Until: n.now.Add(48 * time.Hour)}}, r.Accounts); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}

	n.now = n.now.Add(24 * time.Hour)
	if got := lists(n.report(n.now)); len(got) != 2 || got["waiting"] == "" || got["running"] == "" {
		t.Errorf("a day later: %v; want only what still waits or runs", got)
	}
}

func TestAMorningReportNamesWhatStartedARunAndLeavesOutWhatIsOld(t *testing.T) {
	n := newNight(t)
	run := n.submit(many(1))
	n.finish(n.claim("t0"), engine.Finish{})
	n.must(n.store.Write(context.Background(), func(tx *store.Tx) error {
		row, err := tx.Run(run)
		row.StartedBy = "schedule nightly"
		tx.PutRun(row)
		return err
	}))
	if r := n.report(n.now); len(r.Runs) != 1 || r.Runs[0].StartedBy != "schedule nightly" {
		t.Errorf("runs are %+v", r.Runs)
	}
	if r := n.report(n.now.Add(time.Second)); len(r.Runs) != 0 || len(lists(r)) != 0 {
		t.Errorf("later, the report has %+v", r)
	}
}
