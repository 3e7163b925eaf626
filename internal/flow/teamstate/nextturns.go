package teamstate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gaffer/team"
)

// schedule holds the running steps of a team's session, and decides which steps to start next.
type schedule struct {
	start   *Start
	groups  *groupSet
	manager *manager
	ending  *ending
	running []running      // started steps that have not ended, in the order of their start
	numbers map[string]int // number of steps started so far, by id prefix such as "A-developer"
}

// running is a step that has started and not ended.
type running struct {
	Step
	at time.Time
}

// redo is a step that must be repeated. Either its agent failed, or its answer could not be used,
// or another program started it before gaffer took over the session.
type redo struct {
	purpose Purpose
	group   string
	problem string // why the agent's last answer could not be used; empty if there is no such answer
}

func (s *schedule) begin(step Step, at time.Time) {
	s.numbers[idPrefix(step)]++
	s.running = append(s.running, running{step, at})
}

// end removes the running step with this id, and returns it. ok is false if no running step has
// this id.
func (s *schedule) end(id string) (r running, ok bool) {
	i := slices.IndexFunc(s.running, func(r running) bool { return r.ID == id })
	if i < 0 {
		return running{}, false
	}
	r = s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	return r, true
}

func (s *schedule) busy(group string) bool {
	return slices.ContainsFunc(s.running, func(r running) bool { return r.Group == group })
}

// next returns the steps to start now, the most urgent first. It returns none while the session has
// stopped with an error.
func (s *schedule) next() []Step {
	if s.ending.problem != nil {
		return nil
	}
	var next []Step
	busy := slices.Clone(s.running)
	for _, step := range s.due() {
		if s.whyWait(step, busy) == "" {
			next = append(next, step)
			busy = append(busy, running{Step: step})
		}
	}
	return next
}

// check returns an error if a step cannot start now. The session may have stopped with an error
// after the method next returned the step. This alone is no reason for check to return an error.
func (s *schedule) check(step Step) error {
	for _, due := range s.due() {
		if due.ID == step.ID && due.Role == step.Role && due.Group == step.Group && due.Purpose == step.Purpose {
			if problem := s.whyWait(step, s.running); problem != "" {
				return &StepError{ID: step.ID, Problem: problem}
			}
			return nil
		}
	}
	return &StepError{ID: step.ID, Problem: "is not due"}
}

// whyWait returns why a step has to wait. busy holds the running steps. whyWait returns "" if the
// step can start.
func (s *schedule) whyWait(step Step, busy []running) string {
	developers := 0
	for _, r := range busy {
		switch {
		case step.Role == team.PM && r.Role == team.PM:
			return "the project manager is busy with " + r.ID
		case step.Role == "" && r.Role == "":
			return r.ID + " is being merged"
		case r.Role == team.Developer:
			developers++
		}
	}
	if step.Role == team.Developer && developers >= s.groups.developers() {
		return fmt.Sprintf("%d developers are running, which is the limit", developers)
	}
	return ""
}

// due returns the steps that are needed next, the most urgent first. It includes steps that must
// wait for running steps. If a group of tasks has reached its maximum number of started agents, due
// leaves out a step that would start another agent for the group. Merges and the project manager's
// steps do not count towards this maximum.
func (s *schedule) due() []Step {
	if s.ending.finished {
		return nil
	}
	var steps []Step
	if step, ok := s.managerStep(); ok {
		steps = append(steps, step)
	}
	if s.manager.accepted {
		steps = append(steps, s.step(Deliver, "", "all is done, and is to be merged into "+s.start.Into))
	}
	for _, g := range s.waiting() {
		if step, ok := s.groupStep(g); ok && (!limited(step) || g.starts < g.allowed) {
			steps = append(steps, step)
		}
	}
	// order lists the purposes, the most urgent first. Among the steps with the purpose Work,
	// repeated steps come first, and the first steps of new groups come last.
	order := []Purpose{Plan, Split, Check, Deliver, Merge, Review, Unblock, Test, Work}
	rank := func(step Step) int {
		rank := slices.Index(order, step.Purpose)
		if g := s.groups.find(step.Group); step.Purpose == Work && g.redo == nil {
			rank++
			if g.status.Status == team.Pending {
				rank++
			}
		}
		return rank
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(rank(a), rank(b)) })
	return steps
}

// limited reports whether a step counts towards the maximum number of agents that are started for a
// group.
func limited(step Step) bool { return step.Role != "" && step.Role != team.PM }

