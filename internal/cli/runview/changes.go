package runview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app/localrun"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// openingLines returns the lines that describe a run before its first change is shown. The first
// line contains the name, the number of tasks, how many tasks may run in parallel, the number of
// tasks in each status, and what keeps tasks from starting, such as a paused agent account. A line
// for each open question follows.
func openingLines(r fleet.Run, remote bool, now time.Time) []string {
	first := "run " + r.ID + ": " + phrase.Join(", ", display.Line(r.Name, 60), phrase.Count(len(r.Tasks), "task"), parallelText(r, remote), phrase.Counts(r.Counts))
	lines := []string{phrase.Join("; ", first, pausedText(r, now))}
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			lines = append(lines, display.Printable(t.ID)+": "+asks(*t.Question))
		}
	}
	return lines
}

// parallelText says how many tasks of a run may run in parallel. It returns "" for a run with one
// task, and for a run of 'gaffer team', because the team of agents decides this itself.
func parallelText(r fleet.Run, remote bool) string {
	switch {
	case len(r.Tasks) < 2 || r.Team != "":
		return ""
	case remote && r.Parallel == 0:
		return "as many at once as the workers take"
	}
	return fmt.Sprintf("at most %d at once", cmp.Or(r.Parallel, localrun.DefaultParallel))
}

// pausedText returns a text about the paused agent accounts and reached cost limits that keep tasks
// of the run from starting, such as "claude paused until 14:00, usage limit". It returns "" if
// there are none.
func pausedText(r fleet.Run, now time.Time) string {
	var list []string
	for _, l := range r.Paused(now) {
		list = append(list, phrase.Paused(l, now))
	}
	return strings.Join(list, "; ")
}

// changeLines returns a line for each difference between two states of a run. A line starts with
// the task's id, or with "run" and the run's id, and a colon. States in between may not have been
// read, so the lines are derived from these two states alone.
func changeLines(previous, current fleet.Run, now time.Time) []string {
	var lines []string
	run := "run " + current.ID + ": "
	for _, l := range current.Lanes {
		isSame := func(other fleet.Lane) bool { return other.Name == l.Name && other.Until.Equal(l.Until) }
		if !slices.ContainsFunc(previous.Lanes, isSame) {
			lines = append(lines, run+phrase.Paused(l, now))
		}
	}
	if current.Stopping != "" && previous.Stopping != current.Stopping {
		lines = append(lines, run+phrase.Stopping(current))
	}
	for i, t := range current.Tasks {
		for _, text := range taskChanges(taskByID(previous.Tasks, i, t.ID), t, now) {
			lines = append(lines, display.Printable(t.ID)+": "+text)
		}
	}
	return lines
}

// taskByID returns the task with this id, or the zero task if there is none. It looks at index i
// first, because tasks keep their order and new tasks are appended.
func taskByID(tasks []fleet.Task, i int, id string) fleet.Task {
	if i >= len(tasks) || tasks[i].ID != id {
		i = slices.IndexFunc(tasks, func(t fleet.Task) bool { return t.ID == id })
	}
	if i < 0 {
		return fleet.Task{}
	}
	return tasks[i]
}

// taskChanges returns a line for each difference between two states of a task. previous is the zero
// task if the task is new.
func taskChanges(previous, current fleet.Task, now time.Time) (lines []string) {
	newAttempt := current.Attempt != nil && (previous.Attempt == nil || previous.Attempt.ID != current.Attempt.ID)
	if newAttempt {
		try := ""
		if n, of, more := strings.Cut(phrase.AttemptNumber(current), "/"); more {
			try = "attempt " + n + " of " + of
		}
		line := phrase.Join(", ", "started", try, cmp.Or(phrase.Using(current, current.Attempt), phrase.Join(" ", phrase.Line(current.Agent), phrase.Line(current.Model))))
		// If the parameter previous has an attempt that was still running, that attempt has ended
		// since then, because the parameter current has a new one. Then the line also says that the
		// earlier attempt failed.
		if previous.Attempt != nil && previous.Status == fleet.Running && previous.Attempt.Class == "" {
			line += phrase.Join(": ", fmt.Sprintf(", after attempt %d failed", previous.Attempt.Number), phrase.Line(current.Outcome))
		}
		lines = append(lines, line)
	}
	// Add a line if an attempt has ended and the task waits for its next attempt.
	if current.Status == fleet.Queued && current.Attempt != nil && current.Attempt.Status.Final() && (newAttempt || !previous.Attempt.Status.Final()) {
		again := ", again"
		if wait := current.RetryAt.Sub(now); wait > 0 {
			again += " in " + phrase.Elapsed(wait.Round(time.Second))
		}
		lines = append(lines, phrase.Join(": ", "attempt "+cmp.Or(phrase.AttemptNumber(current), "1")+" failed", phrase.Why(current))+again)
	}
	if q := current.Question; phrase.Waiting(current) && (previous.Question == nil || previous.Question.ID != q.ID) {
		lines = append(lines, asks(*q))
	}
	if previous.Question != nil && current.Question == nil && current.Status == fleet.Running {
		lines = append(lines, "answered, goes on")
	}
	if current.Status.Final() && previous.Status != current.Status {
		lines = append(lines, endText(current, now))
	}
	return lines
}

func asks(q fleet.Question) string {
	text := "asks: " + phrase.Line(q.Text)
	for i, option := range q.Options {
		text += fmt.Sprintf(" [%d %s]", i+1, phrase.Line(option))
	}
	return text + fmt.Sprintf("; answer with 'gaffer answer %s'", phrase.Line(q.Name))
}

// endText returns a text such as "complete, 12s, waited 4m 10s, 2 checks passed, $0.01" or "failed,
// 3s, $0.01: denied". It leaves out the agent's last message, because the run's summary contains
// it.
func endText(t fleet.Task, now time.Time) string {
	took, waited, spent := "", "", ""
	if d, ok := phrase.WorkTime(t.Attempt, now); ok {
		took, waited, spent = phrase.Elapsed(d), phrase.Waited(t.Attempt), phrase.Spent(t.Attempt.Spent)
	}
	text := phrase.Join(", ", string(t.Status), took, waited, phrase.Checks(t.Attempt), spent)
	if t.Status == fleet.Complete {
		return phrase.Join(", ", text, phrase.Denied(t.Attempt))
	}
	return phrase.Join(": ", text, phrase.Cause(t))
}
