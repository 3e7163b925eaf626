package team

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Word is what triggers a transition of a group of tasks, usually to another status: the status
// word of an agent's answer, the start of an agent ([WordStarted]), or a failed merge
// ([WordMergeFailed]). Words in the project manager's answers trigger no transition.
type Word string

// The words of the protocol. Agents use all of them except two: gaffer uses WordStarted when it
// starts an agent, and WordMergeFailed when the merge of the group's branch has failed.
const (
	WordStarted            Word = "started"
	WordMergeFailed        Word = "merge failed"
	WordReadyForQA         Word = "READY_FOR_QA"
	WordReadyForReview     Word = "READY_FOR_REVIEW"
	WordBlocked            Word = "BLOCKED"
	WordIncomplete         Word = "INCOMPLETE"
	WordPartial            Word = "PARTIAL" // a developer has done only a part of the work, or QA could not run a part of the tests
	WordError              Word = "ERROR"
	WordEscalate           Word = "ESCALATE" // a stronger language model should do the work; also written ESCALATE_SENIOR or ESCALATE_TO_OPUS
	WordNeedsClarification Word = "NEEDS_CLARIFICATION"
	WordPass               Word = "PASS"
	WordFail               Word = "FAIL"
	WordFlaky              Word = "FLAKY"
	WordApproved           Word = "APPROVED"
	WordApprovedWithNotes  Word = "APPROVED_WITH_NOTES"
	WordChangesRequested   Word = "CHANGES_REQUESTED"
	WordUnblocked          Word = "UNBLOCKED"
	WordPlanned            Word = "PLANNED"
	WordContinue           Word = "CONTINUE"
	WordComplete           Word = "COMPLETE" // agents may also write BAZINGA, with the same meaning
)

// effect says how a transition of a group changes the group's list of blockers and its list of
// feedback from the tech lead.
type effect int

const (
	plain   effect = iota
	block          // appends a blocker
	unblock        // resolves all open blockers and appends the tech lead's decision to the feedback
	review         // appends the tech lead's decision to the feedback
	// approval appends the tech lead's approval to the feedback, although the group goes back to a
	// developer: the tech lead has approved the work, but its merge has failed.
	approval
)

// transition is one row of the protocol's table of transitions of a group: in the status from, a
// word from the role by leads to the status to.
type transition struct {
	from    GroupStatus
	by      Role
	word    Word
	to      GroupStatus
	counter Role // role whose number of starts on the group is incremented; "" for none
	agent   Role // role that works on the group afterwards
	effect  effect
}

// transitions is the protocol's table of the transitions of a group. See also extraTransitions.
var transitions = []transition{
	{Pending, Developer, WordStarted, DevWorking, Developer, Developer, plain},
	{DevWorking, Developer, WordReadyForQA, WaitingQA, "", None, plain},
	{DevWorking, Developer, WordReadyForReview, WaitingReview, "", None, plain},
	{DevWorking, Developer, WordBlocked, DevBlocked, "", None, block},
	{DevWorking, Developer, WordIncomplete, DevBlocked, "", None, block},
	{DevWorking, Developer, WordError, DevBlocked, "", None, block},
	{DevBlocked, TechLead, WordUnblocked, DevWorking, Developer, Developer, unblock},
	{WaitingQA, QAExpert, WordStarted, QATesting, QAExpert, QAExpert, plain},
	{QATesting, QAExpert, WordPass, WaitingReview, "", None, plain},
	{QATesting, QAExpert, WordFail, QAFailed, "", None, plain},
	{QAFailed, Developer, WordStarted, DevWorking, Developer, Developer, plain},
	{ChangesRequested, Developer, WordStarted, DevWorking, Developer, Developer, plain},
	{WaitingReview, TechLead, WordStarted, TechReview, TechLead, TechLead, plain},
	{TechReview, TechLead, WordApproved, Complete, "", None, review},
	{TechReview, TechLead, WordChangesRequested, ChangesRequested, "", None, review},
}

