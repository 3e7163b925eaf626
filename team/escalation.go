package team

import "slices"

// Escalation counts how often agents of one role were started on a group of tasks. If Count exceeds
// Limit, an agent of the role To has to help with the group.
type Escalation struct {
	Role  Role `json:"role"`
	Count int  `json:"count"`
	Limit int  `json:"limit"`
	To    Role `json:"to"`
}

// limits lists how often agents of each role may be started on one group, and which role has to
// help with the group after that.
var limits = []struct {
	role  Role
	limit int
	to    Role
}{
	{Developer, 5, PM},
	{QAExpert, 3, TechLead},
	{TechLead, 3, PM},
}

// Stuck returns the counters of the group g that exceed their limits.
func Stuck(g Group) []Escalation {
	return slices.DeleteFunc(Counters(g), func(e Escalation) bool { return e.Count <= e.Limit })
}

// Counters returns all counters of the group g, with their limits.
func Counters(g Group) []Escalation {
	var all []Escalation
	for _, l := range limits {
		all = append(all, Escalation{l.role, *g.Iterations.of(l.role), l.limit, l.to})
	}
	return all
}
