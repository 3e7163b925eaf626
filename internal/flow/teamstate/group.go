package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// group is the working state of a group. Its status changes only by [team.Advance].
type group struct {
	id     string
	status team.Group

	found *team.Group // state left by another program; nil if the group is from our own plan

	redo      *redo        // the step to repeat; nil if none
	unblocked *team.Answer // the UNBLOCKED answer, applied when a developer is free
	approved  *team.Answer // the APPROVED answer, applied when the branch is merged

	helped          team.Iterations // iteration counters when a role last gave help
	starts, allowed int             // number of agents started so far, and its limit
	since           int             // the group waits since this event number
	why             string          // why the group has its current state; logged with the next step

	work     string   // the developer's last message
	units    string   // results of the developer's own tests
	feedback []string // feedback that no developer has addressed yet
	advice   []string
	issues   []Issue // issues of the last review that requested changes
	numbered int     // number of issue ids assigned by gaffer
	unmerged string  // why the last merge failed
	unusable string  // the last answer that could not be used

	returned  bool // changes were requested
	escalated bool // a stronger model does the work
	helpless  int  // consecutive requests to the tech lead that brought no help
}

func newGroup(id string, allowed int) *group {
	return &group{
		id: id, allowed: allowed, why: "its phase is open and what it depends on is complete",
		status: team.Group{ID: id, Status: team.Pending, CurrentAgent: team.None},
	}
}

// move changes the group's status as the protocol requires after an answer or a start.
func (g *group) move(by team.Role, said team.Answer, at time.Time) error {
	next, err := team.Advance(g.status, by, said, at)
	if err == nil {
		g.status = next
	}
	return err
}

// begin changes the group's status for the start of an agent. A repeated step does not
// increment the counters again.
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

// markIdle records that no agent works on the group. It does not change the status.
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

// identify assigns a unique id to each issue of a review.
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

// openIssues stores the issues of a review that requests changes. If the review lists
// none, the earlier issues stay open.
func (g *group) openIssues(found []team.Issue) {
	if len(found) == 0 {
		return
	}
	g.issues = nil
	for _, i := range found {
		g.issues = append(g.issues, Issue{Issue: i})
	}
}

// answerIssues stores a developer's replies to issues: a list of objects with id,
// status and reason, or an object with a reply per id.
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
