package teamstate

import (
	"fmt"
	"strings"
	"time"

	"gaffer/team"
)

// Session is the state of a team of agents, computed from events. Only [Session.Begin],
// [Session.End], [Session.Resume] and [Session.Cancel] change it. Most fields are parts with their
// own state and rules; the methods pass each event to the parts that it affects.
type Session struct {
	start    *Start
	items    []Item
	history  *history
	ending   *ending
	groups   *groupSet
	mailbox  *mailbox
	manager  *manager
	work     groupWork
	schedule *schedule
	times    workTimes
}

// New returns a new session. If start.Found is set, gaffer continues a session that another program
// has started.
func New(start Start, at time.Time) *Session {
	start.Developers = min(max(1, start.Developers), team.MaxDevelopers)
	if start.Iterations <= 0 {
		start.Iterations = DefaultIterations
	}
	s := &Session{
		start: &start, items: Items(start.Requirements), history: &history{began: at, updated: at},
		groups: &groupSet{start: &start}, mailbox: &mailbox{}, times: workTimes{},
	}
	s.ending = &ending{history: s.history}
	s.manager = &manager{start: s.start, items: s.items, groups: s.groups, history: s.history, ending: s.ending}
	s.work = groupWork{start: s.start, groups: s.groups, mailbox: s.mailbox, history: s.history, ending: s.ending}
	s.schedule = &schedule{start: s.start, groups: s.groups, manager: s.manager, ending: s.ending, numbers: map[string]int{}}
	if start.Found != nil {
		s.restore(start.Found)
	}
	return s
}

// Next returns the steps to start now, the most urgent first. It does not change s. The caller
// queues a task for each step, and calls Begin when the task is queued.
func (s *Session) Next() []Step { return s.schedule.next() }

// Begin records that the task of a step was queued. If the step cannot start now, Begin returns a
// [*StepError] and changes nothing. A step that [Session.Next] has returned can still start if the
// session has stopped with an error since then.
func (s *Session) Begin(step Step, at time.Time) error {
	if err := s.schedule.check(step); err != nil {
		return err
	}
	switch step.Role {
	case "":
	case team.PM:
		s.manager.redo = nil
		s.history.starts++
	default:
		g := s.groups.find(step.Group)
		if err := g.begin(step, at); err != nil {
			return err
		}
		g.status.BranchName = s.start.branch(step.Group)
		s.mailbox.markRead(step.Group, step.Role)
		s.history.starts++
	}
	s.history.advance(at)
	s.schedule.begin(step, at)
	s.history.noteStart(step)
	return nil
}

// End records how the task of a running step ended, and applies the answer. If the step is not
// running, End returns a [*StepError] and changes nothing.
func (s *Session) End(id string, e Ending) error {
	r, ok := s.schedule.end(id)
	if !ok {
		return &StepError{ID: id, Problem: "does not run"}
	}
	s.history.advance(e.At)
	s.times.add(r.Role, e.At.Sub(r.at))
	var err error
	switch r.Purpose {
	case Plan, Split, Check:
		s.manager.answered(r.Step, e)
	case Merge:
		err = s.work.merged(r.Step, e)
	case Deliver:
		s.work.delivered(r.Step, e)
	default:
		err = s.work.answered(r.Step, e)
	}
	if err != nil {
		return err
	}
	if g := s.schedule.exhausted(); g != nil {
		s.ending.stop(
			fmt.Sprintf("group %s is %s after %d starts of agents, which is the limit", g.id, g.status.Status, g.starts),
			fmt.Sprintf("look at branch %s; 'gaffer team resume' allows as many again", s.start.branch(g.id)),
		)
	}
	return nil
}

// Resume records that the user continues a session that has stopped with an error. For each group,
// the limit on the number of started agents counts from zero again. Failed steps are repeated. If
// the session has not stopped with an error, Resume does nothing.
func (s *Session) Resume(at time.Time) {
	if s.ending.problem == nil {
		return
	}
	s.history.advance(at)
	s.history.note("resume", "the user continues the session after: "+s.ending.problem.Problem)
	s.ending.reopen()
	s.manager.resume(at)
	for _, g := range s.groups.list {
		g.allowed, g.helpless = g.starts+s.start.Iterations, 0
	}
}

// Cancel records that the user has cancelled the run. If the session has ended, Cancel does
// nothing.
func (s *Session) Cancel(at time.Time, why string) {
	if s.ending.finished || s.ending.problem != nil {
		return
	}
	s.history.advance(at)
	s.ending.stop("the run was cancelled: "+why, "'gaffer team resume' goes on")
}

// Step returns the running step with this id, and false if there is none.
func (s *Session) Step(id string) (Step, bool) {
	for _, r := range s.schedule.running {
		if r.ID == id {
			return r.Step, true
		}
	}
	return Step{}, false
}

// Busy reports whether a step of the group of tasks with the id group is running.
func (s *Session) Busy(group string) bool { return s.schedule.busy(group) }

// Outcome returns how the session ended. ended is false if the session has not ended, or if it
// stopped with an error but steps are still running. In the second case, o already has the error.
func (s *Session) Outcome() (o Outcome, ended bool) {
	switch {
	case s.ending.finished:
		return Outcome{Completed: true}, true
	case s.ending.problem != nil:
		return *s.ending.problem, len(s.schedule.running) == 0
	}
	return Outcome{}, false
}

// Branch returns the name of a group's branch: the name of the session's branch with the group's id
// as its last part. For example, if the session's branch is team/main, the branch of group a is
// team/a. If both names would be the same, the group's branch gets the suffix "-group".
func (s *Session) Branch(group string) string { return s.start.branch(group) }

func (s Start) branch(group string) string {
	dir, own := "", s.Branch
	if i := strings.LastIndexByte(own, '/'); i >= 0 {
		dir, own = own[:i+1], own[i+1:]
	}
	const suffix = "-group"
	if rest, ok := strings.CutPrefix(group, own); ok && strings.ReplaceAll(rest, suffix, "") == "" {
		group += suffix
	}
	return dir + group
}

// StepError reports a step that cannot start or end now.
type StepError struct{ ID, Problem string }

func (e *StepError) Error() string { return fmt.Sprintf("step %s: %s", e.ID, e.Problem) }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *StepError) Conflict() bool { return true }
