package runview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
)

var now = time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func attempt(n int, status fleet.Status) *fleet.Attempt {
	a := &fleet.Attempt{ID: "a" + string(rune('0'+n)), Number: n, Status: status, Started: ago(12 * time.Second)}
	if status.Final() {
		a.Ended = now
	}
	return a
}

func TestEveryChangeOfATaskIsALine(t *testing.T) {
	queued := fleet.Task{ID: "api", Status: fleet.Queued, Retries: 2, Agent: "claude", Model: "opus"}
	running := queued
	running.Status, running.Attempt = fleet.Running, attempt(1, fleet.Running)
	waiting := running
	waiting.Question = &fleet.Question{ID: "q", Name: "0c0ffee0/api", Task: "api", Text: "May\nI?", Options: []string{"Yes", "No"}}
	retried := queued
	retried.Attempt, retried.Outcome, retried.RetryAt = attempt(1, fleet.Failed), "verify_failed", now.Add(30*time.Second)
	retried.Attempt.Summary = "go test: 3 failed"
	second := running
	second.Attempt, second.Outcome = attempt(2, fleet.Running), "stalled"
	done := second
	done.Status, done.Attempt = fleet.Complete, attempt(2, fleet.Complete)
	done.Attempt.Checks, done.Attempt.Spent = []fleet.Check{{OK: true}}, fleet.Cost{USD: 0.1, Tokens: 1200}
	failed := second
	failed.Status, failed.Outcome, failed.Attempt = fleet.Failed, "denied", attempt(2, fleet.Failed)
	failed.Attempt.Summary = "Bash was refused"
	cancelled := queued
	cancelled.Status, cancelled.Outcome = fleet.Cancelled, "dependency"

	for name, c := range map[string]struct {
		before, after fleet.Task
		want          []string
	}{
		"nothing":          {running, running, nil},
		"starts":           {queued, running, []string{"api: started, attempt 1 of 3, claude opus"}},
		"asks":             {running, waiting, []string{"api: asks: May I? [1 Yes] [2 No]; answer with 'gaffer answer 0c0ffee0/api'"}},
		"asks on":          {waiting, waiting, nil},
		"is answered":      {waiting, running, []string{"api: answered, goes on"}},
		"will retry":       {running, retried, []string{"api: attempt 1/3 failed: verify_failed: go test: 3 failed, again in 30s"}},
		"waits on":         {retried, retried, nil},
		"retries":          {retried, second, []string{"api: started, attempt 2 of 3, claude opus"}},
		"retries unseen":   {running, second, []string{"api: started, attempt 2 of 3, claude opus, after attempt 1 failed: stalled"}},
		"completes":        {second, done, []string{"api: complete, 12s, 1 check passed, 1.2k tokens, $0.10"}},
		"completes unseen": {queued, done, []string{"api: started, attempt 2 of 3, claude opus", "api: complete, 12s, 1 check passed, 1.2k tokens, $0.10"}},
		"fails":            {second, failed, []string{"api: failed, 12s: denied"}},
		"is cancelled":     {queued, cancelled, []string{"api: cancelled: what it waits for did not complete"}},
		"is queued again":  {failed, queued, nil},
		"asks and ends":    {waiting, failed, []string{"api: started, attempt 2 of 3, claude opus, after attempt 1 failed: denied", "api: failed, 12s: denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := fleet.Run{ID: "r", Tasks: []fleet.Task{c.before}}
			after := fleet.Run{ID: "r", Tasks: []fleet.Task{c.after}}
			if diff := cmp.Diff(c.want, changeLines(before, after, now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAPauseAndAStopAreReportedOnce(t *testing.T) {
	lane := fleet.Lane{Name: "claude", Until: now.Add(time.Hour), Reason: "usage limit"}
	before := fleet.Run{ID: "r"}
	after := fleet.Run{ID: "r", Stopping: "api failed", Lanes: []fleet.Lane{lane}}
	want := []string{"run r: claude paused until 15:30, usage limit", "run r: no task starts any more: api failed"}
	if diff := cmp.Diff(want, changeLines(before, after, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if again := changeLines(after, after, now); again != nil {
		t.Errorf("again: %q", again)
	}
}

func TestTheOpeningSaysHowManyTasksRunAtOnce(t *testing.T) {
	tasks := []fleet.Task{{ID: "a"}, {ID: "b"}}
	for _, c := range []struct {
		run  fleet.Run
		far  bool
		want string
	}{
		{fleet.Run{Tasks: tasks}, false, "at most 8 at once"},
		{fleet.Run{Tasks: tasks}, true, "as many at once as the workers take"},
		{fleet.Run{Tasks: tasks, Parallel: 3}, true, "at most 3 at once"},
		{fleet.Run{Tasks: tasks, Parallel: 20}, false, "at most 20 at once"},
		{fleet.Run{Tasks: tasks[:1]}, false, ""},
		{fleet.Run{Tasks: tasks, Team: "t"}, false, ""},
	} {
		if got := parallelText(c.run, c.far); got != c.want {
			t.Errorf("parallel %d, far %v: %q, want %q", c.run.Parallel, c.far, got, c.want)
		}
	}
}

func TestOpenQuestionsAreReportedAtTheBeginning(t *testing.T) {
	r := fleet.Run{ID: "r", Name: "x", Counts: fleet.Counts{Total: 2, Running: 2}, Tasks: []fleet.Task{
		{ID: "a", Status: fleet.Running, Attempt: attempt(1, fleet.Running), Question: &fleet.Question{ID: "q", Name: "0c0ffee0/a", Task: "a", Text: "Which?", Options: []string{"this"}}},
		{ID: "b", Status: fleet.Running, Attempt: attempt(1, fleet.Running)},
	}}
	want := []string{"run r: x, 2 tasks, at most 8 at once, 2 running", "a: asks: Which? [1 this]; answer with 'gaffer answer 0c0ffee0/a'"}
	if diff := cmp.Diff(want, openingLines(r, false, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheFirstLineOfARunSaysWhichOfItsAgentsArePausedAndUntilWhen(t *testing.T) {
	r := fleet.Run{
		ID: "r", Name: "x", Counts: fleet.Counts{Total: 3, Queued: 2, Complete: 1},
		Tasks: []fleet.Task{{ID: "a", Status: fleet.Queued}, {ID: "b", Agent: "codex", Status: fleet.Queued}, {ID: "c", Agent: "opencode", Status: fleet.Complete}},
		Lanes: []fleet.Lane{
			{Name: "claude", Until: now.Add(time.Hour), Reason: "rate_limited"},
			{Name: "codex", Until: now.Add(48 * time.Hour)},
			{Name: "opencode", Until: now.Add(time.Hour)},
			{Name: "gemini", Until: now.Add(time.Hour)},
		},
	}
	want := []string{"run r: x, 3 tasks, at most 8 at once, 1 complete, 2 queued; claude paused until 15:30, usage limit; codex paused until Feb 3 14:30"}
	if diff := cmp.Diff(want, openingLines(r, false, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := openingLines(r, false, now.Add(72*time.Hour)); len(got) != 1 || got[0] != "run r: x, 3 tasks, at most 8 at once, 1 complete, 2 queued" {
		t.Errorf("when all of them are over: %q", got)
	}
}
