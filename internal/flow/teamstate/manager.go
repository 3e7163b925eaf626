package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// manager is the state of the project manager's work.
type manager struct {
	redo     *redo
	refusals int    // consecutive refusals of COMPLETE
	missing  string // why the last COMPLETE was refused
	accepted bool   // COMPLETE was accepted, and the work has to be delivered
	asked    string // its question to the user, until it has decided
	unusable string // its last answer that could not be used

	proposed *plan    // a plan that drops requirements and waits for the user's consent
	dropped  []string // the dropped requirements, with reasons
}

// maxRefusals is the number of consecutive refusals of COMPLETE after which the
// session stops and the user must act.
const maxRefusals = 3

// managed handles the end of a project manager's step. No role is above the project
// manager, so the user must handle its failures.
func (s *Session) managed(step Step, e Ending) error {
	if e.Class != failure.None {
		s.stop(failed(step, e), managerHint(e.Class))
		return nil
	}
	said, err := parseAnswer(step.Purpose, e.Answer)
	if err == nil {
		err = s.decide(step, said, e.At)
	}
	if err == nil {
		return nil
	}
	problem := clip(err.Error(), maxText)
	s.note("refuse_answer", step.ID+": "+problem)
	s.manager.unusable = ends(e.Answer, maxText)
	if step.Again == "" {
		s.manager.redo = &redo{step.Purpose, step.Group, problem}
		return nil
	}
	s.stop(
		fmt.Sprintf("%s gave no answer that can be used, twice: %s", step.ID, problem),
		"look at its log and at the requirements; 'gaffer team resume' asks again",
	)
	return nil
}

func managerHint(c failure.Class) string {
	if hint := personal(c); hint != "" {
		return hint
	}
	return "look at its log; 'gaffer team resume' asks again"
}

// decide executes the project manager's decision. It returns an error, and changes
// nothing, if the answer cannot be used.
func (s *Session) decide(step Step, said team.Answer, at time.Time) error {
	if said.Status == team.WordNeedsClarification {
		s.manager.asked = whole(said)
		s.ask("the project manager asks: " + s.manager.asked)
		return nil
	}
	var err error
	switch {
	case step.Purpose == Plan:
		err = s.planned(said, at)
	case step.Purpose == Split:
		err = s.helped(s.group(step.Group), said, at)
	case said.Status == team.WordComplete:
		err = s.completed(said)
	default:
		err = s.continued(said, at)
	}
	if err == nil {
		s.manager.asked = ""
	}
	return err
}

func (s *Session) planned(said team.Answer, at time.Time) error {
	p, dropped, err := readPlan(said.Body, s.start.Mode, s.items)
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		s.manager.proposed, s.manager.dropped = &p, dropped
		s.stop(
			"the plan leaves out what was asked for: "+strings.Join(dropped, "; "),
			"'gaffer team resume' agrees to that; 'gaffer team --new' begins anew, with other requirements",
		)
		return nil
	}
	s.begin(p, at)
	return nil
}

// begin starts a plan with its first phase.
func (s *Session) begin(p plan, at time.Time) {
	s.adopt(p, at)
	s.note("plan_"+string(p.mode), fmt.Sprintf("%s in %s; %s", counted(len(p.groups), "group"), counted(len(p.phases), "phase"), p.reasoning))
	s.openPhase()
}

// agreed starts the plan that drops requirements. The user has agreed to it by
// resuming the session.
func (s *Session) agreed(at time.Time) {
	if s.manager.proposed == nil {
		return
	}
	s.note("reduce_scope", "the user agrees: "+strings.Join(s.manager.dropped, "; "))
	s.begin(*s.manager.proposed, at)
	s.manager.proposed = nil
}

