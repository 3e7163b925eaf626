package teamwork

import (
	"time"

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
	returned bool // changes were requested, or the merge failed
	helpless int  // how often in a row the tech lead was asked for help and gave none
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
