package runview

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/exit"
)

func TestTheSummaryOfARunThatFailed(t *testing.T) {
	good := attempt(1, fleet.Complete)
	good.Checks = []fleet.Check{{OK: true}, {OK: true}}
	good.Summary = "All of it is done."
	bad := attempt(3, fleet.Failed)
	bad.Summary = "go test failed"
	bad.Checks = []fleet.Check{{OK: true}, {Command: "go test ./...", Exit: 1, Output: "--- FAIL: TestX\nFAIL\tx\t0.1s\n"}}
	r := fleet.Run{
		ID: "20260201-142726-0c0ffee0", Name: "release", Status: fleet.Failed, Created: ago(154 * time.Second), Ended: now,
		Counts: fleet.Counts{Total: 5, Complete: 2, Failed: 2, Cancelled: 1}, Spent: fleet.Cost{USD: 0.42, Tokens: 123_456},
		Budget: fleet.Cost{USD: 20}, Documents: "/p/.founder-mode/status/sessions/x",
		Tasks: []fleet.Task{
			{ID: "a", Status: fleet.Complete, Attempt: good, Worktree: "/p/trees/a"},
			{ID: "b", Status: fleet.Complete, Attempt: attempt(1, fleet.Complete), Worktree: "/elsewhere/b"},
			{ID: "c", Status: fleet.Failed, Outcome: "verify_failed", Attempt: bad},
			{ID: "d", Status: fleet.Failed, Outcome: "auth", Agent: "claude"},
			{ID: "e", Status: fleet.Cancelled, Outcome: "dependency"},
		},
	}
	want := strings.Split(`✗ release failed after 2m 34s, run 20260201-142726-0c0ffee0
  tasks     2 complete, 2 failed, 1 cancelled
  verified  1 task by 2 checks; 1 without a check
  cost      123k tokens, $0.42 of $20.00
  logs      .founder-mode/status/sessions/x
  worktree  trees/a
  worktree  /elsewhere/b
✗ c failed: verify_failed: go test ./... (exit 1)
    --- FAIL: TestX
    FAIL    x    0.1s
    look at what the check says, or mend the check
    gaffer logs c, then gaffer retry c --resume
✗ d failed: auth
    log in to claude, or give it its key
    gaffer logs d, then gaffer retry d --resume
✓ a: All of it is done.
next: retry what failed, and what was cancelled for it comes back with it`, "\n")
	if diff := cmp.Diff(want, summaryLines(r, now, summaryPlace{dir: "/p", exists: always})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func always(string) bool { return true }

func TestTheSummaryOfATeamDoesNotSuggestRetry(t *testing.T) {
	bad := attempt(3, fleet.Failed)
	bad.Summary = "exit 3"
	r := fleet.Run{
		ID: "r", Team: "v4_20260201_142700", Name: "Team v4_20260201_142700", Status: fleet.Running, Created: ago(time.Minute),
		Counts: fleet.Counts{Total: 3, Complete: 1, Failed: 2},
		Tasks: []fleet.Task{
			{ID: "pm-1", Status: fleet.Complete, Attempt: attempt(1, fleet.Complete), Worktree: "/p/trees/pm-1"},
			{ID: "B-developer-1", Status: fleet.Failed, Outcome: "crashed"}, // the session has handled this failure
			{ID: "A-developer-1", Status: fleet.Failed, Outcome: "crashed", Attempt: bad, Worktree: "/p/trees/A"},
		},
	}
	want := strings.Split(`● Team v4_20260201_142700 running after 1m 00s, run r
  tasks     1 complete, 2 failed
  worktree  trees/A
✗ A-developer-1 failed: crashed: exit 3
    gaffer logs A-developer-1
next: 'gaffer team resume' goes on`, "\n")
	there := func(path string) bool { return path == "/p/trees/A" }
	if diff := cmp.Diff(want, summaryLines(r, now, summaryPlace{dir: "/p", exists: there})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r.Status = fleet.Complete
	if lines := summaryLines(r, now, summaryPlace{dir: "/p", exists: there}); strings.Contains(strings.Join(lines, "\n"), "A-developer-1") {
		t.Errorf("a failure that the session has handled is listed: %q", lines)
	}
	r.Status = fleet.Failed
	failed, ok := errors.AsType[*exit.Error](verdict(viewEnd{run: r}))
	if !ok || failed.Code != exit.CodeFailed || !strings.Contains(failed.Hint(), "gaffer team resume") {
		t.Errorf("%+v", failed)
	}
}

func TestTheSummaryOfARemoteRunNamesItsWorkers(t *testing.T) {
	on := func(worker string) *fleet.Attempt {
		a := attempt(1, fleet.Complete)
		a.Worker, a.Log = worker, "/elsewhere/log"
		return a
	}
	r := fleet.Run{
		ID: "r", Name: "release", Status: fleet.Complete, Created: ago(time.Minute), Ended: now,
		Counts: fleet.Counts{Total: 4, Complete: 3, Queued: 1}, Documents: "/elsewhere",
		Tasks: []fleet.Task{
			{ID: "a", Status: fleet.Complete, Attempt: on("build-2"), Worktree: "/elsewhere/a"},
			{ID: "b", Status: fleet.Complete, Attempt: on("build-1")},
			{ID: "c", Status: fleet.Complete, Attempt: on("build-2")},
			{ID: "d", Status: fleet.Queued},
		},
	}
	want := strings.Split(`✓ release complete after 1m 00s, run r
  tasks     3 complete, 1 queued
  verified  nothing: no task has a verify command
  workers   build-1, build-2; 'gaffer logs TASK' shows what an agent wrote`, "\n")
	if diff := cmp.Diff(want, summaryLines(r, now, summaryPlace{dir: "/p", exists: always, remote: true})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOnlyTheFirstOfManyFailuresAreListed(t *testing.T) {
	r := fleet.Run{ID: "r", Name: "many", Status: fleet.Failed}
	for i := range 1000 {
		r.Tasks = append(r.Tasks, fleet.Task{ID: fmt.Sprint(i), Status: fleet.Failed})
	}
	lines := summaryLines(r, now, summaryPlace{dir: "/", exists: always})
	if len(lines) > 60 || lines[len(lines)-1] != "✗ … 980 more failed, 'gaffer status r' has them all" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestTheExitCodeSaysWhetherAllIsComplete(t *testing.T) {
	for want, end := range map[exit.Code]viewEnd{
		exit.CodeDone:   {run: fleet.Run{Status: fleet.Complete}, interrupted: true},
		exit.CodeFailed: {run: fleet.Run{Status: fleet.Cancelled}},
	} {
		if got := exit.Of(verdict(end)); got != want {
			t.Errorf("%+v: %d, want %d", end, got, want)
		}
	}
	for _, end := range []viewEnd{
		{run: fleet.Run{Status: fleet.Cancelled}, interrupted: true},
		{run: fleet.Run{Status: fleet.Running}, left: "left"},
	} {
		if got := exit.Of(verdict(end)); got != exit.CodeInterrupted {
			t.Errorf("%+v: %d, want 130", end, got)
		}
	}
}
