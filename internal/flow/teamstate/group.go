package teamstate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// group is a group at work. Its status is moved by [team.Advance] alone.
type group struct {
	id     string
	status team.Group

	found *team.Group // how another program left it; nil if it is of a plan made here

	redo      *redo        // the step that its last one has to be made again as
	unblocked *team.Answer // UNBLOCKED, which counts when a developer is free
	approved  *team.Answer // APPROVED, which counts when the branch is merged

	helped          team.Iterations // the counters when somebody helped last
	starts, allowed int             // of agents
	since           int             // the fold since which it waits
	why             string          // it is where it is: the reason of its next step

	work     string   // what the developer said last
	units    string   // how the developer's tests went
	feedback []string // that no developer has worked in yet
	advice   []string
	issues   []Issue // of the last review that asked for changes
	numbered int     // how many issues have got an id from gaffer
	unmerged string  // why the last merge failed
	unusable string  // the last answer that could not be used

	returned  bool // changes were requested
	escalated bool // a stronger model does the work
	helpless  int  // how often in a row the tech lead was asked for help and gave none
}

func newGroup(id string, allowed int) *group {
	return &group{
		id: id, allowed: allowed, why: "its phase is open and what it depends on is complete",
		status: team.Group{ID: id, Status: team.Pending, CurrentAgent: team.None},
	}
}

// move makes a transition of the protocol.
func (g *group) move(by team.Role, said team.Answer, at time.Time) error {
	next, err := team.Advance(g.status, by, said, at)
	if err == nil {
		g.status = next
	}
	return err
}

// begin moves the group for an agent's start. One that is made again was counted
// the first time.
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

// rest says that nobody works on the group although its status stays.
func (g *group) rest(at time.Time) {
	g.status.CurrentAgent, g.status.LastUpdate = team.None, team.At(at)
}

// blocked says whether something is in the way that nobody has resolved.
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

// identify gives each issue of a review an id that no other has.
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

// openIssues takes in the issues of a review that asks for changes. A review
// that lists none leaves the earlier ones open.
func (g *group) openIssues(found []team.Issue) {
	if len(found) == 0 {
		return
	}
	g.issues = nil
	for _, i := range found {
		g.issues = append(g.issues, Issue{Issue: i})
	}
}

// answerIssues takes in what a developer replies to issues: a list of objects
// with id, status and reason, or an object with a reply for each id.
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
