package phrase

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

// AttemptNumber returns the number of a task's attempt and the maximum number of attempts, such as
// "2/3". It returns "" if no attempt has started, or if the task may have only one attempt.
func AttemptNumber(t fleet.Task) string {
	n := t.Tries
	if t.Attempt != nil {
		n = t.Attempt.Number
	}
	if n == 0 || n == 1 && t.Retries == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", n, max(t.Retries+1, n))
}

// Waiting reports whether the task has a question that the user has to answer.
func Waiting(t fleet.Task) bool { return t.Question != nil && !t.Status.Final() }

// TaskLabel returns the [Label] of a task's status, or [WaitingLabel] if the task waits for the
// user.
func TaskLabel(t fleet.Task) string {
	if Waiting(t) {
		return WaitingLabel
	}
	return Label(t.Status)
}

// FailedFirst returns the failed tasks, followed by all other tasks. It keeps the order of the
// failed tasks and the order of the other tasks.
func FailedFirst(tasks []fleet.Task) []fleet.Task {
	tasks = slices.Clone(tasks)
	rank := func(t fleet.Task) int {
		if t.Status == fleet.Failed {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(tasks, func(a, b fleet.Task) int { return rank(a) - rank(b) })
	return tasks
}

// State describes what the agent of a task does, for how long, and where this information comes
// from. An example is "waiting, Bash: make install, 4m, source output": the information comes from
// the agent's output. If it is not known what the agent does, the text starts with the status of
// the task.
func State(t fleet.Task, now time.Time) string {
	detail := Detail(t, now)
	if first := word(t); first == string(t.Status) || Waiting(t) {
		return Join(", ", first, detail)
	}
	return detail
}

// Detail is like [State], but leaves out the status of the task, which callers show separately with
// [TaskLabel]. Both texts also contain the agent and account of the attempt (see [Using]) and how
// long the agent has waited for the user (see [Waited]).
func Detail(t fleet.Task, now time.Time) string {
	since, source, age := time.Time{}, "", ""
	if a := t.Attempt; a != nil && t.Status == fleet.Running {
		since = a.Said
		if source = Line(a.Source); source != "" {
			source = "source " + source
		}
	}
	switch {
	case Waiting(t):
		since = t.Question.Asked
	case asksOutside(t):
		since = t.Attempt.WaitingSince
	}
	if !since.IsZero() {
		age = Age(now.Sub(since))
	}
	first := word(t)
	if first == string(t.Status) || Waiting(t) {
		first = ""
	}
	return Join(", ", first, Doing(t, now), age, source, Using(t, t.Attempt), Waited(t.Attempt))
}

// asksOutside reports whether the agent of a running task waits for the user. Unlike [Waiting], it
// does not look at t.Question. This field is nil if the agent has asked with one of gaffer's MCP
// tools, because gaffer does not store such a question under the task.
func asksOutside(t fleet.Task) bool {
	return t.Status == fleet.Running && t.Attempt != nil && !t.Attempt.WaitingSince.IsZero()
}

// word returns one word for what the agent of a task does, such as "waiting". If this is unknown,
// it returns the status of the task.
func word(t fleet.Task) string {
	switch {
	case Waiting(t), asksOutside(t):
		return "waiting"
	case t.Status == fleet.Running && t.Attempt != nil && t.Attempt.State != "":
		return Line(t.Attempt.State)
	}
	return string(t.Status)
}

// Doing says one of these things in a few words: what the agent of a running task does or asks,
// what a queued task waits for, or how a task ended. It returns "" if there is nothing to say.
func Doing(t fleet.Task, now time.Time) string {
	switch {
	case Waiting(t):
		return Line(t.Question.Text)
	case t.Status == fleet.Running && t.Attempt != nil:
		return Line(t.Attempt.Doing)
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return nextAttempt(t, now)
	case t.Status == fleet.Queued:
		return Line(t.NoWorker)
	case t.Status == fleet.Complete:
		return Join(", ", Checks(t.Attempt), Denied(t.Attempt))
	}
	return Why(t)
}

// nextAttempt says when the next attempt starts and why, such as "again in 12s: api_error".
func nextAttempt(t fleet.Task, now time.Time) string {
	when := "again now"
	if wait := t.RetryAt.Sub(now); wait > time.Hour {
		when = "again at " + Clock(t.RetryAt, now)
	} else if wait > 0 {
		when = "again in " + Age(wait.Round(time.Second))
	}
	return Join(": ", when, Line(t.Outcome))
}

// Why returns one line about why a task failed or was cancelled. For a failed task, the line
// contains the failure class, such as "timeout", the reason and the last lines of output.
func Why(t fleet.Task) string {
	head, lines := Failure(t)
	return Join(": ", head, lastOf(lines))
}

// Cause says in a word or two why a task failed: it returns the failure class, such as "timeout",
// or how the agent's program ended, such as "exit code 1". For a cancelled task it returns why the
// task was cancelled. The text never contains output of the program. It is "" if the cause is
// unknown.
func Cause(t fleet.Task) string {
	class, reason := reasonOf(t)
	switch {
	case t.Status == fleet.Cancelled:
		return Why(t)
	case class != "" && class != string(t.Status) && class != string(failure.Crashed):
		return class
	}
	return ending().FindString(reason)
}

// Failure describes how a task failed or why it was cancelled:
//   - If a check (a command that verifies the agent's work) failed, head names the failure class
//     and the check, and lines holds the last lines of the check's output.
//   - If the task failed otherwise, head names the failure class, such as "timeout", and the
//     reason. lines holds the last lines of the program's output. A single line of output becomes
//     part of head instead.
//   - If the task was cancelled, head says why, or is empty if this is unknown. lines is empty.
func Failure(t fleet.Task) (head string, lines []string) {
	class, reason := reasonOf(t)
	if t.Status == fleet.Cancelled {
		if class == "dependency" {
			return "what it waits for did not complete", nil
		}
		// Leave out the agent's last output, because it does not explain a cancellation.
		return strings.TrimPrefix(class, string(fleet.Cancelled)), nil
	}
	if c, ok := failedCheck(t.Attempt); ok && class == string(failure.VerifyFailed) {
		lines = lastLines(c.Output)
		if denied := Denied(t.Attempt); denied != "" {
			lines = append(lines, denied)
		}
		return Join(": ", class, fmt.Sprintf("%s (exit %d)", Line(c.Command), c.Exit)), lines
	}
	head, rest := cutReason(reason)
	lines = lastLines(rest)
	if len(lines) == 1 {
		between := ": "
		if strings.Contains(reason, outputSeparator) {
			head, between = strings.TrimSuffix(head, "."), strings.ReplaceAll(outputSeparator, "\n", " ")
		}
		head, lines = Join(between, head, strings.TrimSpace(lines[0])), nil
	}
	head = Line(head)
	switch {
	case head != "" && (class == string(t.Status) || class == string(failure.Crashed)):
		class = "" // leave out the failure class, because it says no more than the task's status
	case strings.HasPrefix(head, class+": ") || head == class:
		class = ""
	}
	return Join(": ", class, head), lines
}

// reasonOf returns the failure class of a task, such as "timeout". As the reason of the failure it
// returns the summary of the task's last attempt.
func reasonOf(t fleet.Task) (class, reason string) {
	class = t.Outcome
	if a := t.Attempt; a != nil {
		class, reason = cmp.Or(class, a.Class), a.Summary
	}
	return Line(class), strings.TrimSpace(reason)
}

// ending matches a beginning of a failure reason that says how a program ended, such as "exit code
// 1".
var ending = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(exit code -?\d+|died of SIG[A-Z0-9]+( without a last word)?|died without a last word, exit code -?\d+)`)
})

// outputSeparator is the text between the reason of a failure and the agent's last output.
const outputSeparator = "; its last words:\n"

// cutReason splits the stored reason of a failure. head is the reason itself, and rest is the
// output that follows it.
func cutReason(reason string) (head, rest string) {
	if what, said, ok := strings.Cut(reason, outputSeparator); ok {
		head, rest = cutReason(what)
		return head, strings.TrimPrefix(rest+"\n"+said, "\n")
	}
	if end := ending().FindString(reason); end != "" {
		return end, strings.TrimPrefix(reason[len(end):], ": ")
	}
	head, rest, _ = strings.Cut(reason, "\n")
	return head, rest
}

func failedCheck(a *fleet.Attempt) (fleet.Check, bool) {
	if a == nil {
		return fleet.Check{}, false
	}
	at := slices.IndexFunc(a.Checks, func(c fleet.Check) bool { return !c.OK })
	if at < 0 {
		return fleet.Check{}, false
	}
	return a.Checks[at], true
}

// maxLines is the maximum number of output lines that are shown for a failure.
const maxLines = 5

// lastLines returns the last lines of a text, at most maxLines. It skips blank lines and keeps the
// indentation.
func lastLines(text string) (lines []string) {
	for line := range strings.Lines(display.PrintableLines(text)) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \n")
		if line != "" {
			lines = append(lines, cells.Truncate(line, maxText))
		}
	}
	return lines[max(0, len(lines)-maxLines):]
}

// lastOf joins lines from the end of the list to one line of text: as many as fit into 120 columns,
// but at least one.
func lastOf(lines []string) string {
	const glance = 120
	text := ""
	for i := len(lines) - 1; i >= 0; i-- {
		line := Line(lines[i])
		if text != "" && cells.Width(line)+1+cells.Width(text) > glance {
			break
		}
		text = strings.TrimSuffix(line+" "+text, " ")
	}
	return text
}

// Summary returns the last lines of the text in which the agent summarizes its work, joined to one
// line. It returns "" if the task is not complete, or has no summary.
func Summary(t fleet.Task) string {
	if t.Attempt == nil || t.Status != fleet.Complete {
		return ""
	}
	return lastOf(lastLines(t.Attempt.Summary))
}

// Checks returns the result of an attempt's checks, such as "2 checks passed". A check is a command
// that verifies the agent's work. Checks returns "" if there were no checks.
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

// Denied returns the requests of the agent that were not permitted, such as "denied: Bash: make
// install". It returns "" if nothing was denied.
func Denied(a *fleet.Attempt) string {
	if a == nil || len(a.Denied) == 0 {
		return ""
	}
	return Line("denied: " + strings.Join(a.Denied, "; "))
}

// budgetAdvice returns advice for a task that was stopped because its own budget or the budget of
// its run is spent. The advice contains the command that continues the task.
func budgetAdvice(t fleet.Task) string {
	spent := t.Spent.Share(t.Budget) >= 1
	switch {
	case spent && t.Spent.Share(fleet.Cost{USD: t.Budget.USD}) < 1:
		return fmt.Sprintf("'gaffer retry %s/%s --tokens N' goes on where it stopped", display.Printable(fleet.ShortRun(t.Run)), Line(t.ID))
	case spent:
		return fmt.Sprintf("'gaffer retry %s/%s --budget USD' goes on where it stopped", display.Printable(fleet.ShortRun(t.Run)), Line(t.ID))
	}
	return fmt.Sprintf("'gaffer resume %s --budget USD' goes on with a larger budget for the run", display.Printable(fleet.ShortRun(t.Run)))
}

// Advice returns what the user can do about the failure of a task, such as "log in to claude, or
// give it its key". It returns "" if there is no advice for this kind of failure.
func Advice(t fleet.Task) string {
	agent := Line(t.Agent)
	if agent == "" {
		agent = "the agent"
	}
	switch failure.Class(t.Outcome) {
	case failure.Denied:
		return "'gaffer permissions' lists what was refused; allow it with a rule there or in the plan, or in " + agent + "'s settings; if the work needs none of it, a 'verify' command that passes makes it complete"
	case failure.Auth:
		return "log in to " + agent + ", or give it its key"
	case failure.OverBudget:
		return budgetAdvice(t)
	case failure.NotStarted:
		if t.Agent == "command" {
			return "install the program, or correct the task's command in the plan and run it again with --pending-only"
		}
		return "install the program of " + agent + ", or correct its argv in gaffer.yaml; 'gaffer doctor' says what is installed"
	case failure.BadPlan:
		return "mend the task in the plan, and run the plan again with --pending-only"
	case failure.VerifyFailed:
		return "look at what the check says, or mend the check"
	case failure.ContextOverflow:
		return "split the task into smaller ones"
	case failure.Interrupted:
		return "continue it with 'gaffer send " + Line(t.ID) + " TEXT', or queue it again with 'gaffer retry'"
	case failure.TimedOut:
		return "give it more time ('timeout' in the plan, --timeout), or split it"
	}
	return ""
}

// ByHand describes an agent that the user has started in a terminal, outside of any run, such as
// "waiting, Bash: make, 4m, source hook". The text contains the status of the agent, what it waits
// for, how long it has had this status, and where this information comes from.
func ByHand(w fleet.Worker, now time.Time) string {
	age, source := "", ""
	if !w.ClaudeSince.IsZero() {
		age = Age(max(now.Sub(w.ClaudeSince), 0))
	}
	if w.Source != "" {
		source = "source " + Line(w.Source)
	}
	return Join(", ", Line(w.ClaudeStatus), Line(w.For), age, source)
}

// QuestionLine returns a question on one line with the command that answers it, such as
// "4cebc8bf/port asks: Which port?; 'gaffer answer 4cebc8bf/port'".
func QuestionLine(q fleet.Question) string {
	name := Line(q.Name)
	return name + " asks: " + Line(q.Text) + "; 'gaffer answer " + name + "'"
}
