package app_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// nightClock is a clock that runs as fast as the real one, and that the test sets forward.
type nightClock struct {
	mu      sync.Mutex
	started time.Time // the real time at which the clock showed begin
	begin   time.Time
}

func newNightClock(begin time.Time) *nightClock {
	return &nightClock{started: time.Now(), begin: begin}
}

func (c *nightClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin.Add(time.Since(c.started))
}

// forwardTo sets the clock to a later time.
func (c *nightClock) forwardTo(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started, c.begin = time.Now(), at
}

// The times of the night. The two limits are when the account of the agents may be used again.
var (
	evening     = time.Date(2026, 11, 19, 22, 0, 0, 0, time.UTC)
	planned     = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	firstLimit  = planned.Add(70 * time.Minute)
	secondLimit = planned.Add(3 * time.Hour)
	morning     = time.Date(2026, 11, 20, 7, 30, 0, 0, time.UTC)
)

// nightList is the list of the night's tasks, with the steps of the fake agent for each.
func nightList() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"id", "title", "prompt"}) // a strings.Builder returns no errors
	for i := 1; i <= 20; i++ {
		steps := []string{"usage 1000 100 0.10", fmt.Sprintf("write out/t%02d.txt done", i)}
		switch i {
		case 3: // hits the rate limit twice, and goes on each time
			steps = append([]string{"file-once limit-1 limit " + firstLimit.Format(time.RFC3339), "file-once limit-2 limit " + secondLimit.Format(time.RFC3339)}, steps...)
		case 5, 9, 14: // asks for something that a rule allows
			steps = append([]string{"permission Bash go test ./..."}, steps...)
		case 17: // asks for something that only the user can decide
			steps = append([]string{"permission Bash git push"}, steps...)
		}
		_ = w.Write([]string{fmt.Sprintf("t%02d", i), fmt.Sprintf("Item %d", i), "fake: " + strings.Join(steps, "\nfake: ")})
	}
	w.Flush()
	return b.String()
}

// nightDefaults is the plan with the defaults of the tasks. Its rule answers some of the agents'
// requests.
const nightDefaults = `name: night
parallel: 4
budget: {usd: 3}
defaults:
  agent: fake
  permissions: {allow: ["Bash(go test:*)"]}
`

// nightPlan makes a task of each item in the list. Task t20 starts after the others, and needs more
// than the budget then allows.
func nightPlan(ctx context.Context, a *app.App, root string, args []string) (plan.Plan, error) {
	made, err := a.Sources.Plan(ctx, app.SourceRequest{From: args[0], Plan: "night.yaml", Dir: root})
	if err != nil {
		return plan.Plan{}, err
	}
	last := &made.Tasks[len(made.Tasks)-1]
	last.Budget = plan.Budget{USD: 2}
	for _, other := range made.Tasks[:len(made.Tasks)-1] {
		last.After = append(last.After, other.ID)
	}
	return made.Plan, nil
}

