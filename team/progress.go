package team

import (
	"math"
	"slices"
)

// allGroups returns the given groups, followed by the groups of the plan that are not among them.
// The added groups count as pending.
func allGroups(pm PMState, groups Groups) Groups {
	all, begun := slices.Clone(groups), groups.byID()
	for _, planned := range pm.TaskGroups {
		if begun[planned.ID] == nil && planned.ID != "" {
			all = append(all, newGroup(planned, pm.LastUpdate))
		}
	}
	return all
}

// stages maps each status of a group to the phase of the session that the status belongs to. The
// session itself is in the earliest phase of its groups; see CurrentPhase.
var stages = map[GroupStatus]Phase{
	Pending: DeveloperWorking, DevWorking: DeveloperWorking, DevBlocked: DeveloperWorking,
	QAFailed: DeveloperWorking, ChangesRequested: DeveloperWorking,
	WaitingQA: PhaseQATesting, QATesting: PhaseQATesting,
	WaitingReview: PhaseTechReview, TechReview: PhaseTechReview,
	Complete: PMFinalCheck,
}

// phaseOrder lists the phases in the order in which groups pass through them.
var phaseOrder = []Phase{DeveloperWorking, PhaseQATesting, PhaseTechReview, PMFinalCheck}

// CurrentPhase returns the phase of the session. It is the phase of the group with the least progress
// among the groups whose execution phase has started. A group with an unknown status counts as one
// with the least progress. If there are no groups yet, or the session is completed, CurrentPhase
// returns the parameter previous.
func CurrentPhase(pm PMState, groups Groups, previous Phase) Phase {
	open := openGroups(pm, allGroups(pm, groups))
	if previous == Completed || len(open) == 0 {
		return previous
	}
	earliest := len(phaseOrder) - 1
	for _, g := range open {
		earliest = min(earliest, max(0, slices.Index(phaseOrder, stages[g.Status])))
	}
	return phaseOrder[earliest]
}

// openGroups returns the groups whose execution phase has started, and the groups that are in no
// phase. If no phase has started, it returns all groups, because some programs never set the status
// of phases.
func openGroups(pm PMState, groups Groups) Groups {
	later := map[string]bool{}
	begun := false
	for _, p := range pm.ExecutionPhases {
		begun = begun || p.Status == WorkInProgress || p.Status == WorkComplete
		for _, id := range p.GroupIDs {
			later[id] = later[id] || p.Status == WorkPending
		}
	}
	if !begun {
		return groups
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return later[g.ID] })
}

// Progress is the progress of a session, computed from the statuses of its groups.
type Progress struct {
	Completed, InProgress, Pending List[string] // ids of groups
	Percentage                     float64      // percentage of complete groups, with one decimal
}

// Measure computes the progress of a session. A planned group that is not among the given groups
// counts as pending, and a group with an unknown status as in progress.
func Measure(pm PMState, groups Groups) Progress {
	var p Progress
	all := allGroups(pm, groups)
	for _, g := range all {
		switch g.Status {
		case Complete:
			p.Completed = append(p.Completed, g.ID)
		case Pending:
			p.Pending = append(p.Pending, g.ID)
		default:
			p.InProgress = append(p.InProgress, g.ID)
		}
	}
	if len(all) > 0 {
		p.Percentage = math.Round(float64(len(p.Completed))*1000/float64(len(all))) / 10
	}
	return p
}

// FreeDevelopers returns how many more developers may be started while the agents in active are
// running.
func FreeDevelopers(active []ActiveAgent) int {
	free := MaxDevelopers
	for _, a := range active {
		if a.AgentType == Developer {
			free--
		}
	}
	return max(0, free)
}