// extraTransitions are transitions that the protocol's table omits, although its rules for what
// follows an answer require them. They are for these cases:
//
//   - An answer has a status word that the table lacks.
//   - QA is blocked, or a test is flaky.
//   - A tech lead helps with a problem, without a review.
//   - A merge fails.
//   - An agent's answer cannot be read (the word ERROR).
var extraTransitions = []transition{
	{DevWorking, Developer, WordPartial, DevBlocked, "", None, block},
	{DevWorking, Developer, WordNeedsClarification, DevBlocked, "", None, block},
	{DevWorking, Developer, WordEscalate, DevBlocked, "", None, block},
	{DevBlocked, TechLead, WordEscalate, DevWorking, Developer, Developer, unblock},
	{WaitingQA, TechLead, WordEscalate, WaitingQA, "", None, unblock},
	{QAFailed, TechLead, WordEscalate, QAFailed, "", None, unblock},
	{DevBlocked, TechLead, WordNeedsClarification, DevBlocked, "", None, plain},
	{WaitingQA, TechLead, WordNeedsClarification, WaitingQA, "", None, plain},
	{QAFailed, TechLead, WordNeedsClarification, QAFailed, "", None, plain},
	{TechReview, TechLead, WordApprovedWithNotes, Complete, "", None, review},
	{TechReview, Gaffer, WordMergeFailed, ChangesRequested, "", None, approval},
	{QATesting, QAExpert, WordPartial, WaitingQA, "", None, block},
	{QATesting, QAExpert, WordBlocked, WaitingQA, "", None, block},
	{QATesting, QAExpert, WordError, WaitingQA, "", None, block},
	{QATesting, QAExpert, WordFlaky, QAFailed, "", None, block},
	{DevBlocked, TechLead, WordStarted, DevBlocked, "", TechLead, plain},
	{WaitingQA, TechLead, WordStarted, WaitingQA, "", TechLead, plain},
	{QAFailed, TechLead, WordStarted, QAFailed, "", TechLead, plain},
	{WaitingQA, TechLead, WordUnblocked, WaitingQA, "", None, unblock},
	{QAFailed, TechLead, WordUnblocked, QAFailed, "", None, unblock},
	{DevBlocked, TechLead, WordError, DevBlocked, "", None, plain},
	{WaitingQA, TechLead, WordError, WaitingQA, "", None, plain},
	{QAFailed, TechLead, WordError, QAFailed, "", None, plain},
	{TechReview, TechLead, WordError, WaitingReview, "", None, plain},
}

// Advance returns a copy of the group g with the changes that an answer from this role causes. For
// the start of an agent or a failed merge, answer.Status is [WordStarted] or [WordMergeFailed].
// Advance returns a [*TransitionError] if the protocol does not allow the transition.
func Advance(g Group, role Role, answer Answer, now time.Time) (Group, error) {
	for _, t := range slices.Concat(transitions, extraTransitions) {
		if t.from == g.Status && t.by == role && t.word == answer.Status {
			return t.apply(g, answer, At(now)), nil
		}
	}
	return g, &TransitionError{Group: g.ID, From: g.Status, By: role, Word: answer.Status, Next: following(g.Status)}
}

func (t transition) apply(g Group, said Answer, now Time) Group {
	g.Status, g.CurrentAgent, g.LastUpdate = t.to, t.agent, now
	if t.counter != "" {
		counter := g.Iterations.of(t.counter)
		*counter = plusOne(*counter)
		if g.StartTime.IsZero() {
			g.StartTime = now
		}
	}
	text := said.Text()
	switch t.effect {
	case block:
		g.Blockers = append(slices.Clone(g.Blockers), Blocker{Description: text})
	case unblock:
		g.Blockers = resolved(g.Blockers, text)
		g.TechLeadFeedback = g.with(DecisionUnblocked, text, now)
	case review:
		g.TechLeadFeedback = g.with(t.to.decision(), text, now)
	case approval:
		g.TechLeadFeedback = g.with(DecisionApproved, text, now)
	}
	if t.to == Complete {
		g.finish(now)
	}
	return g
}

// decision returns the tech lead's decision that leads to the status s: an approval leads to
// Complete, a request for changes to any other status.
func (s GroupStatus) decision() Decision {
	if s == Complete {
		return DecisionApproved
	}
	return DecisionChangesRequested
}

func (g *Group) finish(now Time) {
	g.EndTime = now
	if !g.StartTime.IsZero() && !now.Before(g.StartTime.Time) {
		minutes := math.Round(now.Sub(g.StartTime.Time).Minutes()*10) / 10
		g.DurationMinutes = &minutes
	}
}

func (g Group) with(d Decision, text string, now Time) List[Feedback] {
	return append(slices.Clone(g.TechLeadFeedback), Feedback{
		Iteration: len(g.TechLeadFeedback) + 1, Decision: d, Feedback: text, Timestamp: now,
	})
}

func resolved(blockers List[Blocker], resolution string) List[Blocker] {
	blockers = slices.Clone(blockers)
	for i := range blockers {
		if !blockers[i].Resolved {
			blockers[i].Resolved, blockers[i].Resolution = true, resolution
		}
	}
	return blockers
}

// TransitionError reports a transition of a group that the protocol does not allow.
type TransitionError struct {
	Group string
	From  GroupStatus
	By    Role
	Word  Word
	Next  []string // descriptions of the allowed transitions
}

func (e *TransitionError) Error() string {
	next := "nothing may follow"
	if len(e.Next) > 0 {
		next = "next may be " + strings.Join(e.Next, ", ")
	}
	return fmt.Sprintf("group %s is %s: refused %s by %s; %s", e.Group, e.From, e.Word, e.By, next)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TransitionError) Conflict() bool { return true }

func following(from GroupStatus) []string {
	var next []string
	for _, t := range slices.Concat(transitions, extraTransitions) {
		if t.from == from {
			next = append(next, fmt.Sprintf("%s by %s (%s)", t.word, t.by, t.to))
		}
	}
	return next
}