// The user adds a schedule in the evening. In the morning the tasks are done, apart from one that
// waits for the user, and one that the budget does not allow.
func TestANight(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	p.file("tasks.csv", nightList())
	p.file("night.yaml", nightDefaults)
	p.file("out/.keep", "")
	clock := newNightClock(evening)
	a := p.openAt(clock.now)
	served, err := a.Serve(app.ServerOptions{LoadPlan: func(ctx context.Context, root string, args []string) (plan.Plan, error) {
		return nightPlan(ctx, a, root, args)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		served.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = served.Schedules.Add(t.Context(), schedule.Schedule{
		Name: "night", Cron: "0 2 * * *", Zone: "UTC", Missed: fleet.MissedRunOnce, Overlap: fleet.OverlapSkip, Project: p.root, Args: []string{"tasks.csv"},
	})
	if err != nil {
		t.Fatal(err)
	}

	// At 02:00 the server starts the run. This test program works on it, instead of a process in the
	// background.
	clock.forwardTo(planned)
	get := func() (fleet.Schedule, error) { return served.Schedules.Get(t.Context(), "night") }
	s := until(t, "the run starts", get, func(s fleet.Schedule) bool { return len(s.Fires) == 1 && s.Fires[0].Status.Final() })
	id := s.Fires[0].Run
	if !s.Fires[0].Planned.Equal(planned) || id == "" {
		t.Fatalf("%+v", s.Fires)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := a.Runs.Work(t.Context(), id)
		ended <- err
	}()
	run := func() (fleet.Run, error) { return a.Fleet.Run(t.Context(), id) }

	// Twice the agents' account reaches its limit, and the run goes on when the limit is over.
	for _, limit := range []time.Time{firstLimit, secondLimit} {
		until(t, "the account is paused until "+limit.Format("15:04"), run, func(r fleet.Run) bool {
			return len(r.Lanes) == 1 && r.Lanes[0].Until.Equal(limit)
		})
		clock.forwardTo(limit)
	}

	// The run goes on until only the user can help.
	r := until(t, "one task waits for the user", run, func(r fleet.Run) bool { return r.Counts.Complete == 18 && r.Counts.Running == 1 })
	waiting := taskOf(t, r, "t17")
	if waiting.Question == nil {
		t.Fatalf("t17 is %+v", waiting)
	}
	clock.forwardTo(morning)
	if err := a.Fleet.Answer(t.Context(), waiting.Question.ID, fleet.Reply{Text: waiting.Question.Options[0]}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	r, err = run()
	if err != nil {
		t.Fatal(err)
	}
	if r.StartedBy != "schedule night" || r.Counts.Complete != 19 || r.Counts.Failed != 1 {
		t.Errorf("started by %q, %+v", r.StartedBy, r.Counts)
	}
	for _, task := range r.Tasks {
		tries, want := 1, fleet.Complete
		switch task.ID {
		case "t03":
			tries = 3
		case "t20":
			tries, want = 0, fleet.Failed
		}
		if task.Status != want || task.Tries < tries {
			t.Errorf("%s is %s after %d tries: %s", task.ID, task.Status, task.Tries, task.Outcome)
		}
		_, err := os.Stat(filepath.Join(p.root, "out", task.ID+".txt"))
		if (err == nil) != (want == fleet.Complete) {
			t.Errorf("%s: %v", task.ID, err)
		}
	}
	if last := taskOf(t, r, "t20"); last.Outcome != "budget" {
		t.Errorf("t20 failed because of %q", last.Outcome)
	}
	if retried := taskOf(t, r, "t03"); retried.Retries != 0 {
		t.Errorf("the limits have used %d retries", retried.Retries)
	}
	if s, err = get(); err != nil || len(s.Fires) != 1 || s.Fires[0].RunStatus != fleet.Failed || !s.Next[0].Equal(planned.AddDate(0, 0, 1)) {
		t.Errorf("%+v, %v", s, err)
	}
	checkMorning(t, a, id)
}

// checkMorning checks what the morning report says about the night.
func checkMorning(t *testing.T, a *app.App, run string) {
	t.Helper()
	report, err := a.Fleet.Morning(t.Context(), false, fleet.MorningQuery{Since: evening.Add(-4 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Failed) != 1 || report.Failed[0].Task != "t20" || report.Failed[0].Class != "budget" || !strings.Contains(report.Failed[0].Why, "the run has spent $1.90 of $3.00") {
		t.Errorf("failed: %+v", report.Failed)
	}
	if n := len(report.Done) + len(report.Review); n != 19 {
		t.Errorf("%d tasks are done, and %d wait for a review", len(report.Done), len(report.Review))
	}
	answers := map[string]int{}
	for _, q := range report.Questions {
		answers[q.By] += q.Count
	}
	if answers["rule Bash(go test:*)"] != 3 || len(answers) != 2 {
		t.Errorf("questions: %+v", report.Questions)
	}
	if len(report.Runs) != 1 || report.Runs[0].ID != run || report.Runs[0].StartedBy != "schedule night" {
		t.Errorf("runs: %+v", report.Runs)
	}
	if len(report.Accounts) != 1 || report.Accounts[0].Limited != 2 {
		t.Errorf("accounts: %+v", report.Accounts)
	}
	if item := report.Failed[0].Item; item == nil || item.ID != "t20" || item.Title != "Item 20" {
		t.Errorf("the item of t20 is %+v", item)
	}
}

func taskOf(t *testing.T, r fleet.Run, id string) fleet.Task {
	t.Helper()
	for _, task := range r.Tasks {
		if task.ID == id {
			return task
		}
	}
	t.Fatalf("run %s has no task %s", r.ID, id)
	return fleet.Task{}
}
