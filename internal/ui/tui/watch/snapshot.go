package watch

import (
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/stages"
)

// snapshot is the data that was last read. All screens share it. It is a value: methods that change
// it return a changed copy.
type snapshot struct {
	where  string // address of the gaffer server whose fleet is shown; empty for this machine
	now    time.Time
	fleet  Fleet
	read   time.Time // when the fleet was last read
	outage Outage

	focus   Focus
	run     fleet.Run // the run that the field focus selects, with its tasks
	stages  []int     // stage numbers of run.Tasks, in the same order
	task    Task      // the task that the field focus selects, with its attempts
	sending string    // id of the question whose answer is being sent
}

// with returns the snapshot with newly read data. It ignores data about a run or task that is no
// longer shown.
func (s snapshot) with(data any) snapshot {
	switch data := data.(type) {
	case Fleet:
		s.fleet, s.read = data, s.now
	case fleet.Run:
		if data.ID != s.focus.Run {
			break
		}
		if len(s.stages) != len(data.Tasks) || s.run.ID != data.ID {
			s.stages = stages.Of(data.Tasks)
		}
		s.run = data
	case Task:
		if data.Run == s.focus.Run && data.ID == s.focus.Task {
			s.task = data
		}
	case Outage:
		s.outage = data
	}
	return s
}

// refocused returns the snapshot with a new focus, which is the run and the task whose details are
// read. It drops the details of the old task and, if the new focus is on another run, those of the
// old run.
func (s snapshot) refocused(to Focus) snapshot {
	if to.Run != s.focus.Run {
		s.run, s.stages = fleet.Run{}, nil
	}
	s.task, s.focus = Task{}, to
	return s
}

// maxSilence is how long the program waits for new data. If none has arrived for longer, it shows
// the fleet as unreachable, even without an [Outage] message.
const maxSilence = 15 * time.Second

// unreachable returns an Outage that says since when the fleet has been unreachable, and why. The
// zero Outage means that the fleet is reachable.
func (s snapshot) unreachable() Outage {
	if s.outage.Since.IsZero() && !s.read.IsZero() && s.now.Sub(s.read) > maxSilence {
		return Outage{s.read, "no answer"}
	}
	return s.outage
}

// findRun returns the run with this id, or the zero run if it is unknown.
func (s snapshot) findRun(id string) fleet.Run {
	if s.run.ID == id {
		return s.run
	}
	if at := slices.IndexFunc(s.fleet.Runs, func(r fleet.Run) bool { return r.ID == id }); at >= 0 {
		return s.fleet.Runs[at]
	}
	return fleet.Run{}
}

// runName returns a run's name, or "" if the run is unknown.
func (s snapshot) runName(id string) string {
	if r := s.findRun(id); r.ID != "" {
		return nameOf(r)
	}
	return ""
}

func nameOf(r fleet.Run) string {
	if name := display.Line(r.Name, 60); name != "" {
		return name
	}
	return display.Printable(r.ID)
}

// findTask returns the latest known state of a task of the shown run, or the zero task if it is
// unknown.
func (s snapshot) findTask(id string) fleet.Task {
	if at := slices.IndexFunc(s.run.Tasks, func(t fleet.Task) bool { return t.ID == id }); at >= 0 {
		return s.run.Tasks[at]
	}
	if s.task.ID == id {
		return s.task.Task
	}
	return fleet.Task{}
}

// workerTask returns the run and the task that a worker works on. ok is false if the worker has no
// task, or if the run is unknown.
func (s snapshot) workerTask(worker string) (run, task string, ok bool) {
	for _, w := range s.fleet.Workers {
		if w.ID == worker {
			run, task, ok = strings.Cut(w.Task, "/")
			return run, task, ok && s.runName(run) != ""
		}
	}
	return "", "", false
}

// questions returns the open questions of the fleet and of the shown run, each once. The run is
// read separately from the fleet, so it may have newer questions.
func (s snapshot) questions() []fleet.Question {
	list := slices.Clone(s.fleet.Questions)
	for _, t := range s.run.Tasks {
		if phrase.Waiting(t) && !slices.ContainsFunc(list, func(q fleet.Question) bool { return q.ID == t.Question.ID }) {
			list = append(list, *t.Question)
		}
	}
	return list
}
