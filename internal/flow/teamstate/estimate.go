package teamstate

import (
	"math"
	"time"

	"gaffer/team"
)

// runningTime is the number of agents of a role that have ended, and the total time that they ran.
type runningTime struct {
	starts int
	time   time.Duration
}

func (a runningTime) plus(b runningTime) runningTime {
	return runningTime{a.starts + b.starts, a.time + b.time}
}

func (a runningTime) mean() time.Duration { return a.time / time.Duration(max(1, a.starts)) }

// workTimes holds the running times of agents, by role.
type workTimes map[team.Role]runningTime

// add records how long an agent of a role ran. If d is negative because the clock was set back, it
// counts as zero. Steps that gaffer does itself have no role and are not recorded.
func (t workTimes) add(role team.Role, d time.Duration) {
	if role != "" {
		t[role] = t[role].plus(runningTime{1, max(0, d)})
	}
}

// rolesLeft returns the roles whose agents still have to work on a group of tasks before it is
// complete, provided that no role rejects the work.
func rolesLeft(g *group) []team.Role {
	switch g.status.Status {
	case team.Complete:
		return nil
	case team.WaitingQA, team.QATesting:
		return []team.Role{team.QAExpert, team.TechLead}
	case team.WaitingReview, team.TechReview:
		return []team.Role{team.TechLead}
	}
	return []team.Role{team.Developer, team.QAExpert, team.TechLead}
}

// remaining returns an estimate of how many minutes the work on the groups of tasks still takes. It
// assumes that the given number of developers work at the same time, each on another group, as long
// as there are enough incomplete groups. It returns nil if there are no groups, or if no agent has
// ended yet.
func (t workTimes) remaining(groups []*group, developers int) *float64 {
	var all runningTime
	for _, a := range t {
		all = all.plus(a)
	}
	var left time.Duration
	open := 0
	for _, g := range groups {
		if !g.complete() {
			open++
		}
		for _, role := range rolesLeft(g) {
			if a := t[role]; a.starts > 0 {
				left += a.mean()
			} else {
				left += all.mean()
			}
		}
	}
	if all.starts == 0 || len(groups) == 0 {
		return nil
	}
	minutes := left.Minutes() / float64(max(1, min(developers, open)))
	minutes = math.Round(minutes*10) / 10
	return &minutes
}
