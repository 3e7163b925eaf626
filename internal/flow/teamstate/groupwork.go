package teamstate

import (
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// groupWork applies agents' answers and the results of merges to the state of a group of tasks.
type groupWork struct {
	start   *Start
	groups  *groupSet
	mailbox *mailbox
	history *history
	ending  *ending
}

// answered applies the answer of an agent that has ended to the group of tasks on which the agent
// worked. If the answer cannot be used, the step is repeated once. A second unusable answer is
// treated like an answer with the status ERROR.
func (w groupWork) answered(step Step, e Ending) error {
	g := w.groups.find(step.Group)
	g.since = w.history.events
	g.markIdle(e.At)
	if e.Class != failure.None {
		return w.crashed(g, step, e)
	}
	said, err := parseAnswer(step.Purpose, e.Answer)
	if err == nil {
		w.mailbox.handled(g, step.Role, said.Status)
		return w.apply(g, step, said, e.At)
	}
	w.history.note("refuse_answer", fmt.Sprintf("%s: %v", step.ID, err))
	g.unusable = dropMiddle(e.Answer, maxText)
	if step.Again == "" {
		g.redo, g.why = &redo{step.Purpose, g.id, clip(err.Error(), maxText)}, "its answer could not be used"
		return nil
	}
	text := fmt.Sprintf("no answer that can be used: %v\nIt was:\n%s", err, dropMiddle(e.Answer, maxLine))
	said = team.Answer{Status: team.WordError, Summary: []string{text}}
	return w.apply(g, step, said, e.At)
}

// crashed handles the failure of an agent. If only the user can fix the failure, the session stops,
// and the step is repeated when the session is resumed. Any other failure is treated like an answer
// with the status ERROR, so that the tech lead can help.
func (w groupWork) crashed(g *group, step Step, e Ending) error {
	text := describeFailure(step, e)
	if hint := userAction(e.Class); hint != "" {
		g.redo, g.why = &redo{step.Purpose, g.id, step.Again}, "the last one ended with "+string(e.Class)
		w.ending.stop(text, hint)
		return nil
	}
	w.history.note(fmt.Sprintf("fail_%s_group_%s", step.Role, g.id), text)
	return w.apply(g, step, team.Answer{Status: team.WordError, Summary: []string{text}}, e.At)
}

// apply applies an agent's answer to a group of tasks.
func (w groupWork) apply(g *group, step Step, said team.Answer, at time.Time) error {
	g.why = fmt.Sprintf("%s said %s", step.Role, said.Status)
	switch said.Status {
	case team.WordApproved, team.WordApprovedWithNotes:
		w.approve(g, said, at)
		return nil
	case team.WordUnblocked:
		return w.unblock(g, said, at)
	case team.WordEscalate:
		w.escalate(g, step.Role, said)
		if step.Role == team.TechLead {
			said.Status = team.WordUnblocked
			return w.unblock(g, said, at)
		}
	}
	if err := g.move(step.Role, said, at); err != nil {
		return err
	}
	switch step.Purpose {
	case Unblock:
		if said.Status == team.WordNeedsClarification {
			g.advise("tech lead, to the user: " + fullMessage(said) + "\n" + noReply)
			w.ending.ask(fmt.Sprintf("the tech lead asks about group %s: %s", g.id, fullMessage(said)))
			return nil
		}
		w.helpless(g, step)
	case Work:
		w.worked(g, said, at)
	case Test:
		w.tested(g, said, at)
	case Review:
		w.reviewed(g, said, at)
	}
	return nil
}

// escalate records that a stronger language model does the group's work from now on. The parameter
// by is the role of the agent that has asked for that.
func (w groupWork) escalate(g *group, by team.Role, said team.Answer) {
	if !g.escalated {
		g.escalated = true
		w.history.note("escalate_group_"+g.id, fmt.Sprintf("%s wants a stronger model: %s", by, said.Text()))
	}
}

// noReply is a text for the prompt of an agent that has asked the user a question. It tells the
// agent that the user has resumed the session without an answer: the command that resumes a session
// accepts none.
const noReply = "The user has let the session go on without an answer. Take the most likely meaning, and say which it is."

// maxHelpless is a limit: if the tech lead fails to help a group this many times in a row, the
// session stops and the user must act.
const maxHelpless = 2

// helpless records that the tech lead was started to help a group but gave no help. After
// maxHelpless such starts in a row, it stops the session.
func (w groupWork) helpless(g *group, step Step) {
	if g.helpless++; g.helpless == maxHelpless {
		w.ending.stop(
			fmt.Sprintf("group %s waits for help, and %s gave none that can be used", g.id, step.ID),
			"look at its log and at what is in the way; 'gaffer team resume' asks again",
		)
	}
}

func (w groupWork) worked(g *group, said team.Answer, at time.Time) {
	if said.Status != team.WordError {
		g.work = said.Text()
	}
	g.countUnits(said.Body)
	g.answerIssues(said.Body.Get("replies"))
	switch said.Status {
	case team.WordReadyForQA:
		g.feedback = nil
		w.mailbox.sendHandoff(g, said, at)
	case team.WordReadyForReview:
		g.feedback = nil
	}
}

func (w groupWork) tested(g *group, said team.Answer, at time.Time) {
	g.countTests(said.Body)
	if said.Status == team.WordError {
		return
	}
	w.mailbox.sendReport(g, said, at)
	if said.Status == team.WordFail || said.Status == team.WordFlaky {
		g.feedback = append(g.feedback, fmt.Sprintf("QA (%s): %s", said.Status, fullMessage(said)))
	}
}

func (w groupWork) reviewed(g *group, said team.Answer, at time.Time) {
	if said.Status != team.WordChangesRequested {
		return
	}
	g.returned = true
	g.storeQuality(said.Body, false)
	g.feedback = append(g.feedback, "tech lead: "+fullMessage(said))
	found := g.identify(readIssues(said.Body.Get("issues")))
	g.openIssues(found)
	w.mailbox.sendReview(g, team.DecisionChangesRequested, said, found, at)
}

// approve stores the tech lead's approval. The approval takes effect when the group's branch is
// merged.
func (w groupWork) approve(g *group, said team.Answer, at time.Time) {
	g.approved, g.issues = &said, nil
	g.storeQuality(said.Body, !g.returned)
	w.mailbox.sendReview(g, team.DecisionApproved, said, g.identify(readIssues(said.Body.Get("issues"))), at)
}

// unblock handles the tech lead's answer UNBLOCKED. It passes the tech lead's advice to the agents
// that work on the group next, and applies the answer to the group's status. If the blocked agent
// was a developer, unblock only stores the answer, which is applied when a developer is free.
// Otherwise the group would be shown as in progress while it still waits for a developer.
func (w groupWork) unblock(g *group, said team.Answer, at time.Time) error {
	g.helpless = 0
	said.Summary = []string{fullMessage(said)}
	g.advise("tech lead: " + said.Text())
	w.mailbox.sendReview(g, team.DecisionUnblocked, said, g.identify(readIssues(said.Body.Get("issues"))), at)
	if g.status.Status == team.DevBlocked {
		g.unblocked = &said
		return nil
	}
	if e, stuck := g.escalation(team.TechLead); stuck {
		g.help(team.TechLead)
		w.history.note("help_group_"+g.id, stuckReason(g.id, e)+"; the tech lead says: "+said.Text())
	}
	return g.move(team.TechLead, said, at)
}
