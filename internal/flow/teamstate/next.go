package teamstate

import (
	"cmp"
	"fmt"
	"slices"

	"gaffer/team"
)

// Next returns the steps to start now, in order. It changes nothing.
func (s *Session) Next() []Step {
	if s.problem != nil {
		return nil
	}
	var next []Step
	busy := slices.Clone(s.running)
	for _, step := range s.due() {
		if s.room(step, busy) == "" {
			next = append(next, step)
			busy = append(busy, running{Step: step})
		}
	}
	return next
}

// check returns an error if a step cannot start now. A step that Next returned before
// the session stopped with an error may still start.
func (s *Session) check(step Step) error {
	for _, due := range s.due() {
		if due.ID == step.ID && due.Role == step.Role && due.Group == step.Group && due.Purpose == step.Purpose {
			if problem := s.room(step, s.running); problem != "" {
				return &StepError{ID: step.ID, Problem: problem}
			}
			return nil
		}
	}
	return &StepError{ID: step.ID, Problem: "is not due"}
}

// room returns why a step has to wait for running steps, or "".
func (s *Session) room(step Step, busy []running) string {
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
	if step.Role == team.Developer && developers >= s.developers() {
		return fmt.Sprintf("%d developers are running, which is the limit", developers)
	}
	return ""
}

// developers returns how many developers may work at the same time.
func (s *Session) developers() int {
	if s.plan.mode == team.Simple {
		return 1
	}
	return s.start.Developers
}

// due returns all steps that are needed, most urgent first, whether or not there is
// room for them.
func (s *Session) due() []Step {
	if s.finished {
		return nil
	}
	var steps []Step
	if step, ok := s.wantManager(); ok {
		steps = append(steps, step)
	}
	if s.manager.accepted {
		steps = append(steps, s.step(Deliver, "", "all is done, and is to be merged into "+s.start.Into))
	}
	for _, g := range s.waiting() {
		if step, ok := s.want(g); ok && (step.Role == "" || step.Role == team.PM || g.starts < g.allowed) {
			steps = append(steps, step)
		}
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	return steps
}

// waiting returns the groups without a running step, the longest waiting first.
func (s *Session) waiting() []*group {
	groups := slices.DeleteFunc(slices.Clone(s.groups), func(g *group) bool {
		return slices.ContainsFunc(s.running, func(r running) bool { return r.Group == g.id })
	})
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.since, b.since) })
	return groups
}

// rank returns the priority of a due step; lower is first. Steps closer to completion
// come first, so that a free developer continues started work before new work.
func (s *Session) rank(step Step) int {
	rank := slices.Index([]Purpose{Plan, Split, Check, Deliver, Merge, Review, Unblock, Test, Work}, step.Purpose)
	if g := s.group(step.Group); step.Purpose == Work && g.redo == nil {
		rank++
		if g.status.Status == team.Pending {
			rank++
		}
	}
	return rank
}

// wantManager returns the step that the project manager is needed for, except for
// stuck groups.
func (s *Session) wantManager() (Step, bool) {
	switch m := s.manager; {
	case m.redo != nil:
		step := s.step(m.redo.purpose, m.redo.group, "its answer could not be used")
		step.Again = m.redo.problem
		return step, true
	case len(s.groups) == 0:
		return s.step(Plan, "", "the requirements are to be planned"), true
	case m.accepted || !s.openComplete():
		return Step{}, false
	case m.missing != "":
		return s.step(Check, "", "its COMPLETE did not count"), true
	}
	return s.step(Check, "", "every group of the open phases is complete"), true
}

// want returns the next step that a waiting group needs.
func (s *Session) want(g *group) (Step, bool) {
	if g.redo != nil {
		step := s.step(g.redo.purpose, g.id, g.why)
		step.Again = g.redo.problem
		return step, true
	}
	switch g.status.Status {
	case team.Pending:
		return s.wantDeveloper(g, s.plan.open(g.id))
	case team.DevBlocked:
		if g.unblocked == nil {
			return s.step(Unblock, g.id, g.why), true
		}
		return s.wantDeveloper(g, true)
	case team.QAFailed:
		return s.afterFailure(g)
	case team.ChangesRequested:
		return s.wantDeveloper(g, true)
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

// afterFailure returns the step after failed tests. The tech lead helps first if the
// group is blocked or its tests have failed too often. Otherwise a developer tries
// again.
func (s *Session) afterFailure(g *group) (Step, bool) {
	if g.blocked() {
		return s.step(Unblock, g.id, g.why), true
	}
	if e, stuck := g.escalation(team.TechLead); stuck {
		return s.step(Unblock, g.id, stuckReason(g.id, e)), true
	}
	return s.wantDeveloper(g, true)
}

// wantDeveloper returns a developer's step, or the project manager's if developers
// were started too often. It returns false if a dependency is not complete.
func (s *Session) wantDeveloper(g *group, open bool) (Step, bool) {
	if e, stuck := g.escalation(team.PM); stuck {
		return s.step(Split, g.id, stuckReason(g.id, e)), true
	}
	for _, id := range s.plan.group(g.id).DependsOn {
		open = open && s.group(id).complete()
	}
	return s.step(Work, g.id, g.why), open
}

// openComplete reports whether every group of the open phases is complete.
func (s *Session) openComplete() bool {
	for _, g := range s.groups {
		if s.plan.open(g.id) && !g.complete() {
			return false
		}
	}
	return true
}

// step returns a step with the next number of its kind.
func (s *Session) step(p Purpose, group, reason string) Step {
	step := Step{Role: duties[p].role, Group: group, Purpose: p, Reason: reason}
	step.ID = fmt.Sprintf("%s-%d", kind(step), s.numbers[kind(step)]+1)
	return step
}

// kind returns the prefix of a step's id. Steps are numbered per kind.
func kind(step Step) string {
	switch name := duties[step.Purpose].name; {
	case step.Group == "" || step.Role == team.PM:
		return name
	default:
		return step.Group + "-" + name
	}
}
