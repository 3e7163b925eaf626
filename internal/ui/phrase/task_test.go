package phrase

import (
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
)

var now = time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestStateHasItsSourceAndAge(t *testing.T) {
	asks := &fleet.Question{Text: "permission\nBash", Asked: ago(4*time.Minute + 10*time.Second)}
	for name, c := range map[string]struct {
		task fleet.Task
		want string
	}{
		"waiting": {
			fleet.Task{Status: fleet.Running, Question: asks, Attempt: &fleet.Attempt{Activity: fleet.Activity{State: "waiting", Source: "control"}}},
			"waiting, permission Bash, 4m, source control",
		},
		"running": {
			fleet.Task{Status: fleet.Running, Attempt: &fleet.Attempt{Activity: fleet.Activity{State: "running", Doing: "Bash: go test", Source: "output", Said: ago(3 * time.Second)}}},
			"running, Bash: go test, 3s, source output",
		},
		"nothing said yet": {fleet.Task{Status: fleet.Running, Attempt: &fleet.Attempt{}}, "running"},
		"queued":           {fleet.Task{Status: fleet.Queued}, "queued"},
		"waits for its retry": {
			fleet.Task{Status: fleet.Queued, Outcome: "api_error", RetryAt: now.Add(12 * time.Second)},
			"queued, again in 12s: api_error",
		},
		"failed": {
			fleet.Task{Status: fleet.Failed, Outcome: "denied", Attempt: &fleet.Attempt{Summary: "Bash was refused"}},
			"failed, denied: Bash was refused",
		},
	} {
		if got := State(c.task, now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTextOfAgentsCannotControlTheTerminal(t *testing.T) {
	evil := "a\x1b]0;title\x07\r\n\u009b31m\u202eb"
	task := fleet.Task{
		Status: fleet.Running, Outcome: evil,
		Question: &fleet.Question{Text: evil},
		Attempt:  &fleet.Attempt{Activity: fleet.Activity{State: evil, Doing: evil, Source: evil}, Summary: evil},
	}
	texts := []string{State(task, now), Why(task), Line(evil), Paused(fleet.Lane{Name: evil, Reason: evil}, now)}
	task.Question = nil
	for _, text := range append(texts, State(task, now)) {
		if strings.ContainsAny(text, "\x1b\x07\r\n\u009b\u202e") {
			t.Errorf("%q has a control character", text)
		}
	}
}

func TestTryHasTheAttemptAndTheMaximum(t *testing.T) {
	for want, task := range map[string]fleet.Task{
		"":    {Tries: 1},
		"1/3": {Retries: 2, Attempt: &fleet.Attempt{Number: 1}},
		"2/3": {Retries: 2, Tries: 2},
		"4/4": {Retries: 2, Attempt: &fleet.Attempt{Number: 4}},
	} {
		if got := AttemptNumber(task); got != want {
			t.Errorf("%+v: %q, want %q", task, got, want)
		}
	}
}

func TestWhyDoesNotRepeatItself(t *testing.T) {
	for want, task := range map[string]fleet.Task{
		"denied: no":  {Outcome: "denied", Attempt: &fleet.Attempt{Summary: "denied: no"}},
		"lost":        {Outcome: "lost", Attempt: &fleet.Attempt{Summary: "lost"}},
		"auth: log":   {Attempt: &fleet.Attempt{Class: "auth", Summary: "log"}},
		"cancelled":   {Outcome: "cancelled"},
		"exit code 3": {Outcome: "failed", Attempt: &fleet.Attempt{Summary: "exit code 3"}},

		"what it waits for did not complete": {Status: fleet.Cancelled, Outcome: "dependency"},
		"stalled: 5m":                        {Outcome: "stalled", Attempt: &fleet.Attempt{Class: "stalled", Summary: "5m"}},
	} {
		if got := Why(task); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAFailureIsShownWithTheLastLinesOfOutput(t *testing.T) {
	output := "1\n2\n3\n\n4\n5\n--- FAIL: TestX\n\tx_test.go:3: no\n"
	for name, c := range map[string]struct {
		task  fleet.Task
		head  string
		lines string
	}{
		"a program": {
			fleet.Task{Status: fleet.Failed, Outcome: "failed", Attempt: &fleet.Attempt{Summary: "exit code 3: " + output}},
			"exit code 3", "3|4|5|--- FAIL: TestX|    x_test.go:3: no",
		},
		"a program with one line": {
			fleet.Task{Status: fleet.Failed, Outcome: "failed", Attempt: &fleet.Attempt{Summary: "exit code 3: oh dear"}},
			"exit code 3: oh dear", "",
		},
		"a check": {
			fleet.Task{Status: fleet.Failed, Outcome: "verify_failed", Attempt: &fleet.Attempt{
				Summary: "go test: exit 1\n" + output, Checks: []fleet.Check{{Command: "true", OK: true}, {Command: "go test", Exit: 1, Output: output}},
			}},
			"verify_failed: go test (exit 1)", "3|4|5|--- FAIL: TestX|    x_test.go:3: no",
		},
		"an agent's last words": {
			fleet.Task{Status: fleet.Failed, Outcome: "api_error", Attempt: &fleet.Attempt{Summary: "overloaded; its last words:\none\ntwo"}},
			"api_error: overloaded", "one|two",
		},
	} {
		head, lines := Failure(c.task)
		if head != c.head || strings.Join(lines, "|") != c.lines {
			t.Errorf("%s: %q, %q; want %q, %q", name, head, strings.Join(lines, "|"), c.head, c.lines)
		}
	}
}

func TestTheLastWordsOfACompleteTaskAreItsLastLines(t *testing.T) {
	for summary, want := range map[string]string{
		"":                      "",
		"All done.":             "All done.",
		"I changed a.\n\nDone.": "I changed a. Done.",
		strings.Repeat("much output ", 20) + "\nthe end": "the end",
	} {
		task := fleet.Task{Status: fleet.Complete, Attempt: &fleet.Attempt{Summary: summary}}
		if got := Summary(task); got != want {
			t.Errorf("%q becomes %q, want %q", summary, got, want)
		}
	}
}

func TestATaskWithAnOpenQuestionReadsWaiting(t *testing.T) {
	task := fleet.Task{Status: fleet.Running, Question: &fleet.Question{Text: "Which?"}, Attempt: &fleet.Attempt{}}
	if got := TaskLabel(task); !strings.Contains(got, "waiting") {
		t.Errorf("%q", got)
	}
}

func TestAFailureThatTheUserMustFixHasAdvice(t *testing.T) {
	if got := Advice(fleet.Task{Agent: "command", Outcome: "not_started"}); !strings.Contains(got, "the task's command") {
		t.Errorf("a command that is missing: %q", got)
	}
	for class, word := range map[string]string{"denied": "allow", "auth": "log in to claude", "budget": "--budget", "not_started": "install the program of claude", "bad_plan": "mend"} {
		if got := Advice(fleet.Task{Outcome: class, Agent: "claude"}); !strings.Contains(got, word) {
			t.Errorf("%s: %q, want something with %q", class, got, word)
		}
	}
}