// helped handles the project manager's answer about a stuck group: a split, or
// advice.
func (s *Session) helped(g *group, said team.Answer, at time.Time) error {
	decision, reason := "help_group_"+g.id, said.Text()
	if said.Status == team.WordPlanned {
		p, err := s.plan.split(g.id, said.Body)
		if err != nil {
			return err
		}
		var parts []string
		for _, added := range p.groups[len(s.plan.groups):] {
			parts = append(parts, added.ID)
		}
		decision, reason = "split_group_"+g.id, "what it leaves goes to "+strings.Join(parts, ", ")+"; "+reason
		s.adopt(p, at)
	}
	g.help(team.PM)
	g.since, g.why = s.folds, "the project manager has helped"
	g.advise("project manager: " + whole(said))
	s.note(decision, reason)
	return nil
}

// completed ends the session if COMPLETE is valid, and records what is missing
// otherwise. It rejects an answer that drops requirements at the end, because the
// user has not agreed to that.
func (s *Session) completed(said team.Answer) error {
	for _, v := range said.Body.Get("out_of_scope").Items() {
		requirement := line(v.Get("requirement").Text())
		if !slices.ContainsFunc(s.manager.dropped, func(d string) bool { return strings.HasPrefix(d, requirement+": ") }) {
			return fmt.Errorf("its status is %s, but it leaves out %q, which the user has not agreed to; say %s with tasks for it",
				team.WordComplete, clip(requirement, 60), team.WordContinue)
		}
	}
	err := team.CheckComplete(team.PM, team.WordComplete, s.memory(), s.statuses())
	if err != nil {
		s.refuse(err)
		return nil
	}
	s.manager.missing, s.manager.refusals = "", 0
	if s.start.Into == "" {
		s.finish()
		return nil
	}
	s.manager.accepted = true
	return nil
}

func (s *Session) refuse(err error) {
	s.manager.missing = clip(strings.TrimPrefix(err.Error(), "complete session: "), maxText)
	s.manager.refusals++
	s.note("refuse_complete", s.manager.missing)
	if s.manager.refusals == maxRefusals {
		s.stop(
			fmt.Sprintf("the project manager said COMPLETE %d times although %s", maxRefusals, s.manager.missing),
			"'gaffer team resume' asks it again",
		)
	}
}

// continued adds the new groups of the answer, if any, and opens the next phase.
func (s *Session) continued(said team.Answer, at time.Time) error {
	if said.Body.Get("groups").Len() > 0 {
		p, err := s.plan.extend(said.Body)
		if err != nil {
			return err
		}
		s.adopt(p, at)
	}
	if !s.plan.phaseLeft() {
		return fmt.Errorf("%s leaves nothing to do: every group is complete and there is no phase left to open; say %s, or give tasks and groups",
			team.WordContinue, team.WordComplete)
	}
	s.manager.missing, s.manager.refusals = "", 0
	s.openPhase()
	return nil
}

// adopt replaces the plan. Groups in progress continue.
func (s *Session) adopt(p plan, at time.Time) {
	s.plan = p
	for _, planned := range p.groups {
		g := s.group(planned.ID)
		if g == nil {
			g = newGroup(planned.ID, s.start.Iterations)
			g.status.BranchName, g.status.LastUpdate = s.Branch(planned.ID), team.At(at)
			s.groups = append(s.groups, g)
		}
		g.status.Name = planned.Name
	}
}

func (s *Session) openPhase() {
	number, groups := s.plan.openNext()
	s.note(fmt.Sprintf("open_phase_%d", number), "groups "+strings.Join(groups, ", "))
}

// Branch returns the branch of a group. It is beside the session's branch. If both
// would have the same name, the group's branch gets a suffix.
func (s *Session) Branch(group string) string {
	dir, own := "", s.start.Branch
	if i := strings.LastIndexByte(own, '/'); i >= 0 {
		dir, own = own[:i+1], own[i+1:]
	}
	const suffix = "-group"
	if rest, ok := strings.CutPrefix(group, own); ok && strings.ReplaceAll(rest, suffix, "") == "" {
		group += suffix
	}
	return dir + group
}
