package teamstate

import (
	"fmt"
	"slices"
	"time"

	"gaffer/team"
)

// Session is the state of a team, computed from events. Only [Session.Begin],
// [Session.End], [Session.Resume] and [Session.Cancel] change it.
type Session struct {
	start Start
	items []Item

	began, updated, ended time.Time
	folds, spawns         int

	plan     plan     // empty before the project manager has made one
	groups   []*group // the groups of the plan, in order
	manager  manager
	running  []running      // started steps that have not ended, in order
	numbers  map[string]int // number of started steps per kind
	log      []team.LogEntry
	messages []message
	spent    map[team.Role]spent

	finished bool     // completed; nothing can follow
	problem  *Outcome // why it ended with an error; nil otherwise
}

// running is a started step.
type running struct {
	Step
	at time.Time
}

// redo is a step that must be repeated because it had no usable result.
type redo struct {
	purpose Purpose
	group   string
	problem string // problem with the answer; empty if the agent itself failed
}

// New returns a session that starts, or that continues one of another program.
func New(s Start, at time.Time) *Session {
	s.Developers = min(max(1, s.Developers), team.MaxDevelopers)
	if s.Iterations <= 0 {
		s.Iterations = DefaultIterations
	}
	session := &Session{
		start: s, items: Items(s.Requirements), began: at, updated: at,
		numbers: map[string]int{}, spent: map[team.Role]spent{},
	}
	if s.Found != nil {
		session.restore(s.Found)
	}
	return session
}

// Begin records that the task of a step was queued. If the step cannot start now,
// Begin returns a [*StepError] and changes nothing. A step that [Session.Next] has
// returned can still start, whatever has happened in between.
func (s *Session) Begin(step Step, at time.Time) error {
	if err := s.check(step); err != nil {
		return err
	}
	switch step.Role {
	case "":
	case team.PM:
		s.manager.redo = nil
		s.spawns++
	default:
		g := s.group(step.Group)
		if err := g.begin(step, at); err != nil {
			return err
		}
		g.status.BranchName = s.Branch(step.Group)
		s.markRead(step.Group, step.Role)
		s.spawns++
	}
	s.fold(at)
	s.numbers[kind(step)]++
	s.running = append(s.running, running{step, at})
	s.logBegin(step)
	return nil
}

// End records the final end of a running step's task. If the step is not running, End
// returns a [*StepError] and changes nothing.
func (s *Session) End(id string, e Ending) error {
	i := slices.IndexFunc(s.running, func(r running) bool { return r.ID == id })
	if i < 0 {
		return &StepError{ID: id, Problem: "does not run"}
	}
	r := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	s.fold(e.At)
	s.measure(r, e.At)
	if err := s.conclude(r.Step, e); err != nil {
		return err
	}
	s.enforceCap()
	return nil
}

// conclude handles the end of a step.
func (s *Session) conclude(step Step, e Ending) error {
	switch step.Purpose {
	case Plan, Split, Check:
		return s.managed(step, e)
	case Merge:
		return s.merged(step, e)
	case Deliver:
		s.delivered(step, e)
		return nil
	}
	return s.answered(step, e)
}

// Resume records that the user continues a session that ended with an error. Limits
// are counted anew, and failed steps are repeated. It does nothing if the session has
// not ended with an error.
func (s *Session) Resume(at time.Time) {
	if s.problem == nil {
		return
	}
	s.fold(at)
	s.note("resume", "a person lets it go on after: "+s.problem.Problem)
	s.problem, s.ended = nil, time.Time{}
	s.manager.refusals = 0
	s.agreed(at)
	for _, g := range s.groups {
		g.allowed, g.helpless = g.starts+s.start.Iterations, 0
	}
}

// Cancel records that the user has cancelled the run. It does nothing if the session
// has ended.
func (s *Session) Cancel(at time.Time, why string) {
	if s.finished || s.problem != nil {
		return
	}
	s.fold(at)
	s.stop("the run was cancelled: "+why, "'gaffer team resume' goes on")
}

// Step returns a running step.
func (s *Session) Step(id string) (Step, bool) {
	for _, r := range s.running {
		if r.ID == id {
			return r.Step, true
		}
	}
	return Step{}, false
}

// Busy reports whether a step of the group is running.
func (s *Session) Busy(group string) bool {
	return slices.ContainsFunc(s.running, func(r running) bool { return r.Group == group })
}

// Outcome returns how the session ended, and whether it has ended. A session with an
// error has not ended while steps are still running.
func (s *Session) Outcome() (o Outcome, ended bool) {
	switch {
	case s.finished:
		return Outcome{Completed: true}, true
	case s.problem != nil:
		return *s.problem, len(s.running) == 0
	}
	return Outcome{}, false
}

func (s *Session) fold(at time.Time) { s.folds, s.updated = s.folds+1, at }

// stop ends the session with an error. If it is called again, the first error counts.
func (s *Session) stop(problem, hint string) {
	if s.problem != nil {
		return
	}
	s.problem, s.ended = &Outcome{Problem: clip(problem, maxText), Hint: hint}, s.updated
	s.note("stop_with_error", problem+". "+hint)
}

func (s *Session) finish() {
	s.finished, s.ended = true, s.updated
	s.note("complete_session", "the project manager says that all is done, and every group is complete and merged")
}

func (s *Session) group(id string) *group {
	for _, g := range s.groups {
		if g.id == id {
			return g
		}
	}
	return nil
}

// StepError reports a step that cannot start or end now.
type StepError struct{ ID, Problem string }

func (e *StepError) Error() string { return fmt.Sprintf("step %s: %s", e.ID, e.Problem) }

// Conflict marks the error as a refused transition.
func (e *StepError) Conflict() bool { return true }