// exhausted returns a group of tasks that needs another agent but has reached the maximum number of
// started agents. It returns nil if there is no such group.
func (s *schedule) exhausted() *group {
	for _, g := range s.waiting() {
		if step, ok := s.groupStep(g); ok && limited(step) && g.starts >= g.allowed {
			return g
		}
	}
	return nil
}

// waiting returns the groups of tasks without a running step. The group that has waited longest
// comes first.
func (s *schedule) waiting() []*group {
	groups := slices.DeleteFunc(slices.Clone(s.groups.list), func(g *group) bool { return s.busy(g.id) })
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.since, b.since) })
	return groups
}

// managerStep returns the step that the project manager has to do next, and false if there is none.
// It returns a step that helps a single group of tasks only if this step must be repeated; the
// method groupStep creates it the first time.
func (s *schedule) managerStep() (Step, bool) {
	switch m := s.manager; {
	case m.redo != nil:
		step := s.step(m.redo.purpose, m.redo.group, "its answer could not be used")
		step.Again = m.redo.problem
		return step, true
	case len(s.groups.list) == 0:
		return s.step(Plan, "", "the requirements are to be planned"), true
	case m.accepted || !s.groups.openComplete():
		return Step{}, false
	case m.missing != "":
		return s.step(Check, "", "its COMPLETE did not count"), true
	}
	return s.step(Check, "", "every group of the open phases is complete"), true
}

// groupStep returns the next step for a group of tasks that has no running step. It returns false
// if there is no such step, or if the step must wait, for example for a group that this group
// depends on.
func (s *schedule) groupStep(g *group) (Step, bool) {
	if g.redo != nil {
		step := s.step(g.redo.purpose, g.id, g.why)
		step.Again = g.redo.problem
		return step, true
	}
	switch g.status.Status {
	case team.Pending:
		return s.developerStep(g, s.groups.plan.open(g.id))
	case team.DevBlocked:
		if g.unblocked == nil {
			return s.step(Unblock, g.id, g.why), true
		}
		return s.developerStep(g, true)
	case team.QAFailed:
		// If the group is blocked or QA was started too often for it, the tech lead helps first.
		if g.blocked() {
			return s.step(Unblock, g.id, g.why), true
		}
		if e, stuck := g.escalation(team.TechLead); stuck {
			return s.step(Unblock, g.id, stuckReason(g.id, e)), true
		}
		return s.developerStep(g, true)
	case team.ChangesRequested:
		return s.developerStep(g, true)
	case team.WaitingQA:
		if g.blocked() {
			return s.step(Unblock, g.id, g.why), true
		}
		return s.step(Test, g.id, g.why), true
	case team.WaitingReview:
		if e, stuck := g.tooOften(team.TechLead); stuck {
			return s.step(Split, g.id, stuckReason(g.id, e)), true
		}
		return s.step(Review, g.id, g.why), true
	case team.TechReview:
		return s.step(Merge, g.id, g.why), g.approved != nil
	}
	return Step{}, false
}

// developerStep returns the step in which a developer works on a group of tasks. The parameter open
// says whether the group's phase is open. developerStep returns false if the step cannot start yet,
// because open is false or because a group that this group depends on is not complete. If
// developers or the tech lead were started too often for the group, developerStep returns a step
// for the project manager instead.
func (s *schedule) developerStep(g *group, open bool) (Step, bool) {
	if e, stuck := g.escalation(team.PM); stuck {
		return s.step(Split, g.id, stuckReason(g.id, e)), true
	}
	return s.step(Work, g.id, g.why), open && s.groups.dependenciesComplete(g.id)
}

// step returns a new step for a purpose. The step's id is the prefix that idPrefix returns,
// followed by the next number for this prefix. The number is used up only when the step is started.
func (s *schedule) step(p Purpose, group, reason string) Step {
	step := Step{Role: duties[p].role, Group: group, Purpose: p, Reason: reason}
	step.ID = fmt.Sprintf("%s-%d", idPrefix(step), s.numbers[idPrefix(step)]+1)
	return step
}

// idPrefix returns the part of a step's id before its number, such as "A-developer" or "pm".
func idPrefix(step Step) string {
	switch name := duties[step.Purpose].name; {
	case step.Group == "" || step.Role == team.PM:
		return name
	default:
		return step.Group + "-" + name
	}
}
