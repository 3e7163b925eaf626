package team

import (
	"math"
	"slices"
)

// allGroups returns the given groups of tasks, followed by those groups in the project manager's
// plan that are not among them. Each of the added groups gets the status pending.
func allGroups(pm PMState, groups Groups) Groups {
	all, begun := slices.Clone(groups), groups.byID()
	for _, planned := range pm.TaskGroups {
		if begun[planned.ID] == nil && planned.ID != "" {
			all = append(all, newGroup(planned, pm.LastUpdate))
		}
	}
	return all
}

// stages maps each status of a group to a phase of the session. The session's phase is the earliest
// of the phases of its groups; CurrentPhase computes it.
var stages = map[GroupStatus]Phase{
	Pending: DeveloperWorking, DevWorking: DeveloperWorking, DevBlocked: DeveloperWorking,
	QAFailed: DeveloperWorking, ChangesRequested: DeveloperWorking,
	WaitingQA: PhaseQATesting, QATesting: PhaseQATesting,
	WaitingReview: PhaseTechReview, TechReview: PhaseTechReview,
	Complete: PMFinalCheck,
}

// phaseOrder lists the session's phases in the order in which groups pass through them.
var phaseOrder = []Phase{DeveloperWorking, PhaseQATesting, PhaseTechReview, PMFinalCheck}

// CurrentPhase returns the phase of the session, such as QA testing. This is the phase of the group
// with the least progress. Groups whose execution phase in the plan has not started do not count;
// see openGroups. A group with an unknown status counts as one with the least progress. If there
// are no groups yet, or the session is completed, CurrentPhase returns the parameter previous.
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

// openGroups returns the groups that need not wait for an execution phase of the plan: groups whose
// execution phase has started, and groups that are in no execution phase. If no execution phase has
// started, openGroups returns all groups, because some programs never set the status of these
// phases.
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

// Measure computes the progress of a session. A group that is in the plan but not among the given
// groups counts as pending. A group with an unknown status counts as in progress.
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

// FreeDevelopers returns how many more developers may be started while the agents in the list
// active are running.
func FreeDevelopers(active []ActiveAgent) int {
	free := MaxDevelopers
	for _, a := range active {
		if a.AgentType == Developer {
			free--
		}
	}
	return max(0, free)
}
