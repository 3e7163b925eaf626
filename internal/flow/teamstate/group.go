package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// group is the state of a group of tasks in a team's session. After a group was created, only the
// function [team.Advance] determines how its field status.Status changes.
type group struct {
	id     string
	status team.Group

	found *team.Group // the group's state in the documents of another program that started the session; nil if gaffer planned the group

	redo *redo // step to repeat for the group; nil if there is none
	// unblocked is the tech lead's answer UNBLOCKED, which says how a blocked developer can
	// continue. It is stored here until a developer is free, and then applied to the group's
	// status. It is nil if there is no such answer.
	unblocked *team.Answer
	// approved is the tech lead's answer that approves the work on the group. It is stored here
	// until the merge of the group's branch has ended. If the merge succeeded, the answer is then
	// applied to the group's status. It is nil if there is no such answer.
	approved *team.Answer

	helped team.Iterations // counters of agent starts (status.Iterations) when the group last got help
	// starts is the number of agents that were started for the group. If it has reached the limit
	// allowed and the group needs another agent, the session stops and the user must act.
	starts, allowed int
	since           int    // number of events so far (history.events) when the group began to wait for its next step
	why             string // why the group has its current state; logged with the next step

	work     string   // last message of the developer
	units    string   // results of the developer's own unit tests
	feedback []string // feedback that a developer still has to address
	advice   []string
	issues   []Issue // issues of the last review that requested changes
	numbered int     // number of issue ids that gaffer has assigned
	unmerged string  // why the last merge of the group's branch failed; empty if it did not
	unusable string  // last agent answer that was not valid

	returned  bool // at least one review of the group's work has requested changes
	escalated bool // a stronger language model does the work from now on
	helpless  int  // consecutive times that the tech lead was asked for help and gave none
}

func newGroup(id string, allowed int) *group {
	return &group{
		id: id, allowed: allowed, why: "its phase is open and what it depends on is complete",
		status: team.Group{ID: id, Status: team.Pending, CurrentAgent: team.None},
	}
}

// move changes the group's status by the rules of the team protocol, after an agent of this role
// has given this answer. The start of an agent is treated like an answer with the status
// [team.WordStarted]. If the rules do not allow the change, move returns an error and changes
// nothing.
func (g *group) move(role team.Role, answer team.Answer, at time.Time) error {
	next, err := team.Advance(g.status, role, answer, at)
	if err == nil {
		g.status = next
	}
	return err
}

// begin changes the group's status when an agent is started. If the agent repeats an earlier step,
// begin does not increment the counters of starts in status.Iterations again.
func (g *group) begin(step Step, at time.Time) (err error) {
	switch {
	case g.redo != nil:
		g.status.CurrentAgent, g.status.LastUpdate = step.Role, team.At(at)
	case step.Purpose == Work && g.unblocked != nil:
		err = g.move(team.TechLead, *g.unblocked, at)
	default:
		err = g.move(step.Role, team.Answer{Status: team.WordStarted}, at)
	}
	if err != nil {
		return err
	}
	g.redo, g.starts = nil, g.starts+1
	if step.Purpose == Work {
		g.unblocked = nil
	}
	return nil
}

// markIdle records that no agent works on the group now. It does not change the group's status.
func (g *group) markIdle(at time.Time) {
	g.status.CurrentAgent, g.status.LastUpdate = team.None, team.At(at)
}

// blocked reports whether the group has an unresolved blocker.
func (g *group) blocked() bool {
	for _, b := range g.status.Blockers {
		if !b.Resolved {
			return true
		}
	}
	return false
}

func (g *group) complete() bool { return g.status.Status == team.Complete }

func (g *group) advise(text string) { g.advice = append(g.advice, text) }

// identify gives an issue of a review a new id if the issue has no id, or if an earlier issue in
// the list found has the same id. It changes the list in place and also returns it.
func (g *group) identify(found []team.Issue) []team.Issue {
	for at := range found {
		i := &found[at]
		for i.ID == "" || slices.ContainsFunc(found[:at], func(other team.Issue) bool { return other.ID == i.ID }) {
			g.numbered++
			i.ID = fmt.Sprintf("%s-%d", g.id, g.numbered)
		}
	}
	return found
}

// openIssues stores the issues of a review that requests changes, in place of the issues of earlier
// reviews. If the review lists no issues, the earlier issues stay open.
func (g *group) openIssues(found []team.Issue) {
	if len(found) == 0 {
		return
	}
	g.issues = nil
	for _, i := range found {
		g.issues = append(g.issues, Issue{Issue: i})
	}
}

// answerIssues stores a developer's replies to issues. replies is a list of objects with id, status
// and reason, or an object with a reply for each id.
func (g *group) answerIssues(replies jsontree.Value) {
	for id, reply := range parts(replies) {
		text := reply.Text()
		if reply.Kind() == jsontree.Object {
			text = strings.TrimSuffix(reply.Get("status").Text()+": "+reply.Get("reason").Text(), ": ")
		}
		for i := range g.issues {
			if g.issues[i].ID == id && strings.TrimSpace(text) != "" {
				g.issues[i].Reply = clip(text, maxLine)
			}
		}
	}
}
