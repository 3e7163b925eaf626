package teamstate

import (
	"fmt"
	"slices"
	"time"

	"gaffer/team"
)

// Session is a team at work, as it follows from what happened. It is changed by
// [Session.Begin], [Session.End] and [Session.Resume] alone.
type Session struct {
	start Start
	items []Item

	began, updated, ended time.Time
	folds, spawns         int

	plan     plan     // empty before the project manager has made one
	groups   []*group // of the plan, in its order
	manager  manager
	running  []running      // steps that have begun and not ended, in their order
	numbers  map[string]int // how many steps of each kind have begun
	log      []team.LogEntry
	messages []message
	spent    map[team.Role]spent

	finished bool     // completed, and nothing can follow
	problem  *Outcome // why it ended with an error; nil if it did not
}

// running is a step that has begun.
type running struct {
	Step
	at time.Time
}

// redo is a step that came to nothing and is to be made once more.
type redo struct {
	purpose Purpose
	group   string
	problem string // with the answer; empty if the agent itself failed
}

// New returns a session that begins, or that continues what another program began.
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

// Begin takes in that a step's task was queued. A step that cannot begin as
// things stand is a [*StepError] and changes nothing. One that
// [Session.Next] asked for still can, whatever else happened in between.
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

// End takes in that the task of a step that has begun has ended for good. A step
// that does not run is a [*StepError] and changes nothing.
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

// conclude does what follows from a step's end.
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

// Resume takes in that a person wants a session to go on that ended with an
// error: limits count anew, and what failed is tried again. Nothing changes if
// it did not end with one.
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

// Cancel takes in that a person has cancelled the run. Nothing changes if the
// session has ended.
func (s *Session) Cancel(at time.Time, why string) {
	if s.finished || s.problem != nil {
		return
	}
	s.fold(at)
	s.stop("the run was cancelled: "+why, "'gaffer team resume' goes on")
}

// Step returns a step that has begun and not ended.
func (s *Session) Step(id string) (Step, bool) {
	for _, r := range s.running {
		if r.ID == id {
			return r.Step, true
		}
	}
	return Step{}, false
}

// Busy says whether a step of a group has begun and not ended.
func (s *Session) Busy(group string) bool {
	return slices.ContainsFunc(s.running, func(r running) bool { return r.Group == group })
}

// Outcome says how the session ended, and whether it did. One with an error has
// not ended while something still runs.
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

// stop ends the session with an error. The first one counts.
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

// StepError is a step that cannot begin or end as things stand.
type StepError struct{ ID, Problem string }

func (e *StepError) Error() string { return fmt.Sprintf("step %s: %s", e.ID, e.Problem) }

// Conflict marks the error as a refused transition.
func (e *StepError) Conflict() bool { return true }
