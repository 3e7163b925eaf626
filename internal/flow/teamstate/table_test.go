package teamstate

import (
	"gaffer/team"
)

// row is one allowed change of a group: the status before, the cause, the status after, and the
// counters that grow.
type row struct {
	from  team.GroupStatus
	cause string
	to    team.GroupStatus
	grow  team.Iterations
}

// table is the protocol's table of status changes. The causes are an agent's start, the status word
// at its end, or a merge. It is written independently of the implementation.
var table = []row{
	{team.Pending, "work begins", team.DevWorking, team.Iterations{Developer: 1}},
	{team.DevWorking, "READY_FOR_QA", team.WaitingQA, team.Iterations{}},
	{team.DevWorking, "READY_FOR_REVIEW", team.WaitingReview, team.Iterations{}},
	{team.DevWorking, "BLOCKED", team.DevBlocked, team.Iterations{}},
	{team.DevWorking, "INCOMPLETE", team.DevBlocked, team.Iterations{}},
	{team.DevWorking, "ERROR", team.DevBlocked, team.Iterations{}},
	{team.DevBlocked, "work begins", team.DevWorking, team.Iterations{Developer: 1}},
	{team.WaitingQA, "test begins", team.QATesting, team.Iterations{QA: 1}},
	{team.QATesting, "PASS", team.WaitingReview, team.Iterations{}},
	{team.QATesting, "FAIL", team.QAFailed, team.Iterations{}},
	{team.QAFailed, "work begins", team.DevWorking, team.Iterations{Developer: 1}},
	{team.ChangesRequested, "work begins", team.DevWorking, team.Iterations{Developer: 1}},
	{team.WaitingReview, "review begins", team.TechReview, team.Iterations{TechLead: 1}},
	{team.TechReview, "merged", team.Complete, team.Iterations{}},
	{team.TechReview, "CHANGES_REQUESTED", team.ChangesRequested, team.Iterations{}},
	{team.TechReview, "conflict", team.ChangesRequested, team.Iterations{}},
	{team.TechReview, "tests_failed", team.ChangesRequested, team.Iterations{}},
}

// extraRows holds the status changes that the protocol's routing requires but its table lacks.
var extraRows = []row{
	{team.DevWorking, "PARTIAL", team.DevBlocked, team.Iterations{}},
	{team.DevWorking, "NEEDS_CLARIFICATION", team.DevBlocked, team.Iterations{}},
	{team.DevWorking, "ESCALATE", team.DevBlocked, team.Iterations{}},
	{team.DevBlocked, "ESCALATE", team.DevBlocked, team.Iterations{}}, // the status changes only when a developer is free
	{team.WaitingQA, "ESCALATE", team.WaitingQA, team.Iterations{}},
	{team.QAFailed, "ESCALATE", team.QAFailed, team.Iterations{}},
	{team.DevBlocked, "NEEDS_CLARIFICATION", team.DevBlocked, team.Iterations{}},
	{team.WaitingQA, "NEEDS_CLARIFICATION", team.WaitingQA, team.Iterations{}},
	{team.QAFailed, "NEEDS_CLARIFICATION", team.QAFailed, team.Iterations{}},
	{team.TechReview, "APPROVED_WITH_NOTES", team.TechReview, team.Iterations{}}, // the status changes only after the merge
	{team.QATesting, "PARTIAL", team.WaitingQA, team.Iterations{}},
	{team.QATesting, "BLOCKED", team.WaitingQA, team.Iterations{}},
	{team.QATesting, "ERROR", team.WaitingQA, team.Iterations{}},
	{team.QATesting, "FLAKY", team.QAFailed, team.Iterations{}},
	{team.TechReview, "ERROR", team.WaitingReview, team.Iterations{}},
	{team.TechReview, "APPROVED", team.TechReview, team.Iterations{}}, // the status changes only after the merge
	{team.DevBlocked, "unblock begins", team.DevBlocked, team.Iterations{}},
	{team.WaitingQA, "unblock begins", team.WaitingQA, team.Iterations{}},
	{team.QAFailed, "unblock begins", team.QAFailed, team.Iterations{}},
	{team.DevBlocked, "UNBLOCKED", team.DevBlocked, team.Iterations{}}, // the status changes only when a developer is free
	{team.WaitingQA, "UNBLOCKED", team.WaitingQA, team.Iterations{}},
	{team.QAFailed, "UNBLOCKED", team.QAFailed, team.Iterations{}},
	{team.DevBlocked, "ERROR", team.DevBlocked, team.Iterations{}},
	{team.WaitingQA, "ERROR", team.WaitingQA, team.Iterations{}},
	{team.QAFailed, "ERROR", team.QAFailed, team.Iterations{}},
}

// allowed reports whether a group's status and counters may change from previous to next for this
// cause. An empty cause allows no change.
func allowed(previous, next team.Group, cause string) bool {
	grown := team.Iterations{
		Developer: next.Iterations.Developer - previous.Iterations.Developer,
		QA:        next.Iterations.QA - previous.Iterations.QA,
		TechLead:  next.Iterations.TechLead - previous.Iterations.TechLead,
	}
	if cause == "" {
		return previous.Status == next.Status && grown == team.Iterations{}
	}
	seen := row{previous.Status, cause, next.Status, grown}
	for _, r := range append(table[:len(table):len(table)], extraRows...) {
		if r == seen {
			return true
		}
	}
	return false
}
