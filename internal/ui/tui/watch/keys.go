package watch

import (
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// command returns the effect of a key. The parameter it says what the user has chosen: the
// question, run, task or worker in the chosen row of a list or, on the screen of a task, that task.
func command(key string, s snapshot, it item) keyResult {
	switch key {
	case "q":
		return keyResult{action: Quit{}}
	case "?":
		return keyResult{help: true}
	case "enter":
		return open(s, it)
	case "a":
		return openQuestion(s, it)
	case "l":
		return openLog(s, it)
	case "c":
		return cancel(s, it)
	case "C": // cancel the shown run or, if the whole fleet is shown, what is chosen in the list
		if s.focus.Run == "" {
			return cancel(s, it)
		}
		return cancelRun(s.findRun(s.focus.Run))
	case "r":
		return retry(s, it)
	}
	return keyResult{}
}

// open returns the keyResult that opens the screen of the chosen item. A worker has no screen of
// its own, so open opens the screen of its task.
func open(s snapshot, it item) keyResult {
	switch it.kind {
	case questionItem:
		return keyResult{open: questionScreen{id: it.id}}
	case runItem:
		return keyResult{open: listScreen{content: runList{it.id}}}
	case taskItem:
		return keyResult{open: taskScreen{run: s.focus.Run, task: it.id}}
	case workerItem:
		if run, task, ok := s.workerTask(it.id); ok {
			return keyResult{open: taskScreen{run: run, task: task}}
		}
		return keyResult{note: "this worker has no task that could be shown"}
	}
	return keyResult{}
}

// openQuestion opens the question of the chosen item. If the item has no open question, it opens a
// question of the same run. If the run has none either, it opens the oldest question.
func openQuestion(s snapshot, it item) keyResult {
	run, task := s.focus.Run, s.focus.Task
	switch it.kind {
	case questionItem:
		return keyResult{open: questionScreen{id: it.id}}
	case runItem:
		run = it.id
	case taskItem:
		task = it.id
	case workerItem:
		run, task, _ = s.workerTask(it.id)
	}
	list := s.questions()
	for _, wanted := range []func(fleet.Question) bool{
		func(q fleet.Question) bool { return q.Run == run && q.Task == task },
		func(q fleet.Question) bool { return q.Run == run },
		func(fleet.Question) bool { return true },
	} {
		if at := slices.IndexFunc(list, wanted); at >= 0 {
			return keyResult{open: questionScreen{id: list[at].ID}}
		}
	}
	return keyResult{note: "no agent asks anything"}
}

// openLog shows a log on the whole screen: the log of the chosen task, of the task of the chosen
// worker, or of the task that asks the chosen question.
func openLog(s snapshot, it item) keyResult {
	run, task := "", ""
	switch it.kind {
	case taskItem:
		run, task = s.focus.Run, it.id
	case workerItem:
		run, task, _ = s.workerTask(it.id)
	case questionItem:
		if run, task = taskOfQuestion(s, it.id); run == "" {
			return keyResult{note: "this was not asked by a task: there is no log"}
		}
	}
	if task == "" {
		return keyResult{note: "a log is a task's: choose one"}
	}
	return keyResult{open: taskScreen{run: run, task: task, fullLog: true}}
}

// taskOfQuestion returns the id of the task that asks a question, and the id of the task's run.
// Both are empty if no task asks the question.
func taskOfQuestion(s snapshot, id string) (run, task string) {
	at := slices.IndexFunc(s.fleet.Questions, func(q fleet.Question) bool { return q.ID == id })
	if at < 0 {
		return "", ""
	}
	return s.fleet.Questions[at].Run, s.fleet.Questions[at].Task
}

// cancel asks the user to confirm that the chosen run or task is to be cancelled. For a question,
// that is the task that asks it. If there is nothing to cancel, cancel returns a message for the
// user instead.
func cancel(s snapshot, it item) keyResult {
	switch it.kind {
	case runItem:
		return cancelRun(s.findRun(it.id))
	case taskItem:
		return cancelTask(s, s.findTask(it.id))
	case questionItem:
		run, task := taskOfQuestion(s, it.id)
		if run == "" {
			return keyResult{note: "this was not asked by a task: there is nothing to cancel"}
		}
		return cancelTask(s, fleet.Task{Run: run, ID: task, Status: fleet.Running})
	}
	return keyResult{note: "choose a run or a task to cancel"}
}

func cancelRun(r fleet.Run) keyResult {
	switch {
	case r.ID == "":
		return keyResult{}
	case r.Status.Final():
		return keyResult{note: "run " + nameOf(r) + " has ended already, it is " + string(r.Status)}
	}
	are := "are"
	if r.Counts.Running == 1 {
		are = "is"
	}
	text := fmt.Sprintf("Cancel run %s (%s)? %s %s ended, %s will not start.", nameOf(r), display.Printable(r.ID),
		phrase.Count(r.Counts.Running, "agent"), are, phrase.Count(r.Counts.Queued, "task"))
	return keyResult{confirm: confirmation{text, "y cancels the run", Cancel{Run: r.ID, Name: "run " + nameOf(r)}}}
}

func cancelTask(s snapshot, t fleet.Task) keyResult {
	if t.ID == "" {
		return keyResult{}
	}
	name := display.Line(t.ID, 40) + ofRun(s, t.Run)
	if t.Status.Final() {
		return keyResult{note: "task " + name + " has ended already, it is " + string(t.Status)}
	}
	text := "Cancel task " + name + "? What waits for it is cancelled too."
	if t.Status == fleet.Running {
		text = "Cancel task " + name + "? Its agent is ended, and what waits for it is cancelled too."
	}
	return keyResult{confirm: confirmation{text, "y cancels the task", Cancel{Run: t.Run, Task: t.ID, Name: "task " + name}}}
}

// ofRun returns " of " and the name of the run. It returns "" if the run is unknown.
func ofRun(s snapshot, run string) string {
	if name := s.runName(run); name != "" {
		return " of " + name
	}
	return ""
}

func retry(s snapshot, it item) keyResult {
	var t fleet.Task
	if it.kind == taskItem {
		t = s.findTask(it.id)
	}
	switch {
	case t.ID == "":
		return keyResult{note: "choose a task to try again"}
	case !t.Status.Final() || t.Status == fleet.Complete:
		return keyResult{note: "task " + phrase.Line(t.ID) + " is " + string(t.Status) + ": only what failed or was cancelled is tried again"}
	}
	return keyResult{action: Retry{Run: t.Run, Task: t.ID}}
}
