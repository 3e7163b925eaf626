package teamstate

import (
	"fmt"
	"slices"

	"gaffer/team"
)

// escalation returns the counter of a role whose agents were started too often on this group of
// tasks, if the role helper is the one that has to help in this case. It returns false if there is
// no such counter. Starts before the last help for the group do not count.
func (g *group) escalation(helper team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.To == helper })
}

// tooOften returns the counter of how often agents of this role were started on the group of tasks,
// if the counter is above its limit. Otherwise it returns false. Starts before the last help for
// the group do not count.
func (g *group) tooOften(role team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.Role == role })
}

// stuck returns the first counter that is above its limit and for which the function matches
// returns true. It returns false if there is none. Each counter says how often agents of one role
// were started on the group of tasks. Starts before the last help for the group do not count.
func (g *group) stuck(matches func(team.Escalation) bool) (team.Escalation, bool) {
	since := g.status
	since.Iterations.Developer -= g.helped.Developer
	since.Iterations.QA -= g.helped.QA
	since.Iterations.TechLead -= g.helped.TechLead
	past := team.Stuck(since)
	if i := slices.IndexFunc(past, matches); i >= 0 {
		return past[i], true
	}
	return team.Escalation{}, false
}

// help records that an agent of the role helper has helped the group of tasks. It resets those
// counters of agent starts for which this role has to help if they exceed their limits.
func (g *group) help(helper team.Role) {
	for _, e := range team.Counters(g.status) {
		switch {
		case e.To != helper:
		case e.Role == team.Developer:
			g.helped.Developer = e.Count
		case e.Role == team.QAExpert:
			g.helped.QA = e.Count
		case e.Role == team.TechLead:
			g.helped.TechLead = e.Count
		}
	}
}

func stuckReason(id string, e team.Escalation) string {
	return fmt.Sprintf("group %s is stuck: %s was started %d times without an end, more than %d", id, e.Role, e.Count, e.Limit)
}
