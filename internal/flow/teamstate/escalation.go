package teamstate

import (
	"fmt"
	"slices"

	"gaffer/team"
)

// escalation returns the counter of how often a role was started on the group, if the counter is
// above its limit and then requires help from the role helper. Starts before the last help do not
// count. It returns false if there is no such counter.
func (g *group) escalation(helper team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.To == helper })
}

// tooOften returns the counter of how often this role was started on the group, and true, if the
// counter is above its limit. Starts before the last help do not count.
func (g *group) tooOften(role team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.Role == role })
}

// stuck returns the first counter above its limit for which matches returns true, and false if
// there is none. Starts before the last help do not count.
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

// help records that the role helper has helped the group. It resets the counters that require help
// from this role.
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
