package watch

import (
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/ui/phrase"
)

// press handles a key. It returns the new model and the actions to perform.
func (m Model) press(k Key) (Model, []any) {
	if k.Name == "alt+esc" { // Escape pressed twice, fast
		k.Name = "esc"
	}
	switch {
	case k.Name == "ctrl+c":
		return m, []any{Quit{}}
	case m.mode == helping:
		m.mode = browsing
		return m, nil
	case m.mode == confirming:
		return m.confirmed(k)
	case m.mode == filtering:
		return m.narrow(k), nil
	case m.here().screen == questionScreen:
		return m.answering(k)
	}
	return m.browse(k)
}

func (m Model) browse(k Key) (Model, []any) {
	switch k.Name {
	case "q":
		return m, []any{Quit{}}
	case "?":
		m.mode = helping
	case "/":
		m.mode, m.input = filtering, m.here().filter
	case "esc", "backspace":
		return m.out(), nil
	case "enter":
		return m.open(), nil
	case "a":
		return m.toQuestion(), nil
	case "l":
		return m.toLog(), nil
	case "c":
		return m.cancel(), nil
	case "C":
		return m.cancelWhole(), nil
	case "r":
		return m.retry()
	default:
		return m.move(k.Name), nil
	}
	return m, nil
}

// narrow handles a key in the filtering mode. The filter applies at once.
func (m Model) narrow(k Key) Model {
	p := m.here()
	switch k.Name {
	case "enter", "tab", "down", "up":
		m.mode, m.input = browsing, ""
		return m
	case "esc":
		m.mode, m.input, p.filter = browsing, "", ""
		return m
	}
	m.input = edited(m.input, k)
	p.filter, p.cursor, p.top = strings.TrimSpace(m.input), "", 0
	return m
}

// out goes back one step: it removes the filter, leaves the full-screen log, or
// leaves the location.
func (m Model) out() Model {
	p := m.here()
	switch {
	case p.filter != "":
		p.filter = ""
	case p.full:
		p.full = false
	default:
		return m.leave()
	}
	return m
}

// open opens the chosen item.
func (m Model) open() Model {
	kind, id := m.chosen()
	switch kind {
	case questionKey:
		return m.enter(location{screen: questionScreen, question: id})
	case runKey:
		return m.enter(location{screen: runScreen, run: id})
	case taskKey:
		return m.enter(location{screen: taskScreen, run: m.looked.Run, task: id})
	case workerKey:
		if run, task, ok := m.taskOf(id); ok {
			return m.enter(location{screen: taskScreen, run: run, task: task})
		}
		return m.tell("this worker has no task that could be shown")
	}
	return m
}

// taskOf returns the task of a worker, if its run is known.
func (m Model) taskOf(worker string) (run, task string, ok bool) {
	for _, w := range m.fleet.Workers {
		if w.ID != worker {
			continue
		}
		run, task, ok = strings.Cut(w.Task, "/")
		return run, task, ok && m.runName(run) != ""
	}
	return "", "", false
}

// toQuestion opens the question of the chosen item, else the oldest question.
func (m Model) toQuestion() Model {
	kind, id := m.chosen()
	run, task := m.looked.Run, m.looked.Task
	switch kind {
	case questionKey:
		return m.enter(location{screen: questionScreen, question: id})
	case runKey:
		run = id
	case taskKey:
		task = id
	case workerKey:
		run, task, _ = m.taskOf(id)
	}
	wanted := []func(fleet.Question) bool{
		func(q fleet.Question) bool { return q.Run == run && q.Task == task },
		func(q fleet.Question) bool { return q.Run == run },
		func(fleet.Question) bool { return true },
	}
	list := m.questions()
	for _, is := range wanted {
		if at := slices.IndexFunc(list, is); at >= 0 {
			return m.enter(location{screen: questionScreen, question: list[at].ID})
		}
	}
	return m.tell("nobody asks anything")
}

// toLog shows the log of the chosen item on the whole screen, or toggles that on a
// task's screen.
func (m Model) toLog() Model {
	if p := m.here(); p.screen == taskScreen {
		p.full = !p.full
		return m
	}
	run, task := "", ""
	switch kind, id := m.chosen(); kind {
	case taskKey:
		run, task = m.looked.Run, id
	case workerKey:
		run, task, _ = m.taskOf(id)
	case questionKey:
		q := m.questionOf(id)
		if q.Run == "" {
			return m.tell("this was not asked by a task: there is no log")
		}
		run, task = q.Run, q.Task
	}
	if task == "" {
		return m.tell("a log is a task's: choose one")
	}
	return m.enter(location{screen: taskScreen, run: run, task: task, full: true})
}

// cancel asks for confirmation before it cancels the chosen item.
func (m Model) cancel() Model {
	if m.here().screen == taskScreen {
		t, _ := m.current()
		return m.cancelTask(t)
	}
	switch kind, id := m.chosen(); kind {
	case runKey:
		return m.cancelRun(m.runOf(id))
	case taskKey:
		return m.cancelTask(m.taskNamed(id))
	case questionKey:
		q := m.questionOf(id)
		if q.Run == "" {
			return m.tell("this was not asked by a task: there is nothing to cancel")
		}
		return m.cancelTask(fleet.Task{Run: q.Run, ID: q.Task, Status: fleet.Running})
	}
	return m.tell("choose a run or a task to cancel")
}

// cancelWhole asks for confirmation before it cancels the run that is shown.
func (m Model) cancelWhole() Model {
	if m.looked.Run == "" {
		return m.cancel()
	}
	return m.cancelRun(m.runOf(m.looked.Run))
}

func (m Model) runOf(id string) fleet.Run {
	if m.run.ID == id {
		return m.run
	}
	if at := slices.IndexFunc(m.fleet.Runs, func(r fleet.Run) bool { return r.ID == id }); at >= 0 {
		return m.fleet.Runs[at]
	}
	return fleet.Run{}
}

func (m Model) questionOf(id string) fleet.Question {
	if at := slices.IndexFunc(m.fleet.Questions, func(q fleet.Question) bool { return q.ID == id }); at >= 0 {
		return m.fleet.Questions[at]
	}
	return fleet.Question{}
}

func (m Model) taskNamed(id string) fleet.Task {
	if at := slices.IndexFunc(m.run.Tasks, func(t fleet.Task) bool { return t.ID == id }); at >= 0 {
		return m.run.Tasks[at]
	}
	return fleet.Task{}
}

func (m Model) retry() (Model, []any) {
	t, _ := m.current()
	if kind, id := m.chosen(); kind == taskKey {
		t = m.taskNamed(id)
	}
	switch {
	case t.ID == "":
		return m.tell("choose a task to try again"), nil
	case !t.Status.Final() || t.Status == fleet.Complete:
		return m.tell("task " + phrase.Line(t.ID) + " is " + string(t.Status) + ": only what failed or was cancelled is tried again"), nil
	}
	return m, []any{Retry{Run: t.Run, Task: t.ID}}
}
