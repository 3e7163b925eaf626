package phrase

import (
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/failure"
)

// Try is such as "2/3": the attempt, and how many there may be. It is "" where
// there is one only.
func Try(t fleet.Task) string {
	n := t.Tries
	if t.Attempt != nil {
		n = t.Attempt.Number
	}
	if n == 0 || n == 1 && t.Retries == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", n, max(t.Retries+1, n))
}

// Waiting reports whether the task waits for a person.
func Waiting(t fleet.Task) bool { return t.Question != nil && !t.Status.Final() }

// State is what a task's agent does, since when, and who says so, such as
// "waiting, Bash: make install, 4m, source control".
func State(t fleet.Task, now time.Time) string {
	detail := Detail(t, now)
	if word(t) == string(t.Status) {
		return join(", ", string(t.Status), detail)
	}
	return detail
}

// Detail is like [State] without a word that only repeats the status.
func Detail(t fleet.Task, now time.Time) string {
	since, source, age := time.Time{}, "", ""
	if a := t.Attempt; a != nil && t.Status == fleet.Running {
		since = a.Said
		if source = Line(a.Source); source != "" {
			source = "source " + source
		}
	}
	if Waiting(t) {
		since = t.Question.Asked
	}
	if !since.IsZero() {
		age = Age(now.Sub(since))
	}
	first := word(t)
	if first == string(t.Status) {
		first = ""
	}
	return join(", ", first, Doing(t, now), age, source)
}

// word is the status, or what the agent is said to do if that says more.
func word(t fleet.Task) string {
	switch {
	case Waiting(t):
		return "waiting"
	case t.Status == fleet.Running && t.Attempt != nil && t.Attempt.State != "":
		return Line(t.Attempt.State)
	}
	return string(t.Status)
}

// Doing is what a task is at in a few words, without its status: what the agent
// does, what it asks, what the task waits for, what became of it.
func Doing(t fleet.Task, now time.Time) string {
	switch {
	case Waiting(t):
		return Line(t.Question.Text)
	case t.Status == fleet.Running && t.Attempt != nil:
		return Line(t.Attempt.Doing)
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return again(t, now)
	case t.Status == fleet.Queued:
		return ""
	case t.Status == fleet.Complete:
		return Checks(t.Attempt)
	}
	return Why(t)
}

// again is such as "again in 12s: api_error".
func again(t fleet.Task, now time.Time) string {
	when := "again now"
	if wait := t.RetryAt.Sub(now); wait > time.Hour {
		when = "again at " + Clock(t.RetryAt, now)
	} else if wait > 0 {
		when = "again in " + Age(wait.Round(time.Second))
	}
	return join(": ", when, Line(t.Outcome))
}

// Why is how a task failed or why it was cancelled: the class and the reason.
func Why(t fleet.Task) string {
	class, reason := t.Outcome, ""
	if a := t.Attempt; a != nil {
		reason = a.Summary
		if class == "" {
			class = a.Class
		}
	}
	class, reason = Line(class), Line(reason)
	switch {
	case t.Status == fleet.Cancelled && class == "dependency":
		return "what it waits for did not complete"
	case t.Status == fleet.Cancelled:
		return strings.TrimPrefix(class, string(fleet.Cancelled)) // the agent's last words do not say why
	case reason != "" && (class == string(t.Status) || class == string(failure.Crashed)):
		class = "" // it says no more than the status
	case strings.HasPrefix(reason, class+": ") || reason == class:
		class = ""
	}
	return join(": ", class, reason)
}

// Checks is what was verified, such as "2 checks passed", or "".
func Checks(a *fleet.Attempt) string {
	if a == nil || len(a.Checks) == 0 {
		return ""
	}
	passed := 0
	for _, c := range a.Checks {
		if c.OK {
			passed++
		}
	}
	if passed == len(a.Checks) {
		return Count(passed, "check") + " passed"
	}
	return fmt.Sprintf("%d of %s failed", len(a.Checks)-passed, Count(len(a.Checks), "check"))
}

// Advice is what a person must do before another attempt can go better, or "".
func Advice(t fleet.Task) string {
	agent := Line(t.Agent)
	if agent == "" {
		agent = "the agent"
	}
	switch failure.Class(t.Outcome) {
	case failure.Denied:
		return "allow in " + agent + "'s settings what was refused, or set 'questions: ask' or 'allow' in the plan"
	case failure.Auth:
		return "log in to " + agent + ", or give it its key"
	case failure.OverBudget:
		return "raise the budget in the plan or with --budget, and run the plan again"
	case failure.NotStarted:
		return "install the program of " + agent + ", or correct its argv in gaffer.yaml; 'gaffer doctor' says what is installed"
	case failure.BadPlan:
		return "mend the task in the plan, and run the plan again with --pending-only"
	case failure.VerifyFailed:
		return "look at what the check says, or mend the check"
	case failure.ContextOverflow:
		return "split the task into smaller ones"
	case failure.TimedOut:
		return "give it more time ('timeout' in the plan, --timeout), or split it"
	}
	return ""
}
