package teamwork

import (
	"fmt"
	"time"

	"gaffer/internal/failure"
	"gaffer/team"
)

// answered takes in the end of an agent that worked on a group.
func (s *Session) answered(step Step, e Ending) error {
	g := s.group(step.Group)
	g.since = s.folds
	g.rest(e.At)
	if e.Class != failure.None {
		return s.crashed(g, step, e)
	}
	said, err := hear(step.Purpose, e.Answer)
	if err == nil {
		s.handled(g, step.Role, said.Status)
		return s.take(g, step, said, e.At)
	}
	s.note("refuse_answer", fmt.Sprintf("%s: %v", step.ID, err))
	if step.Again == "" {
		g.redo, g.why = &redo{step.Purpose, g.id, clip(err.Error(), maxText)}, "its answer could not be used"
		return nil
	}
	said = team.Answer{Status: team.WordError, Summary: []string{"no answer that can be used: " + err.Error()}}
	return s.take(g, step, said, e.At)
}

// crashed takes in an agent that came to no end by itself. Where a person must
// act the same step is made again afterwards; else the tech lead is told.
func (s *Session) crashed(g *group, step Step, e Ending) error {
	text := failed(step, e)
	if hint := personal(e.Class); hint != "" {
		g.redo, g.why = &redo{step.Purpose, g.id, step.Again}, "the last one ended with "+string(e.Class)
		s.stop(text, hint)
		return nil
	}
	s.note(fmt.Sprintf("fail_%s_group_%s", step.Role, g.id), text)
	return s.take(g, step, team.Answer{Status: team.WordError, Summary: []string{text}}, e.At)
}

// take moves a group by what was said.
func (s *Session) take(g *group, step Step, said team.Answer, at time.Time) error {
	g.why = fmt.Sprintf("%s said %s", step.Role, said.Status)
	switch said.Status {
	case team.WordApproved:
		s.approve(g, said)
		return nil
	case team.WordUnblocked:
		return s.unblock(g, said, at)
	}
	if err := g.move(step.Role, said, at); err != nil {
		return err
	}
	switch step.Purpose {
	case Unblock:
		s.helpless(g, step)
	case Work:
		s.worked(g, said)
	case Test:
		s.tested(g, said)
	case Review:
		s.reviewed(g, said)
	}
	return nil
}

// maxHelpless is how often in a row the tech lead may give no help before a person
// looks.
const maxHelpless = 2

// helpless takes in that the tech lead gave no help. Nobody counts those starts,
// and there is nobody else to ask.
func (s *Session) helpless(g *group, step Step) {
	if g.helpless++; g.helpless == maxHelpless {
		s.stop(
			fmt.Sprintf("group %s waits for help, and %s gave none that can be used", g.id, step.ID),
			"look at its log and at what is in the way; 'gaffer team resume' asks again",
		)
	}
}

func (s *Session) worked(g *group, said team.Answer) {
	if said.Status != team.WordError {
		g.work = said.Text()
	}
	g.countUnits(said.Body)
	switch said.Status {
	case team.WordReadyForQA:
		g.feedback = nil
		s.sendHandoff(g, said)
	case team.WordReadyForReview:
		g.feedback = nil
	}
}

func (s *Session) tested(g *group, said team.Answer) {
	g.countTests(said.Body)
	if said.Status == team.WordError {
		return
	}
	s.sendReport(g, said)
	if said.Status == team.WordFail || said.Status == team.WordFlaky {
		g.feedback = append(g.feedback, fmt.Sprintf("QA (%s): %s", said.Status, said.Text()))
	}
}

func (s *Session) reviewed(g *group, said team.Answer) {
	if said.Status != team.WordChangesRequested {
		return
	}
	g.returned = true
	g.rate(said.Body, false)
	g.feedback = append(g.feedback, "tech lead: "+said.Text())
	s.sendReview(g, team.DecisionChangesRequested, said)
}

// approve keeps the word until the branch is merged.
func (s *Session) approve(g *group, said team.Answer) {
	g.approved = &said
	g.rate(said.Body, !g.returned)
	s.sendReview(g, team.DecisionApproved, said)
}

// unblock hands on the tech lead's advice. A developer's status moves when one is
// free, so that no group says it is worked on while it waits.
func (s *Session) unblock(g *group, said team.Answer, at time.Time) error {
	g.helpless = 0
	g.advise("tech lead: " + said.Text())
	s.sendReview(g, team.DecisionUnblocked, said)
	if g.status.Status == team.DevBlocked {
		g.unblocked = &said
		return nil
	}
	if e, stuck := g.escalation(team.TechLead); stuck {
		g.help(team.TechLead)
		s.note("help_group_"+g.id, stuckReason(g.id, e)+"; the tech lead says: "+said.Text())
	}
	return g.move(team.TechLead, said, at)
}
