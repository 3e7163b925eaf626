package notify

import (
	"testing"
	"time"

	"gaffer/fleet"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNotesOfEvents(t *testing.T) {
	run := store.Run{ID: "r1", Name: "web", Project: "/p", Created: noon.Add(-90 * time.Second), Spent: store.Amount{MicroUSD: 1_250_000}}
	for name, c := range map[string]struct {
		fact eventWithRows
		want Notification // expected note, without id, kind and time
		kind Kind
	}{
		"a question": {
			eventWithRows{Event: store.Event{Kind: "question.asked"}, run: run, question: store.Question{
				ID: "q", Run: "r1", Task: "api", Text: "Which \x1b[31mport?\n\n8080?", Options: []byte(`["a","b"]`),
			}},
			Notification{Title: "r1/api asks", Text: "Which \uFFFD[31mport? 8080?\nrun web", Next: "gaffer answer r1/api", Task: "api", Question: "q", Options: []string{"a", "b"}},
			Waiting,
		},
		"a failed attempt": {
			eventWithRows{Event: store.Event{Kind: "task.failed", Run: "r1", Task: "api", To: "failed", Why: "exit 3"}, run: run, attempt: store.Attempt{Ending: fleet.Ending{Class: "verify_failed"}}},
			Notification{Title: "api failed", Text: "verify_failed: exit 3\nrun web", Next: "gaffer logs r1/api", Task: "api", Class: "verify_failed"},
			Failed,
		},
		"a task that was never begun": {
			eventWithRows{Event: store.Event{Kind: "task.failed", Run: "r1", Task: "api", To: "failed", Why: "no"}, run: run, task: store.Task{Outcome: "budget"}},
			Notification{Title: "api failed", Text: "budget: no\nrun web", Next: "gaffer logs r1/api", Task: "api", Class: "budget"},
			Failed,
		},
		"the end of a run": {
			eventWithRows{
				Event: store.Event{Kind: "run.failed", Run: "r1", To: "failed"}, run: run,
				counts: map[store.Status]int{store.Complete: 2, store.Failed: 1},
			},
			Notification{Title: "run web has failed", Text: "2 complete, 1 failed, 1m 30s, $1.25", Next: "gaffer status r1", Status: "failed"},
			Finished,
		},
	} {
		c.fact.At, c.fact.Seq = noon, 7
		got, ok := noteOf(c.fact)
		if !ok || len(got.ID) != 32 {
			t.Errorf("%s: %v, id %q", name, ok, got.ID)
		}
		c.want.ID, c.want.Kind, c.want.Time, c.want.Run, c.want.RunName, c.want.Project = got.ID, c.kind, noon, "r1", "web", "/p"
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestEventsWithoutANotification(t *testing.T) {
	for _, e := range []store.Event{
		{Kind: "task.queued", To: "queued"},
		{Kind: "task.complete", To: "complete"},
		{Kind: "run.running", To: "running"},
		{Kind: "run.stopping"},
		{Kind: "question.answered"},
		{Kind: "attempt.started"},
		{Kind: "worker.changed", From: "waiting", To: "waiting"},
		{Kind: "worker.changed", To: "idle"},
	} {
		if mayNotify(e) {
			t.Errorf("%s from %q to %q is told", e.Kind, e.From, e.To)
		}
	}
	if _, ok := noteOf(eventWithRows{Event: store.Event{Kind: "question.asked"}, question: store.Question{Closed: true}}); ok {
		t.Error("a question is told that nobody waits for")
	}
	changed := store.Event{Kind: "worker.changed", From: "idle", To: "waiting"}
	if _, ok := noteOf(eventWithRows{Event: changed, worker: store.Worker{ID: "ours", Slots: 2}}); ok {
		t.Error("our own worker waits, whose question is told")
	}
	if n, ok := noteOf(eventWithRows{Event: changed, worker: store.Worker{ID: "w", Name: "ada"}}); !ok || n.Title != "ada waits for the user" {
		t.Errorf("an agent that says that it waits: %v, %v", n, ok)
	}
}

func TestAScheduleThatCannotStartARunIsNotified(t *testing.T) {
	event := store.Event{Kind: "schedule.failed", At: noon, Seq: 7}
	fact := eventWithRows{Event: event, fire: failedFire{"nightly", "/p", fleet.Fire{Why: "plan.yaml\ndoes not exist"}}}
	got, ok := noteOf(fact)
	want := Notification{
		ID: got.ID, Kind: Failed, Time: noon, Project: "/p", Title: "schedule nightly could not start a run", Text: "plan.yaml does not exist", Next: "gaffer schedule show nightly",
	}
	if diff := cmp.Diff(want, got); !ok || !mayNotify(event) || diff != "" {
		t.Errorf("%v (-want +got)\n%s", ok, diff)
	}
	if event.Kind = "schedule.skipped"; mayNotify(event) {
		t.Error("a skipped time is notified")
	}
}

func TestTheSameIsCalledTheSameAndAnotherIsNot(t *testing.T) {
	failing := eventWithRows{Event: store.Event{Kind: "task.failed", Run: "r", Task: "t", Seq: 4}}
	a, _ := noteOf(failing)
	failing.At = noon // the id must not depend on the event's time
	b, _ := noteOf(failing)
	failing.Seq = 9 // another failure, after a user has retried the task
	c, _ := noteOf(failing)
	if a.ID != b.ID || a.ID == c.ID {
		t.Errorf("%s, %s, %s", a.ID, b.ID, c.ID)
	}
}

func TestBudgetNote(t *testing.T) {
	for name, c := range map[string]struct {
		budget, spent store.Amount
		refused       bool
		want          string
	}{
		"no budget":             {store.Amount{}, store.Amount{MicroUSD: 9e6, Tokens: 9e6}, false, ""},
		"little":                {store.Amount{MicroUSD: 10e6}, store.Amount{MicroUSD: 7_900_000}, false, ""},
		"most":                  {store.Amount{MicroUSD: 10e6}, store.Amount{MicroUSD: 8e6}, false, "run r has spent 80 % of its budget: $8.00 of $10.00"},
		"most of the tokens":    {store.Amount{MicroUSD: 10e6, Tokens: 100}, store.Amount{MicroUSD: 1, Tokens: 85}, false, "run r has spent 85 % of its budget: $0.000001 of $10.00, 85 of 100 tokens"},
		"all":                   {store.Amount{Tokens: 100}, store.Amount{Tokens: 130}, false, "run r has used its budget: 130 of 100 tokens"},
		"too little for a task": {store.Amount{MicroUSD: 10e6}, store.Amount{MicroUSD: 5e6}, true, "run r has used its budget: $5.00 of $10.00\nwhat is left does not allow another task"},
	} {
		n, ok := budgetNote(store.Run{ID: "r", Budget: c.budget}, c.spent, c.refused, noon)
		got := ""
		if ok {
			got = n.Title + ": " + n.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOnlyTheBudgetOfTheRunIsReportedAsTheRuns(t *testing.T) {
	dollar := store.Amount{MicroUSD: 1e6}
	cent := store.Amount{MicroUSD: 1e4}
	var overspent store.Attempt
	overspent.Class = failure.OverBudget
	for name, c := range map[string]struct {
		run, own, spent store.Amount
		attempt         store.Attempt
		want            bool
	}{
		"nothing is left of the run's":             {run: dollar, want: true},
		"the attempt has spent the run's":          {run: dollar, attempt: overspent, want: true},
		"the run has none":                         {attempt: overspent},
		"the attempt has spent the task's":         {run: dollar, own: cent, attempt: overspent},
		"the task has spent its own before":        {run: dollar, own: cent, spent: cent},
		"too little is left for the task's budget": {run: cent, own: dollar, want: true},
	} {
		f := eventWithRows{
			Event: store.Event{Kind: "task.failed"}, run: store.Run{Budget: c.run}, attempt: c.attempt,
			task: store.Task{Reserve: c.own, Spent: c.spent, Outcome: string(failure.OverBudget)},
		}
		if got := refusedForRunBudget(f); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOfflineNote(t *testing.T) {
	h := offlineRule{began: noon.Add(-time.Hour), since: noon.Add(-time.Hour), after: 30 * time.Second}
	seen := func(ago time.Duration) store.Worker {
		return store.Worker{ID: "w", Name: "mill", Seen: noon.Add(-ago), Created: noon.Add(-2 * time.Hour)}
	}
	unnamed := seen(time.Minute)
	unnamed.Created = time.Time{}
	late := h
	late.since = noon.Add(-10 * time.Second)
	for name, c := range map[string]struct {
		crew workerLoad
		h    offlineRule
		want string
	}{
		"heard of":                       {workerLoad{Worker: seen(29 * time.Second)}, h, ""},
		"not heard of":                   {workerLoad{Worker: seen(30 * time.Second)}, h, "not heard of for 30s"},
		"with work":                      {workerLoad{Worker: seen(95 * time.Second), holds: 2}, h, "not heard of for 1m 35s; it holds 2 tasks"},
		"before we listened":             {workerLoad{Worker: seen(2 * time.Hour)}, h, ""},
		"while we could not listen":      {workerLoad{Worker: seen(time.Minute)}, late, ""},
		"no worker of the protocol":      {workerLoad{Worker: unnamed, holds: 1}, h, ""},
		"a run's own that has ended":     {workerLoad{Worker: seen(time.Minute), local: true}, h, ""},
		"a run's own that has left work": {workerLoad{Worker: seen(time.Minute), local: true, holds: 1}, h, "not heard of for 1m 00s; it holds 1 task"},
	} {
		if n, _ := offlineNote(c.crew, c.h, noon); n.Text != c.want {
			t.Errorf("%s: %q, want %q", name, n.Text, c.want)
		}
	}
}

func TestALimitOfTheUserCausesANotification(t *testing.T) {
	for _, c := range []struct {
		event       store.Event
		title, text string
	}{
		{store.Event{Kind: "budget.warning", Why: "81 % of the day's budget is spent: $8.10 of $10.00"}, "81 % of the day's budget is spent", "$8.10 of $10.00"},
		{store.Event{Kind: "budget.warning", Run: "r1", Task: "api", Why: "90 % of the task's budget is spent: $0.0018 of $0.0020"}, "api: 90 % of the task's budget is spent", "$0.0018 of $0.0020"},
		{store.Event{Kind: "budget.spent", Why: "the day's budget of $20.00 is spent"}, "the day's budget of $20.00 is spent", "tasks wait until there is more"},
	} {
		n, ok := noteOf(eventWithRows{Event: c.event})
		if !ok || !mayNotify(c.event) || n.Kind != Budget || n.Title != c.title || n.Text != c.text || n.Next != "gaffer cost" {
			t.Errorf("%s: %+v", c.event.Why, n)
		}
	}
	if mayNotify(store.Event{Kind: "budget.warning", Run: "r1", Task: "api", Why: "81 % of the run's budget is spent: $1 of $2"}) {
		t.Error("a run has two notifications")
	}
}
