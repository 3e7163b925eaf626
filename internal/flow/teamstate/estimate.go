package teamstate

import (
	"math"
	"time"

	"gaffer/team"
)

// spent is the total time of a role's starts so far.
type spent struct {
	starts int
	time   time.Duration
}

func (a spent) plus(b spent) spent { return spent{a.starts + b.starts, a.time + b.time} }

func (a spent) mean() time.Duration { return a.time / time.Duration(max(1, a.starts)) }

// measure records how long an agent ran. If the clock was set back, it records no
// time.
func (s *Session) measure(r running, at time.Time) {
	if r.Role != "" {
		s.spent[r.Role] = s.spent[r.Role].plus(spent{1, max(0, at.Sub(r.at))})
	}
}

// stages returns the roles that a group still has to pass if nothing goes wrong.
func stages(g *group) []team.Role {
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

// estimate returns the remaining minutes for all groups, based on the measured times,
// or nil if there are none.
func (s *Session) estimate() *float64 {
	var all spent
	for _, a := range s.spent {
		all = all.plus(a)
	}
	var left time.Duration
	open := 0
	for _, g := range s.groups {
		if !g.complete() {
			open++
		}
		for _, role := range stages(g) {
			if a := s.spent[role]; a.starts > 0 {
				left += a.mean()
			} else {
				left += all.mean()
			}
		}
	}
	if all.starts == 0 || len(s.groups) == 0 {
		return nil
	}
	minutes := left.Minutes() / float64(max(1, min(s.developers(), open)))
	minutes = math.Round(minutes*10) / 10
	return &minutes
}
