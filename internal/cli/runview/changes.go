package runview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// opening returns the lines before the changes: the run's name, tasks, parallelism,
// counts and paused accounts, then the open questions.
func opening(r fleet.Run, far bool, now time.Time) []string {
	first := "run " + r.ID + ": " + join(", ", display.Line(r.Name, 60), phrase.Count(len(r.Tasks), "task"), atOnce(r, far), phrase.Counts(r.Counts))
	lines := []string{join("; ", first, pauses(r, now))}
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			lines = append(lines, display.Printable(t.ID)+": "+asks(*t.Question))
		}
	}
	return lines
}

// atOnce describes how many tasks of a run may run in parallel. It returns "" for a run
// of one task, and for a team, which has its own rules.
func atOnce(r fleet.Run, far bool) string {
	switch {
	case len(r.Tasks) < 2 || r.Team != "":
		return ""
	case far && r.Parallel == 0:
		return "as many at once as the workers take"
	}
	return fmt.Sprintf("at most %d at once", cmp.Or(r.Parallel, app.DefaultParallel))
}

// pauses returns a text such as "claude paused until 14:00, usage limit", or "".
func pauses(r fleet.Run, now time.Time) string {
	var list []string
	for _, l := range r.Paused(now) {
		list = append(list, phrase.Paused(l, now))
	}
	return strings.Join(list, "; ")
}

// changes returns a line for each difference between two states of a run. A line starts
// with the task's id, or with "run" and the run's id, and a colon. States in between
// may have been missed, so the lines follow from the two states alone.
func changes(before, after fleet.Run, now time.Time) []string {
	var lines []string
	run := "run " + after.ID + ": "
	for _, l := range after.Lanes {
		if !paused(before, l) {
			lines = append(lines, run+phrase.Paused(l, now))
		}
	}
	if after.Stopping != "" && before.Stopping != after.Stopping {
		lines = append(lines, run+phrase.Stopping(after))
	}
	for i, t := range after.Tasks {
		for _, text := range taskChanges(known(before.Tasks, i, t.ID), t, now) {
			lines = append(lines, display.Printable(t.ID)+": "+text)
		}
	}
	return lines
}

// known returns the task with this id, or the zero task. It looks at index i first:
// tasks keep their order, and new ones are appended.
func known(tasks []fleet.Task, i int, id string) fleet.Task {
	if i >= len(tasks) || tasks[i].ID != id {
		i = slices.IndexFunc(tasks, func(t fleet.Task) bool { return t.ID == id })
	}
	if i < 0 {
		return fleet.Task{}
	}
	return tasks[i]
}

func paused(r fleet.Run, l fleet.Lane) bool {
	for _, known := range r.Lanes {
		if known.Name == l.Name && known.Until.Equal(l.Until) {
			return true
		}
	}
	return false
}

// taskChanges returns a line for each change of one task. before is the zero task if
// the task was not seen yet.
func taskChanges(before, after fleet.Task, now time.Time) (lines []string) {
	if began(before, after) {
		lines = append(lines, started(before, after))
	}
	if retries(before, after) {
		lines = append(lines, join(": ", "attempt "+orOne(phrase.Try(after))+" failed", phrase.Why(after))+", "+again(after, now))
	}
	if q := after.Question; phrase.Waiting(after) && (before.Question == nil || before.Question.ID != q.ID) {
		lines = append(lines, asks(*q))
	}
	if before.Question != nil && after.Question == nil && after.Status == fleet.Running {
		lines = append(lines, "answered, goes on")
	}
	if after.Status.Final() && before.Status != after.Status {
		lines = append(lines, ended(after, now))
	}
	return lines
}

// began reports whether a new attempt has started.
func began(before, after fleet.Task) bool {
	if after.Attempt == nil {
		return false
	}
	return before.Attempt == nil || before.Attempt.ID != after.Attempt.ID
}

func started(before, after fleet.Task) string {
	agent := join(" ", phrase.Line(after.Agent), phrase.Line(after.Model))
	text := join(", ", "started", try(after), agent)
	// The previous attempt ended between the two states.
	if before.Attempt != nil && before.Status == fleet.Running && before.Attempt.Class == "" {
		text += join(": ", fmt.Sprintf(", after attempt %d failed", before.Attempt.Number), phrase.Line(after.Outcome))
	}
	return text
}

func try(t fleet.Task) string {
	n, of, more := strings.Cut(phrase.Try(t), "/")
	if !more {
		return ""
	}
	return "attempt " + n + " of " + of
}

func orOne(try string) string {
	if try == "" {
		return "1"
	}
	return try
}

// retries reports whether an attempt has ended and the task now waits for another.
func retries(before, after fleet.Task) bool {
	return after.Status == fleet.Queued && after.Attempt != nil && after.Attempt.Status.Final() &&
		(before.Attempt == nil || before.Attempt.ID != after.Attempt.ID || !before.Attempt.Status.Final())
}

func again(t fleet.Task, now time.Time) string {
	if wait := t.RetryAt.Sub(now); wait > 0 {
		return "again in " + phrase.Elapsed(wait.Round(time.Second))
	}
	return "again"
}

func asks(q fleet.Question) string {
	text := "asks: " + phrase.Line(q.Text)
	for i, option := range q.Options {
		text += fmt.Sprintf(" [%d %s]", i+1, phrase.Line(option))
	}
	return text + fmt.Sprintf("; answer with 'gaffer answer %s'", phrase.Line(q.Name))
}

// ended returns a text such as "complete, 12s, waited 4m 10s, 2 checks passed, $0.01"
// or "failed, 3s, $0.01: denied". It does not include the agent's last message, which
// is in the run's summary.
func ended(t fleet.Task, now time.Time) string {
	took, waited, spent := "", "", ""
	if d, ok := phrase.Took(t.Attempt, now); ok {
		took, waited, spent = phrase.Elapsed(d), phrase.Waited(t.Attempt), phrase.Spent(t.Attempt.Spent)
	}
	text := join(", ", string(t.Status), took, waited, phrase.Checks(t.Attempt), spent)
	if t.Status == fleet.Complete {
		return join(", ", text, phrase.Denied(t.Attempt))
	}
	return join(": ", text, phrase.Cause(t))
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, separator)
}
