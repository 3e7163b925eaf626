package runner

import (
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

// SetLimit sets what the attempt may spend, in place of [Job.Limit]. The limit can change while the
// agent runs, because other attempts spend from the same budget. SetLimit ignores a zero limit. It
// does not block.
func (a *Attempt) SetLimit(limit fleet.Amount) {
	if !limit.Limits() || *a.limit.Load() == limit {
		return
	}
	a.limit.Store(&limit)
	select {
	case a.steerRequest.changed <- struct{}{}:
	default: // a wake-up of Run is already pending
	}
}

// atLimit reports whether the spending that the agent has reported has reached the limit.
func (a *Attempt) atLimit() bool { return a.now.Spent.Reaches(*a.limit.Load()) }

// overBudget handles the result of an agent that has spent too much. There are three cases: the
// agent was interrupted and has reached its limit, the agent has a limit and the result's class is
// already OverBudget, or the agent reports success but has spent more than its limit. In these
// cases overBudget sets the class to OverBudget, removes the answer, puts the spent amount at the
// start of the summary, and returns true. Otherwise it returns false and changes nothing.
func (a *Attempt) overBudget(r *Result) bool {
	limit := *a.limit.Load()
	switch {
	case r.Class == failure.Interrupted && r.Spent.Reaches(limit):
	case r.Class == failure.OverBudget && limit.Limits():
	case r.Class == failure.None && r.Spent.Exceeds(limit):
		a.notePromptDelivered()
		r.Delivered = a.steering.delivered
	default:
		return false
	}
	said := r.Summary
	if said == agent.InterruptedText {
		said = ""
	}
	if r.Class != failure.None {
		said = a.recent.withRecent(said)
	}
	r.Class, r.Answer = failure.OverBudget, ""
	r.Summary = strings.TrimSpace("spent " + r.Spent.Of(limit) + "\n" + said)
	return true
}
