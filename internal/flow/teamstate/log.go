package teamstate

import (
	"fmt"

	"gaffer/team"
)

// note appends a decision to the log.
func (s *Session) note(decision, reasoning string) {
	s.log = append(s.log, team.LogEntry{
		Iteration: s.spawns, Decision: decision, Reasoning: clip(reasoning, maxText), Timestamp: team.At(s.updated),
	})
}

// logBegin logs the start of a step.
func (s *Session) logBegin(step Step) {
	switch {
	case step.Purpose == Plan:
		s.note("spawn_pm_for_planning", step.Reason)
	case step.Role == team.PM:
		s.note(fmt.Sprintf("spawn_pm_for_%s", step.Purpose), step.Reason)
	case step.Purpose == Deliver:
		s.note("deliver", step.Reason)
	case step.Purpose == Merge:
		s.note("merge_group_"+step.Group, step.Reason)
	default:
		s.note(fmt.Sprintf("spawn_%s_group_%s", step.Role, step.Group), step.Reason)
	}
}

// counted returns a number with its noun: 1 group, 2 groups.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
