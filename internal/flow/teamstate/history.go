package teamstate

import (
	"fmt"
	"time"

	"gaffer/team"
)

// history holds the counters of a team's session, and a log of the decisions in the session.
type history struct {
	began, updated time.Time
	events         int // number of events applied so far
	starts         int // number of agents started so far
	log            []team.LogEntry
}

// advance counts an event and stores t, the time at which it happened.
func (h *history) advance(t time.Time) { h.events, h.updated = h.events+1, t }

// note appends a decision and its reason to the log.
func (h *history) note(decision, reasoning string) {
	h.log = append(h.log, team.LogEntry{
		Iteration: h.starts, Decision: decision, Reasoning: clip(reasoning, maxText), Timestamp: team.At(h.updated),
	})
}

// noteStart appends the start of a step to the log.
func (h *history) noteStart(step Step) {
	switch {
	case step.Purpose == Plan:
		h.note("spawn_pm_for_planning", step.Reason)
	case step.Role == team.PM:
		h.note(fmt.Sprintf("spawn_pm_for_%s", step.Purpose), step.Reason)
	case step.Purpose == Deliver:
		h.note("deliver", step.Reason)
	case step.Purpose == Merge:
		h.note("merge_group_"+step.Group, step.Reason)
	default:
		h.note(fmt.Sprintf("spawn_%s_group_%s", step.Role, step.Group), step.Reason)
	}
}

// counted returns a number with its noun, such as "1 group" or "2 groups".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
