package teamstate

import (
	"fmt"
	"slices"

	"gaffer/team"
)

// escalation returns a counter of how often one role was started on the group, if the counter is
// above its limit and the role helper has to help in this case. It returns false if there is no
// such counter. Starts before the last help for the group do not count.
func (g *group) escalation(helper team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.To == helper })
}

// tooOften returns the counter of how often this role was started on the group, if the counter is
// above its limit. Otherwise it returns false. Starts before the last help for the group do not
// count.
func (g *group) tooOften(role team.Role) (team.Escalation, bool) {
	return g.stuck(func(e team.Escalation) bool { return e.Role == role })
}

// stuck returns the first counter of starts that is above its limit and for which matches returns
// true. It returns false if there is none. Starts before the last help for the group do not count.
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

// help records that the role helper has helped the group. It resets the counters of starts for
// which this role is the helper.
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
