package teamstate

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// answered handles the end of an agent that worked on a group.
func (s *Session) answered(step Step, e Ending) error {
	g := s.group(step.Group)
	g.since = s.folds
	g.rest(e.At)
	if e.Class != failure.None {
		return s.crashed(g, step, e)
	}
	said, err := parseAnswer(step.Purpose, e.Answer)
	if err == nil {
		s.handled(g, step.Role, said.Status)
		return s.take(g, step, said, e.At)
	}
	s.note("refuse_answer", fmt.Sprintf("%s: %v", step.ID, err))
	g.unusable = ends(e.Answer, maxText)
	if step.Again == "" {
		g.redo, g.why = &redo{step.Purpose, g.id, clip(err.Error(), maxText)}, "its answer could not be used"
		return nil
	}
	text := fmt.Sprintf("no answer that can be used: %v\nIt was:\n%s", err, ends(e.Answer, maxLine))
	said = team.Answer{Status: team.WordError, Summary: []string{text}}
	return s.take(g, step, said, e.At)
}

// crashed handles an agent that failed. If the user must act, the session stops and
// the same step is repeated afterwards. Otherwise the failure is treated as an ERROR
// answer, so that the tech lead can help.
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

// take applies an answer to a group.
func (s *Session) take(g *group, step Step, said team.Answer, at time.Time) error {
	g.why = fmt.Sprintf("%s said %s", step.Role, said.Status)
	switch said.Status {
	case team.WordApproved, team.WordApprovedWithNotes:
		s.approve(g, said)
		return nil
	case team.WordUnblocked:
		return s.unblock(g, said, at)
	case team.WordEscalate:
		s.escalate(g, step.Role, said)
		if step.Role == team.TechLead {
			said.Status = team.WordUnblocked
			return s.unblock(g, said, at)
		}
	}
	if err := g.move(step.Role, said, at); err != nil {
		return err
	}
	switch step.Purpose {
	case Unblock:
		if said.Status == team.WordNeedsClarification {
			g.advise("tech lead, to the user: " + whole(said) + "\n" + noReply)
			s.ask(fmt.Sprintf("the tech lead asks about group %s: %s", g.id, whole(said)))
			return nil
		}
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

// escalate assigns the group's work to a stronger model from now on.
func (s *Session) escalate(g *group, by team.Role, said team.Answer) {
	if !g.escalated {
		g.escalated = true
		s.note("escalate_group_"+g.id, fmt.Sprintf("%s wants a stronger model: %s", by, said.Text()))
	}
}

// noReply is the instruction for a role whose question was not answered. The role
// gets it only after the user has resumed the session.
const noReply = "The user has let the session go on without an answer. Take the most likely meaning, and say which it is."

// ask stops the session with a question for the user.
func (s *Session) ask(question string) {
	s.stop(question, "'gaffer team resume' lets the team decide; 'gaffer team --new' begins anew, with the answer in the requirements")
}

// maxHelpless is how often in a row the tech lead may give no help before the session
// stops and the user must act.
const maxHelpless = 2

// helpless records that the tech lead gave no help. No other counter limits these
// starts, and no other role can help.
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
	g.answerIssues(said.Body.Get("replies"))
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
		g.feedback = append(g.feedback, fmt.Sprintf("QA (%s): %s", said.Status, whole(said)))
	}
}

func (s *Session) reviewed(g *group, said team.Answer) {
	if said.Status != team.WordChangesRequested {
		return
	}
	g.returned = true
	g.rate(said.Body, false)
	g.feedback = append(g.feedback, "tech lead: "+whole(said))
	found := g.identify(issues(said.Body.Get("issues")))
	g.openIssues(found)
	s.sendReview(g, team.DecisionChangesRequested, said, found)
}

// approve stores the approval until the branch is merged.
func (s *Session) approve(g *group, said team.Answer) {
	g.approved, g.issues = &said, nil
	g.rate(said.Body, !g.returned)
	s.sendReview(g, team.DecisionApproved, said, g.identify(issues(said.Body.Get("issues"))))
}

// unblock passes on the tech lead's advice. A blocked developer's group changes its
// status only when a developer is free, so that no group claims to be in progress
// while it waits.
func (s *Session) unblock(g *group, said team.Answer, at time.Time) error {
	g.helpless = 0
	said.Summary = []string{whole(said)}
	g.advise("tech lead: " + said.Text())
	s.sendReview(g, team.DecisionUnblocked, said, g.identify(issues(said.Body.Get("issues"))))
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
